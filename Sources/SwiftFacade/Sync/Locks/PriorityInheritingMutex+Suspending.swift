// SPDX-License-Identifier: Apache-2.0
//
// Suspending the task to wait for the inheriting mutex: a free one is taken at once, a taken one by an errand
// (MutexErrand.swift).

import CInterlock

/// Why a task did not get what its closure returns.
public enum TaskLockError<Failure: Error>: Error {
    /// The task was cancelled before it had the mutex; the closure has not run.
    case cancelled
    /// The closure ran and threw this error.
    case body(Failure)
}

extension TaskLockError: Equatable where Failure: Equatable {}

extension PriorityInheritingMutex where Value: ~Copyable {
    /// Runs `body` with the value in place while holding the mutex. Thread-safe; suspends the task while the mutex is
    /// taken.
    ///
    /// A free mutex is taken at once, and `body` runs on the task's thread. Otherwise a thread of the mutex waits and
    /// runs `body`, so no thread of the cooperative pool is held. Either way `body` has the task-local values of the
    /// task and sees its cancellation.
    ///
    /// The threads of a mutex that wait for tasks are one for each scheduling (policy, priority and nice value) of the
    /// tasks' threads: on the cooperative pool, where all are alike, one. It serves its tasks in their order, runs and
    /// waits as their threads are scheduled, and lends that to the holder. A task lends more than an ordinary thread
    /// only on an executor of its own, with real-time threads, unless those hand their scheduling to no thread they
    /// start (`SCHED_RESET_ON_FORK`, which rtkit sets). `TaskPriority`, which the kernel does not know, and later
    /// escalation are not lent. A task that runs `body` is raised by the waiters like any holder: `body` stays on one
    /// thread. The thread ends when it has the mutex and no task waits; what cancelled tasks lent, it lends until then.
    /// Where the system makes no thread, the task tries each millisecond for a thread and for the mutex, runs `body`
    /// itself, and lends nothing meanwhile.
    ///
    /// ```swift
    /// let total = try await levels.withLock { levels in
    ///     levels.append(level)
    ///     return levels.reduce(0, +)
    /// }
    /// ```
    ///
    /// - Precondition: The thread does not hold this mutex. No closure of this mutex can make this call, since closures
    ///   do not suspend.
    /// - Parameters:
    ///   - isolation: The task stays on its actor.
    ///   - body: May run on another thread, in a child task, so its captures are `sending`.
    /// - Returns: What `body` returns.
    /// - Throws: `CancellationError` if the task is cancelled before it has the mutex; `body` has not run, and its
    ///   captures are released at once. A cancelled task still takes a free mutex.
    /// - Complexity: O(1). The first task that waits makes a thread, some ten microseconds.
    @inlinable
    public borrowing func withLock<Output: ~Copyable>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: sending @escaping (inout sending Value) -> sending Output
    ) async throws(CancellationError) -> sending Output {
        // Without a limit the wait never times out.
        do throws(TaskLockError<Never>) {
            return try await suspendToLock(until: { nil }, body)!
        } catch {
            throw CancellationError()
        }
    }

    /// As ``withLock(isolation:_:)-(_,(Value)->Output)``, for a `body` that may throw.
    ///
    /// - Returns: What `body` returns.
    /// - Throws: ``TaskLockError/cancelled``, or ``TaskLockError/body(_:)`` with what `body` throws; the mutex is given
    ///   up first.
    @inlinable
    public borrowing func withLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: sending @escaping (inout sending Value) throws(Failure) -> sending Output
    ) async throws(TaskLockError<Failure>) -> sending Output {
        return try await suspendToLock(until: { nil }, body)!
    }

    /// As ``withLock(isolation:_:)-(_,(Value)->Output)``, waiting until `deadline` at most.
    ///
    /// A deadline that has passed still takes a free mutex. The limit is on the wait, not on `body`.
    ///
    /// - Returns: `nil` if the mutex did not become free in time.
    @inlinable
    public borrowing func withLock<Output: ~Copyable>(
        isolation: isolated (any Actor)? = #isolation,
        until deadline: ContinuousClock.Instant,
        _ body: sending @escaping (inout sending Value) -> sending Output
    ) async throws(CancellationError) -> sending Output? {
        do throws(TaskLockError<Never>) {
            return try await suspendToLock(until: { deadline }, body)
        } catch {
            throw CancellationError()
        }
    }

    /// As ``withLock(isolation:until:_:)-(_,_,(Value)->Output)``, for a `body` that may throw; the errors are those
    /// without a limit.
    @inlinable
    public borrowing func withLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        until deadline: ContinuousClock.Instant,
        _ body: sending @escaping (inout sending Value) throws(Failure) -> sending Output
    ) async throws(TaskLockError<Failure>) -> sending Output? {
        return try await suspendToLock(until: { deadline }, body)
    }

    /// As ``withLock(isolation:until:_:)-(_,_,(Value)->Output)``, for `timeout` at most.
    @inlinable
    public borrowing func withLock<Output: ~Copyable>(
        isolation: isolated (any Actor)? = #isolation,
        timeout: Duration,
        _ body: sending @escaping (inout sending Value) -> sending Output
    ) async throws(CancellationError) -> sending Output? {
        do throws(TaskLockError<Never>) {
            return try await suspendToLock(until: { moment(in: timeout) }, body)
        } catch {
            throw CancellationError()
        }
    }

    /// As ``withLock(isolation:timeout:_:)-(_,_,(Value)->Output)``, for a `body` that may throw; the errors are those
    /// without a limit.
    @inlinable
    public borrowing func withLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        timeout: Duration,
        _ body: sending @escaping (inout sending Value) throws(Failure) -> sending Output
    ) async throws(TaskLockError<Failure>) -> sending Output? {
        return try await suspendToLock(until: { moment(in: timeout) }, body)
    }

    /// Every form: at once if the mutex is free, without reading the clock; otherwise by an errand.
    @inlinable
    borrowing func suspendToLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        until deadline: () -> ContinuousClock.Instant?,
        _ body: sending @escaping (inout sending Value) throws(Failure) -> sending Output
    ) async throws(TaskLockError<Failure>) -> sending Output? {
        guard ilk_mutex_try_lock(storage.lock) else { return try await errand(body, until: deadline()) }
        do throws(Failure) {
            return try unlockAfter(body)
        } catch {
            throw .body(error)
        }
    }

    @usableFromInline
    borrowing func errand<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: sending @escaping (inout sending Value) throws(Failure) -> sending Output,
        until deadline: ContinuousClock.Instant?
    ) async throws(TaskLockError<Failure>) -> sending Output? {
        let errand = MutexErrand(storage, body)
        return try await errand.result(until: deadline)
    }
}
