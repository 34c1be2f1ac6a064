// SPDX-License-Identifier: Apache-2.0
//
// Waiting for a reader–writer lock with a limit. The limit is a point in time, or a length of time that
// becomes one when the call begins. The clock is not read for a lock that is free.

import CInterlock

extension ReadWriteLock where Value: ~Copyable {
    /// Runs `body` as ``withReadLock(_:)`` does, waiting for the lock until `deadline` at most.
    ///
    /// A deadline that has passed still takes a lock that needs no waiting. A wait that ran out leaves
    /// nothing behind.
    ///
    /// - Returns: What `body` returns, or `nil` if the lock was not to be had in time and `body` did not
    ///   run. The limit is on the wait, not on `body`.
    @inlinable
    public borrowing func withReadLock<Result: ~Copyable, Failure: Error>(
        until deadline: ContinuousClock.Instant,
        _ body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        var section = ilk__read_section()
        guard takeForReading(&section, waitingUntil: { Interlock.deadline(at: deadline) }) else { return nil }
        return try endReading(section, "withReadLock", after: body)
    }

    /// Runs `body` as ``withReadLock(_:)`` does, waiting for the lock for `timeout` at most.
    ///
    /// - Returns: What `body` returns, or `nil` if the lock was not to be had in time.
    @inlinable
    public borrowing func withReadLock<Result: ~Copyable, Failure: Error>(
        timeout: Duration,
        _ body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        var section = ilk__read_section()
        guard takeForReading(&section, waitingUntil: { Interlock.deadline(in: timeout) }) else { return nil }
        return try endReading(section, "withReadLock", after: body)
    }

    /// Runs `body` as ``withWriteLock(_:)`` does, waiting for the lock until `deadline` at most.
    ///
    /// A deadline that has passed still takes a lock that nobody holds. A writer that gave up waiting
    /// holds no reader back any more.
    ///
    /// - Returns: What `body` returns, or `nil` if the lock was not to be had in time and `body` did not
    ///   run. The limit is on the wait, not on `body`.
    @inlinable
    public borrowing func withWriteLock<Result: ~Copyable, Failure: Error>(
        until deadline: ContinuousClock.Instant,
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard takeForWriting(waitingUntil: { Interlock.deadline(at: deadline) }) else { return nil }
        return try endWriting("withWriteLock", after: body)
    }

    /// Runs `body` as ``withWriteLock(_:)`` does, waiting for the lock for `timeout` at most.
    ///
    /// - Returns: What `body` returns, or `nil` if the lock was not to be had in time.
    @inlinable
    public borrowing func withWriteLock<Result: ~Copyable, Failure: Error>(
        timeout: Duration,
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard takeForWriting(waitingUntil: { Interlock.deadline(in: timeout) }) else { return nil }
        return try endWriting("withWriteLock", after: body)
    }

    // Not by try_read_lock, which never allocates and so never gives the thread the slots by which reads scale.
    @inlinable
    borrowing func takeForReading(
        _ section: inout ilk__read_section,
        waitingUntil deadline: () -> UInt64
    ) -> Bool {
        ilk__read_section_try_begin(lock, &section)
            || ilk__read_section_begin_late(lock, &section, deadline()) == ILK_OK
    }

    @inlinable
    borrowing func takeForWriting(waitingUntil deadline: () -> UInt64) -> Bool {
        guard ilk_rwlock_try_write_lock(lock) || ilk_rwlock_write_lock_until(lock, deadline()) == ILK_OK
        else {
            return false
        }
        ilk__owned_begin(storage.lock)
        return true
    }
}
