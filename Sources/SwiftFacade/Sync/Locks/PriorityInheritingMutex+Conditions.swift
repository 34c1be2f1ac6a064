// SPDX-License-Identifier: Apache-2.0
//
// Waiting under the inheriting mutex until its value satisfies a predicate: the thread by Condition.swift, the task by
// TaskCondition.swift. A task takes the mutex for each judgement as its other forms do (+Suspending).

import CInterlock

extension PriorityInheritingMutex where Value: ~Copyable {
    /// Waits until `predicate` holds, then runs `body` with the value in place while still holding the mutex.
    /// Thread-safe; blocks meanwhile, without holding the mutex.
    ///
    /// Each thread that gives the mutex up judges the predicates of those that wait, and wakes one whose predicate
    /// holds, first come, first served. It takes the mutex like any other, and lends it priority meanwhile; while it
    /// waits for the predicate it lends none, because no thread holds what it waits for.
    ///
    /// - Precondition: The thread does not hold this mutex.
    /// - Parameters:
    ///   - predicate: Reads the value, and nothing else that changes. Short: any thread that gives the mutex up runs
    ///     it. Locking the mutex in it is reported and ends the process.
    ///   - body: Changes the value in place. `predicate` holds when it begins.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; the mutex is given up first.
    /// - Complexity: Giving the mutex up is O(*n*) in the predicates that wait. Calls `ilk_mutex_await_until`.
    @inlinable
    @available(*, noasync, message: "it blocks the thread; use `try await withLock`")
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        when predicate: @Sendable (borrowing Value) -> Bool,
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        ilk_mutex_lock(storage.lock)
        _ = holds(until: { forever }, predicate)
        return try unlockAfter(body)
    }

    /// Waits until `predicate` holds, until `deadline` at most, then runs `body` with the value in place while still
    /// holding the mutex. Thread-safe; blocks meanwhile, without holding the mutex.
    ///
    /// The limit is on the wait, not on `body`. A deadline that has passed still takes a free mutex, and judges once.
    ///
    /// - Precondition: The thread does not hold this mutex.
    /// - Parameter predicate: Reads the value, and nothing else that changes. Short: any thread that gives the mutex
    ///   up runs it.
    /// - Returns: What `body` returns, or `nil` if the predicate did not hold in time and `body` did not run.
    @inlinable
    @available(*, noasync, message: "it blocks the thread; use `try await withLock`")
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        when predicate: @Sendable (borrowing Value) -> Bool,
        until deadline: ContinuousClock.Instant,
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard lock(until: InterlockSync.deadline(at: deadline)),
            holds(until: { InterlockSync.deadline(at: deadline) }, predicate)
        else { return nil }
        return try unlockAfter(body)
    }

    /// Waits until `predicate` holds, then runs `body` with the value in place while still holding the mutex.
    /// Thread-safe; suspends the task meanwhile, without a thread.
    ///
    /// The mutex is taken for each judgement, and for `body`, as ``withLock(isolation:_:)`` takes it: where it is free
    /// on the task's thread, otherwise on a thread of the mutex, which lends the holder priority. Either way `body` has
    /// the task-local values of the task and sees its cancellation.
    ///
    /// - Precondition: The thread does not hold this mutex.
    /// - Parameters:
    ///   - isolation: The task stays on its actor.
    ///   - predicate: Reads the value, and nothing else that changes. Short: any thread that gives the mutex up runs
    ///     it.
    ///   - body: May run on another thread, in a child task, so its captures are `sending`.
    /// - Returns: What `body` returns.
    /// - Throws: `CancellationError` if the task is cancelled while it waits, once it has had the mutex; `body` has not
    ///   run, and another waiter has the wake-up. A cancelled task still takes a free mutex, and runs `body` where
    ///   the predicate holds at once. Otherwise what `body` throws; the mutex is given up first.
    @inlinable
    public borrowing func withLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        when predicate: @escaping @Sendable (borrowing Value) -> Bool,
        _ body: sending @escaping (inout sending Value) throws(Failure) -> sending Output
    ) async throws -> sending Output {
        // Without a limit the wait never times out.
        try await suspend(when: predicate, until: nil, body)!
    }

    /// Waits until `predicate` holds, until `deadline` at most, then runs `body` with the value in place while still
    /// holding the mutex. Thread-safe; suspends the task meanwhile, without a thread.
    ///
    /// A deadline that has passed still takes a free mutex, and judges once. The limit is on the wait: for the mutex
    /// until the predicate is first judged, and for the predicate.
    ///
    /// - Precondition: The thread does not hold this mutex.
    /// - Parameter predicate: Reads the value, and nothing else that changes. Short: any thread that gives the mutex
    ///   up runs it.
    /// - Returns: What `body` returns, or `nil` if the predicate did not hold in time and `body` did not run.
    /// - Throws: `CancellationError` if the task is cancelled while it waits, and `body` has not run; otherwise what
    ///   `body` throws.
    @inlinable
    public borrowing func withLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        when predicate: @escaping @Sendable (borrowing Value) -> Bool,
        until deadline: ContinuousClock.Instant,
        _ body: sending @escaping (inout sending Value) throws(Failure) -> sending Output
    ) async throws -> sending Output? {
        try await suspend(when: predicate, until: deadline, body)
    }

    // MARK: The waits

    /// With the mutex held: waits for the predicate. False: time is up, and the mutex is given up.
    @inlinable
    borrowing func holds(
        until deadline: () -> UInt64,
        _ predicate: @Sendable (borrowing Value) -> Bool
    ) -> Bool {
        nonisolated(unsafe) let (lock, value) = (storage.lock, storage.value)
        let holds = awaitCondition(
            until: deadline,
            { predicate(value.pointee) },
            by: { ilk_mutex_await_until(lock, $0, $1, $2) }
        )
        if !holds { ilk_mutex_unlock(lock) }
        return holds
    }

    @usableFromInline
    borrowing func suspend<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        when predicate: @escaping @Sendable (borrowing Value) -> Bool,
        until deadline: ContinuousClock.Instant?,
        _ body: sending @escaping (inout sending Value) throws(Failure) -> sending Output
    ) async throws -> sending Output? {
        nonisolated(unsafe) let value = storage.value
        let condition = TaskCondition(.mutex(storage.lock), writes: true, until: deadline) {
            predicate(value.pointee)
        }
        let conditional = ConditionalBody(condition, body)
        repeat {
            let limit = condition.isAmongWaiters ? nil : deadline
            do {
                guard
                    let hasRun = try await suspendToLock(
                        until: { limit },
                        { value in conditional.runs(on: &value) }
                    )
                else { return nil }
                if hasRun { return try conditional.result() }
            } catch  where !conditional.hasRun {
                // Cancelled before it had the mutex, which leaving needs.
                await storage.leave(condition)
                throw error
            }
        } while try await condition.wakesAgain()
        return nil
    }
}

extension MutexStorage where Value: ~Copyable {
    /// Has the task leave the waiters, cancelled or not.
    fileprivate func leave(_ condition: TaskCondition) async {
        guard condition.isAmongWaiters else { return }
        // A task of its own is not cancelled.
        await Task.detached {
            if ilk_mutex_try_lock(self.lock) {
                condition.leave()
                ilk_mutex_unlock(self.lock)
            } else {
                _ = try? await MutexErrand(self, { _ in condition.leave() }).result(until: nil)
            }
        }.value
    }
}

/// A closure that runs once its condition holds, tried with the mutex held.
// The task's, but for the thread's while that has the mutex for it, as a MutexErrand's fields.
private final class ConditionalBody<Value: ~Copyable, Output: ~Copyable, Failure: Error>: @unchecked Sendable
{
    typealias Body = (inout sending Value) throws(Failure) -> sending Output

    private let condition: TaskCondition
    private var body: Body?
    private var returned: Swift.Result<Output, Failure>?

    init(_ condition: TaskCondition, _ body: sending @escaping Body) {
        self.condition = condition
        self.body = body
    }

    var hasRun: Bool { body == nil }

    /// With the mutex held.
    func runs(on value: inout sending Value) -> Bool {
        guard condition.judge() else { return false }
        let body = body.take()!
        do throws(Failure) {
            returned = .success(try body(&value))
        } catch {
            returned = .failure(error)
        }
        return true
    }

    /// What the closure returned. Once.
    func result() throws(Failure) -> sending Output {
        // The task alone receives it.
        nonisolated(unsafe) let returned = returned.take()!
        switch consume returned {
        case .success(let output): return output
        case .failure(let error): throw error
        }
    }
}
