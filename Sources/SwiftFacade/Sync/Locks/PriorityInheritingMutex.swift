// SPDX-License-Identifier: Apache-2.0
//
// The C mutex with priority inheritance, and the value it guards. +Suspending has the waits of tasks.

import CInterlock

/// A value behind a mutex that lends its holder the priority of its waiters.
///
/// While a thread of higher priority waits, the holder runs at that priority, so no thread in between holds both up.
/// Use it where threads of different real-time priorities share a value; elsewhere use `Synchronization.Mutex` or
/// ``ReadWriteLock``.
///
/// Its rules are those of `Synchronization.Mutex`: closures never overlap and see what earlier ones did, what goes in
/// and comes out is `sending`, and the mutex is `Sendable` whatever the value is.
///
/// In `async` code ``withLock(isolation:_:)`` suspends instead of blocking. Closures cannot suspend.
///
/// Not fair: a thread that comes while the holder unlocks may pass the waiters. Where the system has no priority
/// inheritance the mutex works without. Source: `ilk_mutex` in `<interlock/mutex.h>`.
@frozen
public struct PriorityInheritingMutex<Value: ~Copyable>: ~Copyable {
    @usableFromInline
    let storage: MutexStorage<Value>

    /// A free mutex that guards `initialValue`. Allocates.
    @inlinable
    public init(_ initialValue: consuming sending Value) {
        storage = MutexStorage(initialValue)
    }

    /// Runs `body` with the value in place while holding the mutex. Thread-safe; blocks while another thread holds the
    /// mutex; does not allocate.
    ///
    /// - Precondition: The thread does not hold this mutex. Locking again is reported and ends the process.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; the mutex is given up first.
    @inlinable
    @available(*, noasync, message: "it blocks the thread; use `try await withLock`")
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        ilk_mutex_lock(storage.lock)
        return try unlockAfter(body)
    }

    /// Runs `body` with the value in place if the mutex is free. Thread-safe; never blocks.
    ///
    /// - Returns: `nil` if the mutex was taken and `body` did not run.
    @inlinable
    public borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard ilk_mutex_try_lock(storage.lock) else { return nil }
        return try unlockAfter(body)
    }

    /// Runs `body` with the value in place while holding the mutex. Thread-safe; blocks while another thread holds the
    /// mutex, until `deadline` at most. A deadline that has passed still takes a free mutex.
    ///
    /// - Precondition: The thread does not hold this mutex.
    /// - Returns: What `body` returns, or `nil` if the mutex did not become free in time and `body` did not run.
    @inlinable
    @available(*, noasync, message: "it blocks the thread; use `try await withLock`")
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        until deadline: ContinuousClock.Instant,
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard lock(until: InterlockSync.deadline(at: deadline)) else { return nil }
        return try unlockAfter(body)
    }

    /// Runs `body` with the value in place while holding the mutex. Thread-safe; blocks while another thread holds the
    /// mutex, for `timeout` at most.
    ///
    /// - Precondition: The thread does not hold this mutex.
    /// - Returns: What `body` returns, or `nil` if the mutex did not become free in time and `body` did not run.
    @inlinable
    @available(*, noasync, message: "it blocks the thread; use `try await withLock`")
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        timeout: Duration,
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard lock(until: InterlockSync.deadline(in: timeout)) else { return nil }
        return try unlockAfter(body)
    }

    /// Whether it took the mutex; reads the clock only if the mutex is taken.
    @inlinable
    borrowing func lock(until deadline: @autoclosure () -> UInt64) -> Bool {
        ilk_mutex_try_lock(storage.lock) || ilk_mutex_lock_until(storage.lock, deadline()) == ILK_OK
    }

    /// Runs `body` with the mutex held, then unlocks.
    @inlinable
    borrowing func unlockAfter<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        defer { ilk_mutex_unlock(storage.lock) }
        let value = storage.value
        return try body(&value.pointee)
    }
}

// One closure at a time has the value; `sending` keeps what goes in and out apart from it.
extension PriorityInheritingMutex: @unchecked Sendable where Value: ~Copyable {}

/// The mutex and its value with several owners: its maker may drop it while a thread waits in it for tasks.
@usableFromInline
final class MutexStorage<Value: ~Copyable>: Sendable {
    @usableFromInline
    let storage: GuardedStorage<ilk_mutex, Value>
    let errands = MutexErrands()

    @usableFromInline
    init(_ value: consuming sending Value) {
        storage = GuardedStorage(value)
        ilk_mutex_init(storage.lock, true)
    }

    deinit {
        forgetName(of: storage.base)
    }

    @inlinable @inline(__always)
    var lock: UnsafeMutablePointer<ilk_mutex> {
        storage.lock
    }

    /// The address of the value: see ``GuardedStorage/value``.
    @inlinable @inline(__always)
    var value: UnsafeMutablePointer<Value> {
        storage.value
    }
}
