// SPDX-License-Identifier: Apache-2.0
//
// The reader–writer lock as a reference; the lock does the work.

/// A value behind a phase-fair reader–writer lock, as a reference that several owners share.
///
/// A noncopyable ``ReadWriteLock`` in an object: the reference may be copied, captured by escaping closures, and kept
/// in collections. It costs one more allocation and one more indirection.
///
/// ```swift
/// let visits = SharedReadWriteLock<[String: Int]>([:])
/// for worker in workers {
///     worker.start { visits.withWriteLock { $0[path, default: 0] += 1 } }
/// }
/// ```
///
/// Every method is thread-safe and has the contract of the ``ReadWriteLock`` method of the same name. The reference is
/// `Sendable` where the value is.
public final class SharedReadWriteLock<Value: ~Copyable> {
    /// The lock, for the forms not repeated here.
    public let lock: ReadWriteLock<Value>

    /// A free lock that guards `initialValue`. Allocates.
    public init(_ initialValue: consuming Value) {
        lock = ReadWriteLock(initialValue)
    }

    /// As ``init(_:)``, with a name for misuse reports.
    ///
    /// - Parameter name: Kept up to 63 bytes of UTF-8.
    public init(_ initialValue: consuming Value, name: String) {
        lock = ReadWriteLock(initialValue, name: name)
    }

    /// The name, or `nil`. Blocks briefly.
    public var name: String? {
        lock.name
    }

    /// Runs `body` with the value while holding the lock for reading: ``ReadWriteLock/withReadLock(_:)``. Blocks while
    /// a writer holds the lock or waits for it.
    @inlinable
    public func withReadLock<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try lock.withReadLock(body)
    }

    /// Runs `body` with the value in place while holding the lock for writing: ``ReadWriteLock/withWriteLock(_:)``.
    /// Blocks while another thread holds the lock.
    @inlinable
    public func withWriteLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try lock.withWriteLock(body)
    }

    /// As ``withReadLock(_:)`` if that needs no waiting. Never blocks.
    @inlinable
    public func withReadLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        try lock.withReadLockIfAvailable(body)
    }

    /// As ``withWriteLock(_:)`` if the lock is free. Never blocks.
    @inlinable
    public func withWriteLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        try lock.withWriteLockIfAvailable(body)
    }

    /// As ``withReadLock(_:)``, waiting until `deadline` at most; `nil` if that timed out.
    @inlinable
    public func withReadLock<Result: ~Copyable, Failure: Error>(
        until deadline: ContinuousClock.Instant,
        _ body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        try lock.withReadLock(until: deadline, body)
    }

    /// As ``withReadLock(until:_:)``, for `timeout` at most.
    @inlinable
    public func withReadLock<Result: ~Copyable, Failure: Error>(
        timeout: Duration,
        _ body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        try lock.withReadLock(timeout: timeout, body)
    }

    /// As ``withWriteLock(_:)``, waiting until `deadline` at most; `nil` if that timed out.
    @inlinable
    public func withWriteLock<Result: ~Copyable, Failure: Error>(
        until deadline: ContinuousClock.Instant,
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        try lock.withWriteLock(until: deadline, body)
    }

    /// As ``withWriteLock(until:_:)``, for `timeout` at most.
    @inlinable
    public func withWriteLock<Result: ~Copyable, Failure: Error>(
        timeout: Duration,
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        try lock.withWriteLock(timeout: timeout, body)
    }

    /// Runs `body` with a view that reads, and may begin to write: ``ReadWriteLock/withUpgradableLock(_:)``. Blocks
    /// while a writer or another upgradable access holds the lock.
    @inlinable
    public func withUpgradableLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout ReadWriteLock<Value>.UpgradableView) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try lock.withUpgradableLock(body)
    }
}

// As the lock.
extension SharedReadWriteLock: Sendable where Value: Sendable & ~Copyable {}

extension SharedReadWriteLock where Value == Void {
    /// A free lock for a resource that lives elsewhere. Allocates.
    public convenience init() {
        self.init(())
    }
}
