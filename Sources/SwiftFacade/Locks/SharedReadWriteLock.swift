// SPDX-License-Identifier: Apache-2.0
//
// The reader–writer lock as a reference, where a noncopyable lock does not fit: closures that escape, several owners,
// values in collections. This file holds the reference only; the lock does the rest.

/// A value behind a phase-fair reader–writer lock, as a reference that several owners share.
///
/// ``ReadWriteLock`` is noncopyable and belongs in a `let` of its one owner. This is that lock in an object: copy the
/// reference, capture it, keep it in a collection. It costs one more allocation and one more indirection.
///
/// ```swift
/// let visits = SharedReadWriteLock<[String: Int]>([:])
/// for worker in workers {
///     worker.start { visits.withWriteLock { $0[path, default: 0] += 1 } }
/// }
/// ```
///
/// Every method is thread-safe and has the contract of the lock's method of the same name. The reference is `Sendable`
/// where the value is, since readers share the value.
public final class SharedReadWriteLock<Value: ~Copyable> {
    /// The lock itself, for the forms that are not repeated here.
    public let lock: ReadWriteLock<Value>

    /// A free lock that guards `initialValue`. Allocates.
    public init(_ initialValue: consuming Value) {
        lock = ReadWriteLock(initialValue)
    }

    /// A free lock that guards `initialValue` and has a name, which misuse reports give. Allocates.
    ///
    /// - Parameter name: Kept up to 63 bytes of UTF-8.
    public init(_ initialValue: consuming Value, name: String) {
        lock = ReadWriteLock(initialValue, name: name)
    }

    /// The name that the lock was made with, or `nil`. Thread-safe; blocks briefly.
    public var name: String? {
        lock.name
    }

    /// Runs `body` with the value while holding the lock for reading, beside other readers;
    /// ``ReadWriteLock/withReadLock(_:)``. Blocks while a writer holds the lock or waits for it.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; the lock is given up first.
    @inlinable
    public func withReadLock<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try lock.withReadLock(body)
    }

    /// Runs `body` with the value in place while holding the lock for writing, alone;
    /// ``ReadWriteLock/withWriteLock(_:)``. Blocks while another thread holds the lock.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; the lock is given up first, with the value as `body` left it.
    @inlinable
    public func withWriteLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try lock.withWriteLock(body)
    }

    /// Runs `body` as ``withReadLock(_:)`` does if the lock can be had without waiting. Never blocks.
    ///
    /// - Returns: What `body` returns, or `nil` if it did not run.
    @inlinable
    public func withReadLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        try lock.withReadLockIfAvailable(body)
    }

    /// Runs `body` as ``withWriteLock(_:)`` does if the lock is free. Never blocks.
    ///
    /// - Returns: What `body` returns, or `nil` if it did not run.
    @inlinable
    public func withWriteLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        try lock.withWriteLockIfAvailable(body)
    }

    /// Runs `body` as ``withReadLock(_:)`` does, waiting for the lock until `deadline` at most.
    ///
    /// - Returns: What `body` returns, or `nil` if the wait timed out and `body` did not run.
    @inlinable
    public func withReadLock<Result: ~Copyable, Failure: Error>(
        until deadline: ContinuousClock.Instant,
        _ body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        try lock.withReadLock(until: deadline, body)
    }

    /// Runs `body` as ``withReadLock(_:)`` does, waiting for the lock for `timeout` at most.
    ///
    /// - Returns: What `body` returns, or `nil` if the wait timed out and `body` did not run.
    @inlinable
    public func withReadLock<Result: ~Copyable, Failure: Error>(
        timeout: Duration,
        _ body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        try lock.withReadLock(timeout: timeout, body)
    }

    /// Runs `body` as ``withWriteLock(_:)`` does, waiting for the lock until `deadline` at most.
    ///
    /// - Returns: What `body` returns, or `nil` if the wait timed out and `body` did not run.
    @inlinable
    public func withWriteLock<Result: ~Copyable, Failure: Error>(
        until deadline: ContinuousClock.Instant,
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        try lock.withWriteLock(until: deadline, body)
    }

    /// Runs `body` as ``withWriteLock(_:)`` does, waiting for the lock for `timeout` at most.
    ///
    /// - Returns: What `body` returns, or `nil` if the wait timed out and `body` did not run.
    @inlinable
    public func withWriteLock<Result: ~Copyable, Failure: Error>(
        timeout: Duration,
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        try lock.withWriteLock(timeout: timeout, body)
    }

    /// Runs `body` with a view that reads, and may begin to write without giving the lock up;
    /// ``ReadWriteLock/withUpgradableLock(_:)``. Blocks while a writer or another upgradable access holds the lock.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; the lock is given up first.
    @inlinable
    public func withUpgradableLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout ReadWriteLock<Value>.UpgradableView) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try lock.withUpgradableLock(body)
    }
}

// The reference is to one lock, which is Sendable where its value is.
extension SharedReadWriteLock: Sendable where Value: Sendable & ~Copyable {}

extension SharedReadWriteLock where Value == Void {
    /// A free lock for a resource that lives elsewhere. Allocates.
    public convenience init() {
        self.init(())
    }
}
