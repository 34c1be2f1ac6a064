// SPDX-License-Identifier: Apache-2.0
//
// Reading that may turn into writing without a gap, in which another writer would make the reads stale.
// ReadWriteLock+Downgrading.swift has the other direction.

import CInterlock

extension ReadWriteLock where Value: ~Copyable {
    /// Runs `body` with a view that reads, and may begin to write without giving the lock up. Thread-safe; blocks while
    /// a writer or another upgradable access holds the lock. Allocates in debug builds only.
    ///
    /// Readers run beside it, writers and other upgradable accesses do not: what the view read still holds when it
    /// begins to write.
    ///
    /// ```swift
    /// let session = sessions.withUpgradableLock { view in
    ///     if let known = view.value[user] { return known }
    ///     return view.upgrade { sessions in
    ///         let new = Session(user)
    ///         sessions[user] = new
    ///         return new
    ///     }
    /// }
    /// ```
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; the lock is given up first.
    /// - Complexity: O(1) without contention. Calls `ilk_rwlock_upgradable_lock`.
    @inlinable
    public borrowing func withUpgradableLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout UpgradableView) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        assert(isOutside("withUpgradableLock"))
        ilk__owned_upgradable_lock(storage.lock, "ReadWriteLock.withUpgradableLock")
        return try readUpgradably(body)
    }

    /// Runs `body` with a view that reads, and may begin to write without giving the lock up. Thread-safe; blocks while
    /// a writer or another upgradable access holds the lock, until `deadline` at most.
    ///
    /// The limit is not on `upgrade`, which waits for others, the readers, and has its own. A deadline that has passed
    /// still takes a lock that needs no waiting.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Returns: What `body` returns, or `nil` if the wait timed out and `body` did not run.
    @inlinable
    public borrowing func withUpgradableLock<Result: ~Copyable, Failure: Error>(
        until deadline: ContinuousClock.Instant,
        _ body: (inout UpgradableView) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard takeUpgradably(until: InterlockSync.deadline(at: deadline)) else { return nil }
        return try readUpgradably(body)
    }

    /// Runs `body` with a view that reads, and may begin to write without giving the lock up. Thread-safe; blocks while
    /// a writer or another upgradable access holds the lock, for `timeout` at most. The limit is not on `upgrade`.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Returns: What `body` returns, or `nil` if the wait timed out and `body` did not run.
    @inlinable
    public borrowing func withUpgradableLock<Result: ~Copyable, Failure: Error>(
        timeout: Duration,
        _ body: (inout UpgradableView) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard takeUpgradably(until: InterlockSync.deadline(in: timeout)) else { return nil }
        return try readUpgradably(body)
    }

    @inlinable
    borrowing func takeUpgradably(until deadline: UInt64) -> Bool {
        guard ilk_rwlock_upgradable_lock_until(lock, deadline) == ILK_OK else { return false }
        ilk__owned_begin(storage.lock)
        return true
    }

    /// Gives up the lock, held upgradable or, by `body`, for writing.
    @inlinable @inline(__always)
    borrowing func readUpgradably<Result: ~Copyable, Failure: Error>(
        _ body: (inout UpgradableView) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        var view = UpgradableView(lock: storage.lock, location: storage.value)
        assert(entered("withUpgradableLock"))
        defer {
            assert(left())
            view.giveUp(storage.lock)
        }
        return try body(&view)
    }

    /// The value for reading, and the right to change it.
    ///
    /// It cannot outlive its closure, and belongs to the thread that runs the closure. Exchanging it for the view of
    /// another lock is reported when the inner closure ends, and ends the process.
    @frozen
    public struct UpgradableView: ~Copyable {
        @usableFromInline let lock: UnsafeMutablePointer<ilk__owned_rwlock>
        @usableFromInline let location: UnsafeMutablePointer<Value>

        /// Whether an upgrade has succeeded: then the lock is held for writing until the outer closure ends.
        private(set) var isUpgraded = false

        @usableFromInline
        init(lock: UnsafeMutablePointer<ilk__owned_rwlock>, location: UnsafeMutablePointer<Value>) {
            self.lock = lock
            self.location = location
        }

        /// The value, for reading.
        @inlinable
        public var value: Value {
            _read { yield location.pointee }
        }

        /// Runs `body` with the value in place, alone. The first call blocks until the present readers finish, goes
        /// before queued writers, and keeps the lock for writing; later calls do not wait.
        ///
        /// - Returns: What `body` returns.
        /// - Throws: What `body` throws; the lock stays held for writing until the outer closure ends.
        /// - Complexity: O(1) without contention. Calls `ilk_rwlock_upgrade`.
        public mutating func upgrade<Result: ~Copyable, Failure: Error>(
            _ body: (inout Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            if !isUpgraded {
                ilk_rwlock_upgrade(cLock)
                isUpgraded = true
            }
            let location = location
            return try body(&location.pointee)
        }

        /// Runs `body` with the value in place, alone. The first call that succeeds blocks until the present readers
        /// finish, until `deadline` at most, and keeps the lock for writing; later calls do not wait.
        ///
        /// The wait holds new readers back. If it times out they come in; the lock stays held upgradable, without a
        /// gap, and the upgrade may be tried again. A deadline that has passed still upgrades where no reader is left.
        ///
        /// - Returns: What `body` returns, or `nil` if the readers did not finish in time and `body` did not run.
        /// - Throws: What `body` throws; the lock stays held for writing until the outer closure ends.
        /// - Complexity: O(1) without contention. Calls `ilk_rwlock_upgrade_until`.
        public mutating func upgrade<Result: ~Copyable, Failure: Error>(
            until deadline: ContinuousClock.Instant,
            _ body: (inout Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result? {
            guard upgrade(waitingUntil: InterlockSync.deadline(at: deadline)) else { return nil }
            let location = location
            return try body(&location.pointee)
        }

        /// Runs `body` with the value in place, alone. The first call that succeeds blocks until the present readers
        /// finish, for `timeout` at most, and keeps the lock for writing; later calls do not wait.
        ///
        /// The wait holds new readers back. If it times out they come in; the lock stays held upgradable, without a
        /// gap, and the upgrade may be tried again.
        ///
        /// - Returns: What `body` returns, or `nil` if the readers did not finish in time and `body` did not run.
        /// - Throws: What `body` throws; the lock stays held for writing until the outer closure ends.
        public mutating func upgrade<Result: ~Copyable, Failure: Error>(
            timeout: Duration,
            _ body: (inout Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result? {
            guard upgrade(waitingUntil: InterlockSync.deadline(in: timeout)) else { return nil }
            let location = location
            return try body(&location.pointee)
        }

        private mutating func upgrade(waitingUntil deadline: UInt64) -> Bool {
            if !isUpgraded {
                isUpgraded = ilk_rwlock_upgrade_until(cLock, deadline) == ILK_OK
            }
            return isUpgraded
        }

        /// The owned lock begins with the C lock.
        private var cLock: UnsafeMutablePointer<ilk_rwlock> {
            UnsafeMutableRawPointer(lock).assumingMemoryBound(to: ilk_rwlock.self)
        }

        /// Gives up the lock of the closure that ends. Views can be swapped where two closures are open: the inner one
        /// ends first, while both locks are there.
        @usableFromInline
        mutating func giveUp(_ own: UnsafeMutablePointer<ilk__owned_rwlock>) {
            guard lock == own else {
                misuse(
                    "\(ReadWriteLock<Value>.self as Any).withUpgradableLock",
                    own,
                    "the closure ends with the view of another lock: a view was swapped out of its closure"
                )
            }
            if isUpgraded {
                ilk__owned_write_unlock(lock)
            } else {
                ilk__owned_upgradable_unlock(lock)
            }
        }
    }
}

// The view stands for a lock that one thread holds.
@available(*, unavailable)
extension ReadWriteLock.UpgradableView: Sendable where Value: ~Copyable {}
