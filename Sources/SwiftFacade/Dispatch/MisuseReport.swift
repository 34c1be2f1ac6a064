// SPDX-License-Identifier: Apache-2.0
//
// How misuse of operations, groups and queues is told: one sentence on standard error, in the form the
// C core uses, `interlock: CALL(OBJECT): SENTENCE`. What the program cannot survive aborts after it;
// what has been put right on the spot (a dropped token that was left for its owner) goes on. The
// sentence is handed over in one write so that those of several threads do not mix.

import Foundation

enum MisuseReport {
    /// Prints the sentence and aborts.
    static func stop(_ call: String, _ object: String, _ sentence: String) -> Never {
        tell(call, object, sentence)
        abort()
    }

    /// Prints the sentence and returns: the state is already right again.
    static func tell(_ call: String, _ object: String, _ sentence: String) {
        let line = "interlock: \(call)(\(object)): \(sentence)\n"
        FileHandle.standardError.write(Data(line.utf8))
    }

    /// The object's name in quotes, or else its type and address.
    static func name(_ name: String?, of object: AnyObject) -> String {
        if let name, !name.isEmpty { return "\"\(name)\"" }
        let address = UInt(bitPattern: ObjectIdentifier(object).hashValue)
        return "\(type(of: object)) 0x\(String(address, radix: 16))"
    }
}
