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
/// let soon = visits.lock.withReadLock(timeout: .seconds(1)) { $0[path] }
/// ```
///
/// The two verbs of every day are here; the others, and the name, are those of ``lock``.
///
/// Every method is thread-safe. The reference is `Sendable` where the value is.
public final class SharedReadWriteLock<Value: ~Copyable> {
    /// The lock.
    public let lock: ReadWriteLock<Value>

    /// A free lock that guards `initialValue`. Allocates.
    public init(_ initialValue: consuming Value) {
        lock = ReadWriteLock(initialValue)
    }

    /// A free lock that guards `initialValue`, with a name for misuse reports. Allocates.
    ///
    /// - Parameter name: Kept up to 63 bytes of UTF-8.
    public init(_ initialValue: consuming Value, name: String) {
        lock = ReadWriteLock(initialValue, name: name)
    }

    /// Runs `body` with the value while holding the lock for reading, beside other readers. Thread-safe; blocks while a
    /// writer holds the lock or waits for it.
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

    /// Runs `body` with the value in place while holding the lock for writing, alone. Thread-safe; blocks while another
    /// thread holds the lock.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; the lock is given up first.
    @inlinable
    public func withWriteLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try lock.withWriteLock(body)
    }
}

// Readers on several threads share the value, as with ReadWriteLock.
extension SharedReadWriteLock: Sendable where Value: Sendable & ~Copyable {}

extension SharedReadWriteLock where Value == Void {
    /// A free lock for a resource that lives elsewhere. Allocates.
    public convenience init() {
        self.init(())
    }
}
