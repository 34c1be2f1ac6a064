// SPDX-License-Identifier: Apache-2.0
//
// The C recursive mutex. It guards no value: a closure within another would have it twice in place.

import CInterlock

/// A lock that the thread which holds it may take again, for code that calls back into itself.
///
/// ```swift
/// final class Log: Sendable {
///     private let lock = RecursiveLock()
///     func write(_ line: String) {
///         lock.withLock { print(line) }
///     }
///     func write(lines: [String]) {
///         lock.withLock { lines.forEach(write) }  // no other thread's line in between
///     }
/// }
/// ```
///
/// Elsewhere take `Synchronization.Mutex` or ``ReadWriteLock``: they have the value that they guard, and one that is
/// entered half changed is reported, or does not compile.
///
/// Every method is thread-safe. Closures of different threads never overlap, and see what earlier ones did. Not fair: a
/// thread that comes while the holder unlocks may pass the waiters. For threads only: a task may go on in another
/// thread. Source: `ilk_recursive_mutex` in `<interlock/recursive_mutex.h>`.
public final class RecursiveLock: Sendable {
    @usableFromInline
    let mutex: CObject<ilk_recursive_mutex>

    /// A free lock. Allocates.
    ///
    /// - Parameter inheritsPriority: Whether the holder runs at the priority of its highest waiter, where the system
    ///   has that.
    public init(inheritsPriority: Bool = false) {
        mutex = CObject { ilk_recursive_mutex_init($0, inheritsPriority) }
    }

    /// Runs `body` while holding the lock. Blocks while another thread holds it; does not allocate.
    ///
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; the lock is given up first.
    @inlinable
    @available(*, noasync, message: "it blocks the thread, and a task may go on in another")
    public func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        ilk_recursive_mutex_lock(mutex.pointer)
        return try unlockAfter(body)
    }

    /// Runs `body` if the lock is free or held by the thread. Never blocks.
    ///
    /// - Returns: `nil` if another thread held the lock and `body` did not run.
    @inlinable
    @available(*, noasync, message: "a task may go on in another thread")
    public func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard ilk_recursive_mutex_try_lock(mutex.pointer) else { return nil }
        return try unlockAfter(body)
    }

    /// Runs `body` while holding the lock. Blocks while another thread holds it, until `deadline` at most. A deadline
    /// that has passed still takes a lock that is free or held by the thread.
    ///
    /// - Returns: What `body` returns, or `nil` if the lock did not become free in time and `body` did not run.
    @inlinable
    @available(*, noasync, message: "it blocks the thread, and a task may go on in another")
    public func withLock<Result: ~Copyable, Failure: Error>(
        until deadline: ContinuousClock.Instant,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard lock(until: InterlockSync.deadline(at: deadline)) else { return nil }
        return try unlockAfter(body)
    }

    /// Runs `body` while holding the lock. Blocks while another thread holds it, for `timeout` at most.
    ///
    /// - Returns: What `body` returns, or `nil` if the lock did not become free in time and `body` did not run.
    @inlinable
    @available(*, noasync, message: "it blocks the thread, and a task may go on in another")
    public func withLock<Result: ~Copyable, Failure: Error>(
        timeout: Duration,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard lock(until: InterlockSync.deadline(in: timeout)) else { return nil }
        return try unlockAfter(body)
    }

    /// Whether it took the lock; reads the clock only if another thread holds it.
    @inlinable
    func lock(until deadline: @autoclosure () -> UInt64) -> Bool {
        ilk_recursive_mutex_try_lock(mutex.pointer)
            || ilk_recursive_mutex_lock_until(mutex.pointer, deadline()) == ILK_OK
    }

    @inlinable
    func unlockAfter<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { ilk_recursive_mutex_unlock(mutex.pointer) }
        return try body()
    }
}
