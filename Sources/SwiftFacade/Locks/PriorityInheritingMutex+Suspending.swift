// SPDX-License-Identifier: Apache-2.0
//
// Waiting for the inheriting mutex by suspending the task: a free mutex is taken at once, a taken one by an errand
// (MutexErrand.swift).

import CInterlock

/// Why a task was not given what its closure returns.
public enum TaskLockError<Failure: Error>: Error {
    /// The task was cancelled before the lock was to be had; the closure has not run.
    case cancelled
    /// The closure ran and threw this.
    case body(Failure)
}

extension TaskLockError: Equatable where Failure: Equatable {}

extension PriorityInheritingMutex where Value: ~Copyable {
    /// Runs `body` with the value in place while holding the mutex. Suspends the task while another thread holds it.
    ///
    /// A free mutex is taken at once, and `body` runs where the task does. Otherwise a thread made for this call waits
    /// in the task's place and runs `body` there: no thread of the cooperative pool is held. Each task that waits
    /// costs a thread for as long as it waits; where there may be very many, let them through a ``FIFOSemaphore``
    /// first.
    ///
    /// Where the system makes no thread the task waits without: it tries again each millisecond, for a thread as
    /// for the mutex, runs `body` itself, and lends nothing meanwhile.
    ///
    /// What is lent: that thread starts with the scheduling policy, priority and nice value of the thread the task
    /// runs on when it calls, and by these the holder is raised while it waits. On the cooperative pool these are
    /// ordinary ones, so that a task lends more only on an executor of its own, with threads of real-time priority.
    /// What is not: the `TaskPriority`, which the kernel does not know, and by which nobody is raised; nor what the
    /// task is escalated to while it waits. A task that runs `body` is raised by the waiters like any holder,
    /// because `body` is on one thread from its beginning to its end.
    ///
    /// ```swift
    /// let total = try await levels.withLock { levels in
    ///     levels.append(level)
    ///     return levels.reduce(0, +)
    /// }
    /// ```
    ///
    /// - Precondition: The thread does not hold this mutex, which inside another closure of the same mutex cannot be:
    ///   closures do not suspend.
    /// - Parameters:
    ///   - isolation: Where the task goes on; it does not leave its actor to ask.
    ///   - body: May run on another thread, and so takes along (`sending`) what it captures.
    /// - Returns: What `body` returns.
    /// - Throws: `CancellationError` if the task is cancelled before the mutex was to be had; `body` has not run then,
    ///   and what it captured is released at once. A cancelled task still takes a free mutex.
    /// - Complexity: O(1) if the mutex is free; otherwise a thread is created, some ten microseconds.
    @inlinable
    public borrowing func withLock<Output: ~Copyable>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: sending @escaping (inout sending Value) -> sending Output
    ) async throws(CancellationError) -> sending Output {
        // Without a limit it never is out of time.
        do throws(TaskLockError<Never>) {
            return try await suspendToLock(until: { forever }, body)!
        } catch {
            throw CancellationError()
        }
    }

    /// Runs `body`, which may throw, as ``withLock(isolation:_:)-(_,(Value)->Output)`` does.
    ///
    /// - Returns: What `body` returns.
    /// - Throws: ``TaskLockError/cancelled``, or ``TaskLockError/body(_:)`` with what `body` throws; the mutex is given
    ///   up first.
    @inlinable
    public borrowing func withLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: sending @escaping (inout sending Value) throws(Failure) -> sending Output
    ) async throws(TaskLockError<Failure>) -> sending Output {
        // Without a limit it never is out of time.
        return try await suspendToLock(until: { forever }, body)!
    }

    /// Runs `body` as ``withLock(isolation:_:)-(_,(Value)->Output)`` does, waiting for the mutex until `deadline` at
    /// most.
    ///
    /// A deadline that has passed still takes a free mutex. The limit is on the wait, not on `body`.
    ///
    /// - Returns: What `body` returns, or `nil` if the mutex was not to be had in time.
    /// - Throws: `CancellationError` if the task is cancelled first.
    @inlinable
    public borrowing func withLock<Output: ~Copyable>(
        isolation: isolated (any Actor)? = #isolation,
        until deadline: ContinuousClock.Instant,
        _ body: sending @escaping (inout sending Value) -> sending Output
    ) async throws(CancellationError) -> sending Output? {
        do throws(TaskLockError<Never>) {
            return try await suspendToLock(until: { Interlock.deadline(at: deadline) }, body)
        } catch {
            throw CancellationError()
        }
    }

    /// Runs `body`, which may throw, as ``withLock(isolation:until:_:)-(_,_,(Value)->Output)`` does.
    ///
    /// - Returns: What `body` returns, or `nil` if the mutex was not to be had in time.
    /// - Throws: ``TaskLockError/cancelled``, or ``TaskLockError/body(_:)`` with what `body` throws; the mutex is given
    ///   up first.
    @inlinable
    public borrowing func withLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        until deadline: ContinuousClock.Instant,
        _ body: sending @escaping (inout sending Value) throws(Failure) -> sending Output
    ) async throws(TaskLockError<Failure>) -> sending Output? {
        return try await suspendToLock(until: { Interlock.deadline(at: deadline) }, body)
    }

    /// Runs `body` as ``withLock(isolation:_:)-(_,(Value)->Output)`` does, waiting for the mutex for `timeout` at most.
    ///
    /// - Returns: What `body` returns, or `nil` if the mutex was not to be had in time.
    /// - Throws: `CancellationError` if the task is cancelled first.
    @inlinable
    public borrowing func withLock<Output: ~Copyable>(
        isolation: isolated (any Actor)? = #isolation,
        timeout: Duration,
        _ body: sending @escaping (inout sending Value) -> sending Output
    ) async throws(CancellationError) -> sending Output? {
        do throws(TaskLockError<Never>) {
            return try await suspendToLock(until: { Interlock.deadline(in: timeout) }, body)
        } catch {
            throw CancellationError()
        }
    }

    /// Runs `body`, which may throw, as ``withLock(isolation:timeout:_:)-(_,_,(Value)->Output)`` does.
    ///
    /// - Returns: What `body` returns, or `nil` if the mutex was not to be had in time.
    /// - Throws: ``TaskLockError/cancelled``, or ``TaskLockError/body(_:)`` with what `body` throws; the mutex is given
    ///   up first.
    @inlinable
    public borrowing func withLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        timeout: Duration,
        _ body: sending @escaping (inout sending Value) throws(Failure) -> sending Output
    ) async throws(TaskLockError<Failure>) -> sending Output? {
        return try await suspendToLock(until: { Interlock.deadline(in: timeout) }, body)
    }

    /// All of them: at once if the mutex is free, without reading the clock; otherwise by an errand.
    @inlinable
    borrowing func suspendToLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        until deadline: () -> UInt64,
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
        until deadline: UInt64
    ) async throws(TaskLockError<Failure>) -> sending Output? {
        let errand = MutexErrand(storage, body)
        return try await errand.result(until: deadline)
    }
}
