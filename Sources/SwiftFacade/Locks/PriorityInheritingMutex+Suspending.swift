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
    /// A free mutex is taken at once, and `body` runs on the task's thread. Otherwise a thread made for this call waits
    /// and runs `body`, so no thread of the cooperative pool is held. Each waiting task costs a thread: admit very many
    /// through a ``FIFOSemaphore``. Where the system makes no thread, the task tries each millisecond for a thread and
    /// for the mutex, runs `body` itself, and lends nothing meanwhile.
    ///
    /// The thread starts with the scheduling policy, priority and nice value of the calling thread, and lends them to
    /// the holder while it waits. On the cooperative pool they are ordinary ones: a task lends more only on an executor
    /// of its own, with real-time threads. `TaskPriority`, which the kernel does not know, and later escalation are not
    /// lent. A task that runs `body` is raised by the waiters like any holder: `body` stays on one thread.
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
    ///   - body: May run on another thread, so its captures are `sending`.
    /// - Returns: What `body` returns.
    /// - Throws: `CancellationError` if the task is cancelled before it has the mutex; `body` has not run, and its
    ///   captures are released at once. A cancelled task still takes a free mutex.
    /// - Complexity: O(1) if the mutex is free; otherwise making a thread, some ten microseconds.
    @inlinable
    public borrowing func withLock<Output: ~Copyable>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: sending @escaping (inout sending Value) -> sending Output
    ) async throws(CancellationError) -> sending Output {
        // Without a limit the wait never times out.
        do throws(TaskLockError<Never>) {
            return try await suspendToLock(until: { forever }, body)!
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
        return try await suspendToLock(until: { forever }, body)!
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
            return try await suspendToLock(until: { Interlock.deadline(at: deadline) }, body)
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
        return try await suspendToLock(until: { Interlock.deadline(at: deadline) }, body)
    }

    /// As ``withLock(isolation:until:_:)-(_,_,(Value)->Output)``, for `timeout` at most.
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

    /// As ``withLock(isolation:timeout:_:)-(_,_,(Value)->Output)``, for a `body` that may throw; the errors are those
    /// without a limit.
    @inlinable
    public borrowing func withLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        timeout: Duration,
        _ body: sending @escaping (inout sending Value) throws(Failure) -> sending Output
    ) async throws(TaskLockError<Failure>) -> sending Output? {
        return try await suspendToLock(until: { Interlock.deadline(in: timeout) }, body)
    }

    /// Every form: at once if the mutex is free, without reading the clock; otherwise by an errand.
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
