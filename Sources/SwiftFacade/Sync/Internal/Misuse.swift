// SPDX-License-Identifier: Apache-2.0
//
// How misuse ends, in the words of the C core: one sentence on standard error with the call, the object and the state
// that was seen, then abort. A bare trap would leave an address, `fatalError` this file's name. What has been repaired
// on the spot (a token dropped before its group was left) is reported likewise, and the program goes on.

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Prints `interlock: CALL(ADDRESS): SENTENCE`, or `CALL(ADDRESS "NAME")` for an object with a name, and aborts.
///
/// `call` is the public call that was misused, with its type: `"SafeArray<Int>.subscript"`. `sentence` says what was
/// seen and why that cannot be.
@inline(never) @usableFromInline
package func misuse(_ call: String, _ object: UnsafeRawPointer?, _ sentence: String) -> Never {
    let described = object.map { object in
        let address = "0x" + String(UInt(bitPattern: object), radix: 16)
        return name(of: object).map { "\(address) \"\($0)\"" } ?? address
    }
    misuse(call, described ?? "", sentence)
}

/// Prints `interlock: CALL(OBJECT): SENTENCE` and aborts; for objects that have names.
@inline(never)
package func misuse(_ call: String, _ object: String, _ sentence: String) -> Never {
    tellMisuse(call, object, sentence)
    abort()
}

/// Prints the sentence and returns: the state has been repaired.
package func tellMisuse(_ call: String, _ object: String, _ sentence: String) {
    tell("interlock: \(call)(\(object)): \(sentence)\n")
}

/// Writes to standard error, at once: the sentences of two threads do not mix.
package func tell(_ line: String) {
    var line = line
    line.withUTF8 { bytes in
        _ = write(2, bytes.baseAddress, bytes.count)
    }
}

/// The object's name in quotes, or else its type and address.
package func misuseName(_ name: String?, of object: AnyObject) -> String {
    if let name, !name.isEmpty { return "\"\(name)\"" }
    // The address itself: the hash of an identity differs in every process.
    let address = UInt(bitPattern: ObjectIdentifier(object))
    return "\(type(of: object)) 0x\(String(address, radix: 16))"
}

/// The object's name, or else its type and address.
package func bareMisuseName(_ name: String?, of object: AnyObject) -> String {
    name ?? misuseName(nil, of: object)
}
