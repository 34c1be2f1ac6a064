// SPDX-License-Identifier: Apache-2.0
//
// The reader–writer lock of the facade: the C lock of <interlock/rwlock.h> and the value it guards. This file has the
// type, its lifetime and the plain closures.

import CInterlock

/// A value behind a phase-fair reader–writer lock: many readers or one writer.
///
/// Its shape is that of `Synchronization.Mutex`: the value is reachable only inside a closure, and the lock is
/// noncopyable. Keep it in a `let`: a property of a class or an actor, a global, or a local that closures capture.
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
/// Readers share the value, so the lock is `Sendable` only where the value is. `Value` may be noncopyable. A
/// `ReadWriteLock<Void>` guards what lives elsewhere.
///
/// Waiting blocks the thread: in `async` code keep sections as short as a mutex's. A closure cannot suspend.
///
/// Fairness: a waiting reader is let in after at most one write, writers are served first come, first served, and a
/// waiting writer holds back later readers.
///
/// Recursion in any mode is misuse: a thread that reads again can deadlock with a writer queued in between. Taking
/// again what the thread holds for writing or upgradable is reported before it waits, unless a limit ends the wait. In
/// a thread that already reads, debug builds report each call that would wait for the thread itself; release builds
/// report what a reader slot shows, and otherwise wait for ever.
///
/// Cost: one allocation, at initialisation; debug builds also list the closures that a thread is in. An uncontended
/// closure is two inlined atomic operations. Source: `ilk_rwlock` in `<interlock/rwlock.h>`.
@frozen
public struct ReadWriteLock<Value: ~Copyable>: ~Copyable {
    @usableFromInline
    let storage: GuardedStorage<ilk__owned_rwlock, Value>

    /// A free lock that guards `initialValue`. Allocates.
    @inlinable
    public init(_ initialValue: consuming Value) {
        self.init(unwatched: initialValue)
        if ilk__facade_diagnoses() != 0 { ilk_rwlock_init(lock) }
    }

    /// A lock of the library itself, in which diagnosis has no interest.
    @inlinable
    package init(unwatched initialValue: consuming Value) {
        storage = GuardedStorage(initialValue)
    }

    /// A free lock that guards `initialValue`, with a name for misuse reports. Allocates.
    ///
    /// - Parameter name: Kept up to 63 bytes of UTF-8.
    public init(_ initialValue: consuming Value, name: String) {
        self.init(initialValue)
        setName(name, of: storage.base)
    }

    /// The name, or `nil`. Thread-safe; blocks briefly.
    public var name: String? {
        InterlockSync.name(of: storage.base)
    }

    @inlinable
    deinit {
        // Takes the name away; reports a lock still held by an unsafe view.
        ilk_rwlock_destroy(lock)
    }

    /// Runs `body` with the value while holding the lock for reading, beside other readers. Thread-safe; blocks while a
    /// writer holds the lock or waits for it; allocates in debug builds only, but
    /// that a thread gets reader slots, for which memory is mapped once for 32 threads.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Parameter body: Borrows the value; sees what earlier writers did.
    /// - Returns: What `body` returns: `sending`, so not reachable through the value.
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
    /// thread holds the lock; allocates in debug builds only, but
    /// that a thread gets reader slots, for which memory is mapped once for 32 threads.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Parameter body: Changes the value in place; sees what earlier holders did, and later holders see what it does.
    /// - Returns: What `body` returns: `sending`, so not reachable through the value.
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

    /// Runs `body` with the value while holding the lock for reading, if that needs no waiting. Thread-safe; never
    /// blocks.
    ///
    /// A waiting writer refuses the reader. A free lock on which no other call is at work is not refused.
    ///
    /// - Returns: `nil` if `body` did not run.
    @inlinable
    public borrowing func withReadLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        var section = ilk__read_section()
        guard ilk__read_section_try(lock, &section) else { return nil }
        return try endReading(section, "withReadLockIfAvailable", after: body)
    }

    /// Runs `body` with the value in place while holding the lock for writing, if the lock is free. Thread-safe; never
    /// blocks. A free lock on which no other call is at work is not refused.
    ///
    /// - Returns: `nil` if `body` did not run.
    @inlinable
    public borrowing func withWriteLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard ilk_rwlock_try_write_lock(lock) else { return nil }
        ilk__owned_begin(storage.lock)
        return try endWriting("withWriteLockIfAvailable", after: body)
    }

    /// Runs `body` with the lock held for reading, then unlocks.
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

    /// Runs `body` with the lock held for writing, then unlocks.
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

    // For `assert`: the closures of this lock that a thread is in, to report a thread that would wait for itself.

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

// Readers on several threads share the value, which must be Sendable. The rest is the C core's.
extension ReadWriteLock: @unchecked Sendable where Value: Sendable & ~Copyable {}

extension ReadWriteLock where Value == Void {
    /// A free lock for a resource that lives elsewhere. Allocates.
    @inlinable
    public init() {
        self.init(())
    }

    /// A free lock for a resource that lives elsewhere, with a name for misuse reports. Allocates.
    ///
    /// - Parameter name: Kept up to 63 bytes of UTF-8.
    public init(name: String) {
        self.init((), name: name)
    }
}
