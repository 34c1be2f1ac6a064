// SPDX-License-Identifier: Apache-2.0
//
// Waiting for a reader–writer lock with a limit. A free lock is taken without reading the clock.

import CInterlock

extension ReadWriteLock where Value: ~Copyable {
    /// Runs `body` with the value while holding the lock for reading, beside other readers. Thread-safe; blocks while a
    /// writer holds the lock or waits for it, until `deadline` at most.
    ///
    /// The limit is on the wait, not on `body`. A deadline that has passed still takes a lock that needs no waiting. A
    /// wait that timed out leaves nothing behind.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Returns: What `body` returns, or `nil` if the wait timed out and `body` did not run.
    @inlinable
    public borrowing func withReadLock<Result: ~Copyable, Failure: Error>(
        until deadline: ContinuousClock.Instant,
        _ body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        var section = ilk__read_section()
        guard takeForReading(&section, waitingUntil: { InterlockSync.deadline(at: deadline) }) else {
            return nil
        }
        return try endReading(section, "withReadLock", after: body)
    }

    /// Runs `body` with the value while holding the lock for reading, beside other readers. Thread-safe; blocks while a
    /// writer holds the lock or waits for it, for `timeout` at most.
    ///
    /// The limit is on the wait, not on `body`. A wait that timed out leaves nothing behind.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Returns: What `body` returns, or `nil` if the wait timed out and `body` did not run.
    @inlinable
    public borrowing func withReadLock<Result: ~Copyable, Failure: Error>(
        timeout: Duration,
        _ body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        var section = ilk__read_section()
        guard takeForReading(&section, waitingUntil: { InterlockSync.deadline(in: timeout) }) else {
            return nil
        }
        return try endReading(section, "withReadLock", after: body)
    }

    /// Runs `body` with the value in place while holding the lock for writing, alone. Thread-safe; blocks while another
    /// thread holds the lock, until `deadline` at most.
    ///
    /// The limit is on the wait, not on `body`. A deadline that has passed still takes a free lock. A writer whose wait
    /// timed out holds back no reader.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Returns: What `body` returns, or `nil` if the wait timed out and `body` did not run.
    @inlinable
    public borrowing func withWriteLock<Result: ~Copyable, Failure: Error>(
        until deadline: ContinuousClock.Instant,
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard takeForWriting(waitingUntil: { InterlockSync.deadline(at: deadline) }) else { return nil }
        return try endWriting("withWriteLock", after: body)
    }

    /// Runs `body` with the value in place while holding the lock for writing, alone. Thread-safe; blocks while another
    /// thread holds the lock, for `timeout` at most.
    ///
    /// The limit is on the wait, not on `body`. A writer whose wait timed out holds back no reader.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Returns: What `body` returns, or `nil` if the wait timed out and `body` did not run.
    @inlinable
    public borrowing func withWriteLock<Result: ~Copyable, Failure: Error>(
        timeout: Duration,
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard takeForWriting(waitingUntil: { InterlockSync.deadline(in: timeout) }) else { return nil }
        return try endWriting("withWriteLock", after: body)
    }

    // Not try_read_lock, which never allocates: the thread would never get the reader slots by which reads scale.
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
