// SPDX-License-Identifier: Apache-2.0
//
// Suspending the task to wait for the inheriting mutex: a free one is taken at once, a taken one by an errand
// (MutexErrand.swift). `Failure` is not in the answer: without it Swift 6.3 crashes on a closure with a typed error
// that returns nothing.

import CInterlock

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
    ///   captures are released at once. A cancelled task still takes a free mutex. Otherwise what `body` throws; the
    ///   mutex is given up first.
    /// - Complexity: O(1). The first task that waits makes a thread, some ten microseconds.
    @inlinable
    public borrowing func withLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: sending @escaping (inout sending Value) throws(Failure) -> sending Output
    ) async throws -> sending Output {
        // Without a limit the wait never times out.
        try await suspendToLock(until: { nil }, body)!
    }

    /// Runs `body` with the value in place while holding the mutex. Thread-safe; suspends the task while the mutex is
    /// taken, until `deadline` at most.
    ///
    /// A deadline that has passed still takes a free mutex. The limit is on the wait, not on `body`.
    ///
    /// - Precondition: The thread does not hold this mutex.
    /// - Returns: What `body` returns, or `nil` if the mutex did not become free in time and `body` did not run.
    /// - Throws: `CancellationError` if the task is cancelled before it has the mutex, and `body` has not run;
    ///   otherwise what `body` throws.
    @inlinable
    public borrowing func withLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        until deadline: ContinuousClock.Instant,
        _ body: sending @escaping (inout sending Value) throws(Failure) -> sending Output
    ) async throws -> sending Output? {
        try await suspendToLock(until: { deadline }, body)
    }

    /// Runs `body` with the value in place while holding the mutex. Thread-safe; suspends the task while the mutex is
    /// taken, for `timeout` at most.
    ///
    /// - Precondition: The thread does not hold this mutex.
    /// - Returns: What `body` returns, or `nil` if the mutex did not become free in time and `body` did not run.
    /// - Throws: `CancellationError` if the task is cancelled before it has the mutex, and `body` has not run;
    ///   otherwise what `body` throws.
    @inlinable
    public borrowing func withLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        timeout: Duration,
        _ body: sending @escaping (inout sending Value) throws(Failure) -> sending Output
    ) async throws -> sending Output? {
        try await suspendToLock(until: { moment(in: timeout) }, body)
    }

    /// Every form: at once if the mutex is free, without reading the clock; otherwise by an errand.
    @inlinable
    borrowing func suspendToLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        until deadline: () -> ContinuousClock.Instant?,
        _ body: sending @escaping (inout sending Value) throws(Failure) -> sending Output
    ) async throws -> sending Output? {
        guard ilk_mutex_try_lock(storage.lock) else { return try await errand(body, until: deadline()) }
        return try unlockAfter(body)
    }

    @usableFromInline
    borrowing func errand<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: sending @escaping (inout sending Value) throws(Failure) -> sending Output,
        until deadline: ContinuousClock.Instant?
    ) async throws -> sending Output? {
        let errand = MutexErrand(storage, body)
        return try await errand.result(until: deadline)
    }
}
