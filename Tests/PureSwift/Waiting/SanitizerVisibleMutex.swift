// SPDX-License-Identifier: Apache-2.0
//
// A `Synchronization.Mutex` whose hand-over ThreadSanitizer can see.
//
// On Linux the contended path of `Mutex` lies inside the standard library, which is not built for the
// sanitizer. A section that waited for the lock has no visible edge from the section before it, and every
// contended use is reported as a race. This wrapper adds one atomic, which each section reads at its
// beginning and writes at its end. The edge is a real one: the accesses are made under the lock, so each
// section reads what the section before it wrote. It costs two plain moves on x86-64.
//
// Every mutex of this target is this one.

import Synchronization

/// A mutual-exclusion lock around a value: `Mutex`, with an ordering that ThreadSanitizer understands.
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

// @unchecked: `Mutex` is Sendable whatever it guards, and so is `Atomic`; the compiler does not derive
// it for a noncopyable generic struct.
extension SanitizerVisibleMutex: @unchecked Sendable where Value: ~Copyable {}
