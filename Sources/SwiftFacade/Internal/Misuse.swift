// SPDX-License-Identifier: Apache-2.0
//
// How misuse ends in the facade, in the same words as in the C core: one sentence on standard error
// naming the call, the object and the state that was seen, then abort. A bare trap would leave the
// reader of a log with an address; `fatalError` would print this file's name instead of the call's.

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Prints `interlock: CALL(ADDRESS): SENTENCE` and aborts.
///
/// - Parameters:
///   - call: the public call that was misused, with its type: `"SafeArray<Int>.subscript"`.
///   - object: the address a debugger shows for the object, if it has one.
///   - sentence: what was seen and why that cannot be.
@inline(never) @usableFromInline
func misuse(_ call: String, _ object: UnsafeRawPointer?, _ sentence: String) -> Never {
    let address = object.map { "0x" + String(UInt(bitPattern: $0), radix: 16) } ?? ""
    var line = "interlock: \(call)(\(address)): \(sentence)\n"
    // One write, so that the sentences of two threads do not mix. A short or failed write changes
    // nothing about what comes next.
    line.withUTF8 { bytes in
        _ = write(2, bytes.baseAddress, bytes.count)
    }
    abort()
}
