// SPDX-License-Identifier: Apache-2.0
//
// The reader–writer lock of the facade: the C lock of <interlock/rwlock.h> and the value it guards,
// reachable only together. What belongs here is the type, its lifetime and the plain closures; waits
// with a limit, upgrading and downgrading, and the unsafe pair have a file each.

import CInterlock

/// A value behind a phase-fair reader–writer lock: many readers or one writer.
///
/// The shape is that of `Synchronization.Mutex`: the value is reachable only inside a closure, so that
/// it cannot be used without the lock, and the lock is noncopyable, so that there is one of it. Keep it
/// in a `let`: a property of a class or an actor, a global, or a local that closures capture.
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
/// Readers run in parallel and share the value, so the lock is `Sendable` only where the value is; a
/// `Mutex`, whose closures never overlap, can do with less. `Value` may be noncopyable. Guard what
/// lives elsewhere with a `ReadWriteLock<Void>`.
///
/// Fairness: a waiting reader is let in after at most one write, writers are served first come, first
/// served, and a waiting writer holds back the readers that come after it. Recursion in any mode is
/// misuse: a thread that takes for reading what it already reads can deadlock with a writer that
/// queued between the two. A thread that takes again what it holds for writing or upgradable is told so
/// before it waits, unless a limit ends the wait. Of a thread that reads already, debug builds report each
/// call that would wait for it; release builds report what a reader's slot shows, and otherwise wait for ever.
///
/// The calls block their thread while they wait. Inside `async` code that is right for sections as
/// short as a mutex would guard; a closure cannot suspend.
///
/// Cost: one allocation, at initialisation; none afterwards, but in debug builds, which remember the closures that a
/// thread is in. An uncontended closure is two atomic operations, inlined into the caller. Source: `ilk_rwlock` in
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

    /// A free lock that guards `initialValue` and has a name, which reports of misuse give. Allocates.
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
        // Takes the name away. Reports a lock that is still held: a raw pair left open.
        ilk_rwlock_destroy(lock)
    }

    /// Runs `body` with the value while holding the lock for reading, beside other readers.
    ///
    /// Thread-safe; blocks while a writer holds the lock or waits for it; allocates in debug
    /// builds only.
    ///
    /// - Precondition: The thread does not hold this lock. Taking it again can deadlock.
    /// - Parameter body: Borrows the value. Everything that earlier writers did is visible to it.
    /// - Returns: What `body` returns. It is not reachable through the value (`sending`), so it may go
    ///   to another thread.
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

    /// Runs `body` with the value in place while holding the lock for writing, alone.
    ///
    /// Thread-safe; blocks while anybody holds the lock; allocates in debug builds only.
    ///
    /// - Precondition: The thread does not hold this lock. Taking it again deadlocks.
    /// - Parameter body: Changes the value in place. Everything earlier holders did is visible to it,
    ///   and what it does is visible to every later one.
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

    /// Runs `body` as ``withReadLock(_:)`` does if the lock can be had without waiting.
    ///
    /// Never blocks. A waiting writer counts as a reason to wait. A lock that is free, and that no other call is at
    /// work on, is not refused.
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

    /// Runs `body` as ``withWriteLock(_:)`` does if nobody holds the lock.
    ///
    /// Never blocks. A lock that is free, and that no other call is at work on, is not refused.
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

    /// Runs `body` with the lock held for reading, and gives it up.
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

    /// Runs `body` with the lock held for writing, and gives it up.
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

    // For `assert`, which release builds leave out: a thread's closures of this lock, so that one that would wait for
    // itself is reported.

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

// Readers on several threads share the value, which therefore must be Sendable itself; everything else
// about the lock is the C core's, which is made for any number of threads.
extension ReadWriteLock: @unchecked Sendable where Value: Sendable & ~Copyable {}

extension ReadWriteLock where Value == Void {
    /// A free lock for something that lives elsewhere. Allocates.
    @inlinable
    public init() {
        self.init(())
    }

    /// A free lock for something that lives elsewhere, with a name. Allocates.
    public init(name: String) {
        self.init((), name: name)
    }
}
