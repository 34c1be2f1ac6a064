// SPDX-License-Identifier: Apache-2.0
//
// The lock of operations, groups and queues: the C core's mutex and the value it guards. `Synchronization.Mutex` on
// Linux has its contended path in the standard library, which is not built for ThreadSanitizer: users' runs would
// report every section that had to wait as a race.

import CInterlock

@frozen @usableFromInline
package struct VisibleMutex<Value: ~Copyable>: ~Copyable {
    @usableFromInline package let storage: GuardedStorage<ilk_mutex, Value>

    @inlinable
    package init(_ value: consuming sending Value, isPacked: Bool = false) {
        storage = GuardedStorage(value, isPacked: isPacked)
    }

    /// Runs `body` alone with the value. Blocks while another section runs.
    // Always inlined: left generic, each section asks the runtime for the metadata of `Value` and `Result`. With a
    // record without type parameters (OperationRecord.swift) this took an operation from 58,100 instructions to 24,800:
    // callgrind, 6,000 operations in pairs made with `then` and started by hand.
    @inlinable @inline(__always)
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        ilk_mutex_lock(storage.lock)
        defer { ilk_mutex_unlock(storage.lock) }
        let value = storage.value
        return try body(&value.pointee)
    }
}

// One closure at a time has the value; `sending` keeps what goes in and out apart from it.
extension VisibleMutex: @unchecked Sendable where Value: ~Copyable {}
