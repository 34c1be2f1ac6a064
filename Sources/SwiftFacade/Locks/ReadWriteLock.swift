// SPDX-License-Identifier: Apache-2.0
//
// The reader–writer lock of the facade: the C lock of <interlock/rwlock.h> and the value it guards, reachable only
// together. This file has the type, its lifetime and the plain closures; limits, upgrading, downgrading and the unsafe
// pair have a file each.

import CInterlock

/// A value behind a phase-fair reader–writer lock: many readers or one writer.
///
/// Its shape is that of `Synchronization.Mutex`. The value is reachable only inside a closure, so it cannot be used
/// without the lock. The lock is noncopyable, so there is one of it. Keep it in a `let`: a property of a class or an
/// actor, a global, or a local that closures capture.
///
/// ```swift
/// final class Rates: Sendable {
///     private let table = ReadWriteLock<[String: Double]>([:])
///
///     func rate(of currency: String) -> Double? {
///         table.withReadLock { $0[currency] }
///     }
///     func publish(_ rate: Double, of currency: String) {
///         table.withWriteLock { $0[currency] = rate }
///     }
/// }
/// ```
///
/// Readers run in parallel and share the value, so the lock is `Sendable` only where the value is. `Value` may be
/// noncopyable. Guard what lives elsewhere with a `ReadWriteLock<Void>`.
///
/// The calls block their thread while they wait. Inside `async` code that is right for sections as short as a mutex
/// would guard; a closure cannot suspend.
///
/// Fairness: a waiting reader is let in after at most one write, writers are served first come, first served, and a
/// waiting writer holds back later readers.
///
/// Recursion in any mode is misuse: a thread that reads again can deadlock with a writer that queued in between. A
/// thread that takes again what it holds for writing or upgradable is reported before it waits, unless a limit ends the
/// wait. Of a thread that already reads, debug builds report each call that would wait for that thread itself. Release
/// builds report what a reader slot shows, and otherwise wait for ever.
///
/// Cost: one allocation, at initialisation; debug builds also allocate for the list of the closures that a thread is
/// in. An uncontended closure is two atomic operations, inlined into the caller. Source: `ilk_rwlock` in
/// `<interlock/rwlock.h>`.
@frozen
public struct ReadWriteLock<Value: ~Copyable>: ~Copyable {
    @usableFromInline
    let storage: GuardedStorage<ilk__owned_rwlock, Value>

    /// A free lock that guards `initialValue`. Allocates.
    @inlinable
    public init(_ initialValue: consuming Value) {
        storage = GuardedStorage(initialValue)
    }

    /// A free lock that guards `initialValue` and has a name, which misuse reports give. Allocates.
    ///
    /// - Parameter name: Kept up to 63 bytes of UTF-8.
    public init(_ initialValue: consuming Value, name: String) {
        self.init(initialValue)
        setName(name, of: storage.base)
    }

    /// The name that the lock was made with, or `nil`. Thread-safe; blocks briefly.
    public var name: String? {
        Interlock.name(of: storage.base)
    }

    @inlinable
    deinit {
        // Takes the name away. Reports a lock that is still held, by a raw pair left open.
        ilk_rwlock_destroy(lock)
    }

    /// Runs `body` with the value while holding the lock for reading, beside other readers. Thread-safe; blocks while a
    /// writer holds the lock or waits for it; allocates in debug builds only.
    ///
    /// - Precondition: The thread does not hold this lock. Taking it again can deadlock.
    /// - Parameter body: Borrows the value. It sees everything that earlier writers did.
    /// - Returns: What `body` returns. It is not reachable through the value (`sending`), so it may go to another
    ///   thread.
    /// - Throws: What `body` throws; the lock is given up first.
    /// - Complexity: O(1) without contention. Calls `ilk_rwlock_read_lock`.
    @inlinable
    public borrowing func withReadLock<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        assert(isOutside("withReadLock"))
        let section = ilk__owned_read_lock(storage.lock, "ReadWriteLock.withReadLock")
        return try endReading(section, "withReadLock", after: body)
    }

    /// Runs `body` with the value in place while holding the lock for writing, alone. Thread-safe; blocks while another
    /// thread holds the lock; allocates in debug builds only.
    ///
    /// - Precondition: The thread does not hold this lock. Taking it again deadlocks, or is reported.
    /// - Parameter body: Changes the value in place. It sees everything that earlier holders did, and every later
    ///   holder sees what it does.
    /// - Returns: What `body` returns. It is not reachable through the value (`sending`).
    /// - Throws: What `body` throws; the lock is given up first, with the value as `body` left it.
    /// - Complexity: O(1) without contention. Calls `ilk_rwlock_write_lock`.
    @inlinable
    public borrowing func withWriteLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        assert(isOutside("withWriteLock"))
        ilk__owned_write_lock(storage.lock, "ReadWriteLock.withWriteLock")
        return try endWriting("withWriteLock", after: body)
    }

    /// Runs `body` as ``withReadLock(_:)`` does if the lock can be had without waiting. Never blocks.
    ///
    /// A waiting writer refuses the reader. A free lock that no other call is at work on is not refused.
    ///
    /// - Returns: What `body` returns, or `nil` if it did not run.
    @inlinable
    public borrowing func withReadLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        var section = ilk__read_section()
        guard ilk__read_section_try(lock, &section) else { return nil }
        return try endReading(section, "withReadLockIfAvailable", after: body)
    }

    /// Runs `body` as ``withWriteLock(_:)`` does if the lock is free. Never blocks. A free lock that no other call is
    /// at work on is not refused.
    ///
    /// - Returns: What `body` returns, or `nil` if it did not run.
    @inlinable
    public borrowing func withWriteLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard ilk_rwlock_try_write_lock(lock) else { return nil }
        ilk__owned_begin(storage.lock)
        return try endWriting("withWriteLockIfAvailable", after: body)
    }

    /// Runs `body` with the lock held for reading, then gives it up.
    @inlinable @inline(__always)
    borrowing func endReading<Result: ~Copyable, Failure: Error>(
        _ section: ilk__read_section,
        _ call: StaticString,
        after body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        assert(entered(call))
        defer {
            assert(left())
            ilk__read_section_end(lock, section)
        }
        return try body(storage.value.pointee)
    }

    /// Runs `body` with the lock held for writing, then gives it up.
    @inlinable @inline(__always)
    borrowing func endWriting<Result: ~Copyable, Failure: Error>(
        _ call: StaticString,
        after body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        assert(entered(call))
        defer {
            assert(left())
            ilk__owned_write_unlock(storage.lock)
        }
        let value = storage.value
        return try body(&value.pointee)
    }

    /// The C lock itself.
    @inlinable @inline(__always)
    var lock: UnsafeMutablePointer<ilk_rwlock> {
        storage.base.assumingMemoryBound(to: ilk_rwlock.self)
    }

    // MARK: debug builds

    // For `assert`, which release builds leave out: the closures of this lock that a thread is in, so that a thread
    // that would wait for itself is reported.

    @usableFromInline
    borrowing func isOutside(_ call: StaticString) -> Bool {
        ThreadAccess.requireOutside(UnsafeRawPointer(storage.base), call: call, type: Self.self as Any)
        return true
    }

    @usableFromInline
    borrowing func entered(_ call: StaticString) -> Bool {
        ThreadAccess.enter(UnsafeRawPointer(storage.base), call: call)
    }

    @usableFromInline
    borrowing func left() -> Bool {
        ThreadAccess.leave(UnsafeRawPointer(storage.base), type: Self.self as Any)
    }
}

// Readers on several threads share the value, so the value must be Sendable. The rest of the lock is the C core's,
// which any number of threads may call.
extension ReadWriteLock: @unchecked Sendable where Value: Sendable & ~Copyable {}

extension ReadWriteLock where Value == Void {
    /// A free lock for a resource that lives elsewhere. Allocates.
    @inlinable
    public init() {
        self.init(())
    }

    /// A free lock for a resource that lives elsewhere, with a name. Allocates.
    ///
    /// - Parameter name: Kept up to 63 bytes of UTF-8.
    public init(name: String) {
        self.init((), name: name)
    }
}
