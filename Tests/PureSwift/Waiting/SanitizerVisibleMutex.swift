// SPDX-License-Identifier: Apache-2.0
//
// A `Synchronization.Mutex` whose hand-over ThreadSanitizer can see. Every mutex of this target is this one.
//
// On Linux the contended path of `Mutex` lies inside the standard library, which is not built for the sanitizer, so
// every contended use is reported as a race. Here each section reads an atomic at its beginning and writes it at its
// end, under the lock: two plain moves on x86-64.

import Synchronization

/// `Mutex`, with an ordering that ThreadSanitizer understands.
@usableFromInline
struct SanitizerVisibleMutex<Value: ~Copyable>: ~Copyable {
    @usableFromInline let mutex: Mutex<Value>
    @usableFromInline let handOver = Atomic<Bool>(false)

    @inlinable
    init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Runs `body` alone with the value. Blocks while another section runs.
    @inlinable
    borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { (value) throws(Failure) -> sending Result in
            _ = handOver.load(ordering: .acquiring)
            defer { handOver.store(true, ordering: .releasing) }
            return try body(&value)
        }
    }
}

// @unchecked: `Mutex` and `Atomic` are Sendable; the compiler does not derive it for a noncopyable generic struct.
extension SanitizerVisibleMutex: @unchecked Sendable where Value: ~Copyable {}
