// SPDX-License-Identifier: Apache-2.0
//
// Waiting under a reader–writer lock until its value satisfies a predicate: the thread by Condition.swift, the task by
// TaskCondition.swift.
//
// A task's section is a function of its own, which is not inlined: within one async function the compiler may keep the
// thread's identity, by which the lock knows its owner, across a suspension.

import CInterlock

extension ReadWriteLock where Value: ~Copyable {
    // MARK: Writing

    /// Waits until `predicate` holds, then runs `body` with the value in place while still holding the lock for
    /// writing, alone. Thread-safe; blocks meanwhile, without holding the lock.
    ///
    /// ```swift
    /// accounts.withWriteLock(when: { $0[from, default: 0] >= amount }) { $0[from, default: 0] -= amount }
    /// ```
    ///
    /// Nothing has to be signalled: each thread that gives the lock up after writing judges the predicates of those
    /// that wait, and wakes one only where its predicate holds. Writers are woken first come, first served, one at a
    /// time. A woken thread takes the lock like any other; where another came first and undid the condition, it waits
    /// again and keeps its place.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Parameters:
    ///   - predicate: Reads the value, and nothing else that changes. Short: any thread that gives the lock up runs it.
    ///     A call of the lock in it that would wait without limit is reported and ends the process.
    ///   - body: Changes the value in place. `predicate` holds when it begins; it sees what earlier holders did, and
    ///     later holders see what it does.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; the lock is given up first.
    /// - Complexity: Giving the lock up after writing is O(*n*) in the predicates that wait, and costs nothing while
    ///   none does. Calls `ilk_rwlock_write_await_until`.
    @inlinable
    @available(*, noasync, message: "it blocks the thread; use `try await withWriteLock`")
    public borrowing func withWriteLock<Result: ~Copyable, Failure: Error>(
        when predicate: @Sendable (borrowing Value) -> Bool,
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        assert(isOutside("withWriteLock"))
        ilk__owned_write_lock(storage.lock, "ReadWriteLock.withWriteLock")
        _ = holdsForWriting(until: { forever }, predicate)
        return try endWriting("withWriteLock", after: body)
    }

    /// Waits until `predicate` holds, until `deadline` at most, then runs `body` with the value in place while still
    /// holding the lock for writing, alone. Thread-safe; blocks meanwhile, without holding the lock.
    ///
    /// The limit is on the wait, not on `body`. A deadline that has passed still takes a free lock, and judges once. A
    /// wait that timed out leaves nothing behind, and has taken no other's wake-up.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Parameter predicate: Reads the value, and nothing else that changes. Short: any thread that gives the lock up
    ///   runs it.
    /// - Returns: What `body` returns, or `nil` if the predicate did not hold in time and `body` did not run.
    @inlinable
    @available(*, noasync, message: "it blocks the thread; use `try await withWriteLock`")
    public borrowing func withWriteLock<Result: ~Copyable, Failure: Error>(
        when predicate: @Sendable (borrowing Value) -> Bool,
        until deadline: ContinuousClock.Instant,
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard takeForWriting(waitingUntil: { InterlockSync.deadline(at: deadline) }),
            holdsForWriting(until: { InterlockSync.deadline(at: deadline) }, predicate)
        else { return nil }
        return try endWriting("withWriteLock", after: body)
    }

    /// Waits until `predicate` holds, then runs `body` with the value in place while still holding the lock for
    /// writing, alone. Thread-safe; suspends the task meanwhile, without a thread.
    ///
    /// Tasks and threads that wait under the lock are woken in one order; the first thread behind a woken task is woken
    /// too, and may come first. To take the lock the task blocks its thread, as in the other forms. While a woken task
    /// waits for its actor, other tasks that would write wait too, until another thread has written.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Parameters:
    ///   - isolation: The task stays on its actor, and `body` runs there.
    ///   - predicate: Reads the value, and nothing else that changes. Short: any thread that gives the lock up runs it.
    ///   - body: Changes the value in place. `predicate` holds when it begins.
    /// - Returns: What `body` returns.
    /// - Throws: `CancellationError` if the task is cancelled while it waits, once it has had the lock; `body` has not
    ///   run, and another waiter has the wake-up. Where the predicate holds at once, `body` of a cancelled task runs.
    ///   Otherwise what `body` throws; the lock is given up first.
    @inlinable
    public borrowing func withWriteLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        when predicate: @escaping @Sendable (borrowing Value) -> Bool,
        _ body: (inout Value) throws(Failure) -> sending Output
    ) async throws -> sending Output {
        // Without a limit the wait never times out.
        try await suspendToWrite(when: predicate, until: nil, body)!
    }

    /// Waits until `predicate` holds, until `deadline` at most, then runs `body` with the value in place while still
    /// holding the lock for writing, alone. Thread-safe; suspends the task meanwhile, without a thread.
    ///
    /// The limit is on the wait for the predicate. A deadline that has passed judges once.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Parameter predicate: Reads the value, and nothing else that changes. Short: any thread that gives the lock up
    ///   runs it.
    /// - Returns: What `body` returns, or `nil` if the predicate did not hold in time and `body` did not run.
    /// - Throws: `CancellationError` if the task is cancelled while it waits, and `body` has not run; otherwise what
    ///   `body` throws.
    @inlinable
    public borrowing func withWriteLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        when predicate: @escaping @Sendable (borrowing Value) -> Bool,
        until deadline: ContinuousClock.Instant,
        _ body: (inout Value) throws(Failure) -> sending Output
    ) async throws -> sending Output? {
        try await suspendToWrite(when: predicate, until: deadline, body)
    }

    // MARK: Reading

    /// Waits until `predicate` holds, then runs `body` with the value while still holding the lock for reading, beside
    /// other readers. Thread-safe; blocks meanwhile, without holding the lock.
    ///
    /// A writer that gives the lock up wakes all readers whose predicates hold.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Parameters:
    ///   - predicate: Reads the value, and nothing else that changes. Short: any thread that gives the lock up runs it.
    ///   - body: Borrows the value. `predicate` holds throughout; it sees what earlier writers did.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; the lock is given up first.
    /// - Complexity: That of ``withWriteLock(when:_:)``. Calls `ilk_rwlock_read_await_until`.
    @inlinable
    @available(*, noasync, message: "it blocks the thread; use `try await withReadLock`")
    public borrowing func withReadLock<Result: ~Copyable, Failure: Error>(
        when predicate: @Sendable (borrowing Value) -> Bool,
        _ body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        assert(isOutside("withReadLock"))
        var section = ilk__owned_read_lock(storage.lock, "ReadWriteLock.withReadLock")
        _ = holdsForReading(&section, until: { forever }, predicate)
        return try endReading(section, "withReadLock", after: body)
    }

    /// Waits until `predicate` holds, until `deadline` at most, then runs `body` with the value while still holding the
    /// lock for reading, beside other readers. Thread-safe; blocks meanwhile, without holding the lock.
    ///
    /// The limit is on the wait, not on `body`. A deadline that has passed still takes a lock that needs no waiting,
    /// and judges once. A wait that timed out leaves nothing behind.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Parameter predicate: Reads the value, and nothing else that changes. Short: any thread that gives the lock up
    ///   runs it.
    /// - Returns: What `body` returns, or `nil` if the predicate did not hold in time and `body` did not run.
    @inlinable
    @available(*, noasync, message: "it blocks the thread; use `try await withReadLock`")
    public borrowing func withReadLock<Result: ~Copyable, Failure: Error>(
        when predicate: @Sendable (borrowing Value) -> Bool,
        until deadline: ContinuousClock.Instant,
        _ body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        var section = ilk__read_section()
        guard takeForReading(&section, waitingUntil: { InterlockSync.deadline(at: deadline) }),
            holdsForReading(&section, until: { InterlockSync.deadline(at: deadline) }, predicate)
        else { return nil }
        return try endReading(section, "withReadLock", after: body)
    }

    /// Waits until `predicate` holds, then runs `body` with the value while still holding the lock for reading, beside
    /// other readers. Thread-safe; suspends the task meanwhile, without a thread.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Parameters:
    ///   - isolation: The task stays on its actor, and `body` runs there.
    ///   - predicate: Reads the value, and nothing else that changes. Short: any thread that gives the lock up runs it.
    ///   - body: Borrows the value. `predicate` holds throughout.
    /// - Returns: What `body` returns.
    /// - Throws: `CancellationError` if the task is cancelled while it waits; `body` has not run. Where the predicate
    ///   holds at once, `body` of a cancelled task runs. Otherwise what `body` throws; the lock is given up first.
    @inlinable
    public borrowing func withReadLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        when predicate: @escaping @Sendable (borrowing Value) -> Bool,
        _ body: (borrowing Value) throws(Failure) -> sending Output
    ) async throws -> sending Output {
        // Without a limit the wait never times out.
        try await suspendToRead(when: predicate, until: nil, body)!
    }

    /// Waits until `predicate` holds, until `deadline` at most, then runs `body` with the value while still holding the
    /// lock for reading, beside other readers. Thread-safe; suspends the task meanwhile, without a thread.
    ///
    /// The limit is on the wait for the predicate. A deadline that has passed judges once.
    ///
    /// - Precondition: The thread does not hold this lock.
    /// - Parameter predicate: Reads the value, and nothing else that changes. Short: any thread that gives the lock up
    ///   runs it.
    /// - Returns: What `body` returns, or `nil` if the predicate did not hold in time and `body` did not run.
    /// - Throws: `CancellationError` if the task is cancelled while it waits, and `body` has not run; otherwise what
    ///   `body` throws.
    @inlinable
    public borrowing func withReadLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        when predicate: @escaping @Sendable (borrowing Value) -> Bool,
        until deadline: ContinuousClock.Instant,
        _ body: (borrowing Value) throws(Failure) -> sending Output
    ) async throws -> sending Output? {
        try await suspendToRead(when: predicate, until: deadline, body)
    }
}

// MARK: The waits

extension ReadWriteLock where Value: ~Copyable {
    /// Runs a predicate: a call of the lock in it that would wait without limit is reported, in every build.
    @inlinable
    static func judge(
        _ base: UnsafeRawPointer,
        _ lock: UnsafePointer<ilk_rwlock>,
        _ call: StaticString,
        _ predicate: () -> Bool
    ) -> Bool {
        let outer = ilk__judging_begin(lock)
        defer { ilk__judging_end(outer) }
        return ThreadAccess.judge(base, call, type: Self.self as Any, predicate)
    }

    /// With the lock held for writing: waits for the predicate. False: time is up, and the lock is given up.
    @inlinable
    borrowing func holdsForWriting(
        until deadline: () -> UInt64,
        _ predicate: @Sendable (borrowing Value) -> Bool
    ) -> Bool {
        nonisolated(unsafe) let (base, value, owned, lock) = (storage.base, storage.value, storage.lock, lock)
        let holds = awaitCondition(
            until: deadline,
            { Self.judge(base, lock, "withWriteLock") { predicate(value.pointee) } },
            by: { ilk__owned_write_await_until(owned, $0, $1, $2) }
        )
        if !holds { ilk__owned_write_unlock(owned) }
        return holds
    }

    /// With the lock held for reading, as above.
    @inlinable
    borrowing func holdsForReading(
        _ section: inout ilk__read_section,
        until deadline: () -> UInt64,
        _ predicate: @Sendable (borrowing Value) -> Bool
    ) -> Bool {
        nonisolated(unsafe) let (base, value, lock) = (storage.base, storage.value, lock)
        let holds = awaitCondition(
            until: deadline,
            { Self.judge(base, lock, "withReadLock") { predicate(value.pointee) } },
            by: { ilk__read_section_await_until(lock, &section, $0, $1, $2) }
        )
        if !holds { ilk__read_section_end(lock, section) }
        return holds
    }

    @inlinable
    borrowing func suspendToWrite<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        when predicate: @escaping @Sendable (borrowing Value) -> Bool,
        until deadline: ContinuousClock.Instant?,
        _ body: (inout Value) throws(Failure) -> sending Output
    ) async throws -> sending Output? {
        nonisolated(unsafe) let (base, value, lock) = (storage.base, storage.value, lock)
        let condition = TaskCondition(.rwlock(lock), writes: true, until: deadline) {
            Self.judge(base, lock, "withWriteLock") { predicate(value.pointee) }
        }
        repeat {
            if let output = try writeIf(condition, body) { return output }
        } while try await condition.wakesAgain()
        return nil
    }

    @inlinable @inline(never)
    borrowing func writeIf<Output: ~Copyable, Failure: Error>(
        _ condition: TaskCondition,
        _ body: (inout Value) throws(Failure) -> sending Output
    ) throws(Failure) -> sending Output? {
        assert(isOutside("withWriteLock"))
        ilk__owned_write_lock(storage.lock, "ReadWriteLock.withWriteLock")
        guard condition.judge() else {
            ilk__owned_write_unlock(storage.lock)
            return nil
        }
        return try endWriting("withWriteLock", after: body)
    }

    @inlinable
    borrowing func suspendToRead<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        when predicate: @escaping @Sendable (borrowing Value) -> Bool,
        until deadline: ContinuousClock.Instant?,
        _ body: (borrowing Value) throws(Failure) -> sending Output
    ) async throws -> sending Output? {
        nonisolated(unsafe) let (base, value, lock) = (storage.base, storage.value, lock)
        let condition = TaskCondition(.rwlock(lock), writes: false, until: deadline) {
            Self.judge(base, lock, "withReadLock") { predicate(value.pointee) }
        }
        repeat {
            if let output = try readIf(condition, body) { return output }
        } while try await condition.wakesAgain()
        return nil
    }

    @inlinable @inline(never)
    borrowing func readIf<Output: ~Copyable, Failure: Error>(
        _ condition: TaskCondition,
        _ body: (borrowing Value) throws(Failure) -> sending Output
    ) throws(Failure) -> sending Output? {
        assert(isOutside("withReadLock"))
        let section = ilk__owned_read_lock(storage.lock, "ReadWriteLock.withReadLock")
        guard condition.judge() else {
            ilk__read_section_end(lock, section)
            return nil
        }
        return try endReading(section, "withReadLock", after: body)
    }
}
