// SPDX-License-Identifier: Apache-2.0
//
// The lock of operations, groups and queues: `Synchronization.Mutex`, made visible to ThreadSanitizer.
//
// On Linux `Mutex` takes its contended path inside the standard library, which is not built for the
// sanitizer, so a section that had to wait has no visible edge from the section before it, and every
// contended use is reported as a race. One atomic, read on the way in and written on the way out, draws
// that edge again. It decides nothing: the mutex orders the sections, and both accesses are made under
// it, so each reads what the section before it wrote. On x86-64 they are two plain moves.

import Synchronization

struct VisibleMutex<Value: ~Copyable>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>
    private let handOver = Atomic<Bool>(false)

    init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Runs `body` alone with the value. Blocks while another section runs.
    borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { (value) throws(Failure) -> sending Result in
            // Pairs with the release below, made by the section before this one.
            _ = handOver.load(ordering: .acquiring)
            defer { handOver.store(true, ordering: .releasing) }
            return try body(&value)
        }
    }
}
