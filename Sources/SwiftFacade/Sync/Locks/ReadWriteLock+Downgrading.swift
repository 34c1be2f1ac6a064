// SPDX-License-Identifier: Apache-2.0
//
// Writing that turns into reading without a gap: no other writer comes in between. ReadWriteLock+Upgrading.swift has
// the other direction.

import CInterlock

extension ReadWriteLock where Value: ~Copyable {
    /// Runs `change` while holding the lock for writing, then `read` while still holding it for reading. Thread-safe;
    /// blocks while another thread holds the lock.
    ///
    /// No writer comes between the two: `read` sees what `change` left. Other readers are let in after `change`. Use it
    /// where reporting a change takes longer than making it. There is no form with a limit: where the wait must end,
    /// use ``withWriteLock(timeout:_:)`` and return what is to be reported.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Parameters:
    ///   - change: Changes the value in place. If it throws, `read` does not run.
    ///   - read: Borrows the value, and receives what `change` returned.
    /// - Returns: What `read` returns.
    /// - Throws: What `change` or `read` throws; the lock is given up first.
    /// - Complexity: O(1) without contention. Calls `ilk_rwlock_downgrade`.
    @inlinable
    public borrowing func withWriteLock<Change: ~Copyable, Result: ~Copyable, Failure: Error>(
        _ change: (inout Value) throws(Failure) -> Change,
        downgrading read: (borrowing Value, consuming Change) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        assert(isOutside("withWriteLock"))
        ilk__owned_write_lock(storage.lock, "ReadWriteLock.withWriteLock")
        return try readDowngraded(changeThenDowngrade(change), read)
    }

    // Typed throws cannot name either of two error types. Not `rethrows` in place of both forms: Swift 6.3 crashes
    // where it makes a closure with a typed error one that throws any.

    /// Runs `change` while holding the lock for writing, then `read` while still holding it for reading, where the two
    /// throw errors of different types. Thread-safe; blocks while another thread holds the lock.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Returns: What `read` returns.
    /// - Throws: What `change` or `read` throws; the lock is given up first.
    /// - Complexity: O(1) without contention. Calls `ilk_rwlock_downgrade`.
    @inlinable
    @_disfavoredOverload
    public borrowing func withWriteLock<
        Change: ~Copyable,
        Result: ~Copyable,
        ChangeFailure: Error,
        ReadFailure: Error
    >(
        _ change: (inout Value) throws(ChangeFailure) -> Change,
        downgrading read: (borrowing Value, consuming Change) throws(ReadFailure) -> sending Result
    ) throws -> sending Result {
        assert(isOutside("withWriteLock"))
        ilk__owned_write_lock(storage.lock, "ReadWriteLock.withWriteLock")
        return try readDowngraded(changeThenDowngrade(change), read)
    }

    /// With the lock held for writing. Leaves it held for reading, or free if `change` throws.
    @inlinable @inline(__always)
    borrowing func changeThenDowngrade<Change: ~Copyable, Failure: Error>(
        _ change: (inout Value) throws(Failure) -> Change
    ) throws(Failure) -> Change {
        assert(entered("withWriteLock"))
        let value = storage.value
        let made: Change
        do {
            made = try change(&value.pointee)
        } catch {
            assert(left())
            ilk__owned_write_unlock(storage.lock)
            throw error
        }
        // It judges the predicates of those that wait, which the section must not seem to do.
        assert(left())
        ilk__owned_downgrade(storage.lock)
        assert(entered("withWriteLock"))
        return made
    }

    /// Gives up the lock that `changeThenDowngrade` left.
    @inlinable @inline(__always)
    borrowing func readDowngraded<Change: ~Copyable, Result: ~Copyable, Failure: Error>(
        _ made: consuming Change,
        _ read: (borrowing Value, consuming Change) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        defer {
            assert(left())
            ilk__read_section_end(lock, ilk__read_section_downgraded())
        }
        return try read(storage.value.pointee, made)
    }
}
