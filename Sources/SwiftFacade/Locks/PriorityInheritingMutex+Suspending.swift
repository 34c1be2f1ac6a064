// SPDX-License-Identifier: Apache-2.0
//
// Waiting for the inheriting mutex by suspending the task. What the kernel lends goes from a waiting thread to a
// holding one, so somebody must wait in the kernel; where the task's own thread must not, a thread made for the call
// does, and runs the closure, because a mutex is given up by the thread that took it.
//
//   task                          errand                         thread
//   finds the mutex taken
//   suspends                 ──▶  waiting                   ──▶  made; waits in the mutex
//                                 claimed                   ◀──  has it
//                                                                runs the closure, gives the mutex up
//   goes on, with the result ◀──  over                      ◀──  ends
//
// Cancellation takes the errand from waiting to over: the task goes on and the closure is released at once. The thread
// cannot be called back from where it waits; it gets the mutex in its turn, finds that nothing is wanted, gives it up
// and ends. Until then it goes on lending, and keeps the mutex alive.

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
    /// task is escalated to while it waits. A task that runs `body` is raised by those who wait like any holder,
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

    /// Runs `body` as ``withLock(isolation:_:)-(_,(Value)->Output)`` does, waiting for the mutex until `deadline` at most.
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
        if ilk_mutex_try_lock(storage.lock) {
            defer { ilk_mutex_unlock(storage.lock) }
            let value = storage.value
            do {
                return try body(&value.pointee)
            } catch {
                throw .body(error)
            }
        }
        return try await errand(body, until: deadline())
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

/// One closure on its way to a mutex that is taken, and back.
// The fields change under `state`, or by the one thread that has claimed the errand.
private final class MutexErrand<Value: ~Copyable, Output: ~Copyable, Failure: Error>: @unchecked Sendable {
    typealias Body = (inout sending Value) throws(Failure) -> sending Output

    private enum State {
        case waiting
        /// The mutex is had: the closure runs, whatever happens.
        case claimed
        case over(WaitOutcome)
    }

    private let storage: SharedStorage<ilk_mutex, Value>
    private let state = VisibleMutex(State.waiting)
    private var body: Body?
    private var continuation: CheckedContinuation<WaitOutcome?, Never>?
    private var outcome: Swift.Result<Output, Failure>?

    init(_ storage: SharedStorage<ilk_mutex, Value>, _ body: sending @escaping Body) {
        self.storage = storage
        self.body = body
    }

    /// What the closure returns, or `nil` if time ran out first. Once.
    func result(
        isolation: isolated (any Actor)? = #isolation,
        until deadline: UInt64
    ) async throws(TaskLockError<Failure>) -> sending Output? {
        var ending = await lockOnThread(until: deadline)
        while ending == nil {
            ending = await lockHere(until: deadline)
            if ending == nil { ending = await lockOnThread(until: deadline) }
        }
        switch ending! {
        case .timedOut: return nil
        case .cancelled: throw .cancelled
        case .granted:
            // Given to this task alone. Under the lock, for the reason given in WaitingLine.
            nonisolated(unsafe) let outcome = state.withLock { _ in self.outcome.take()! }
            switch consume outcome {
            case .success(let output): return output
            case .failure(let error): throw .body(error)
            }
        }
    }

    /// Has a thread take the mutex and run the closure; `nil` where there is no thread to be had.
    private func lockOnThread(
        isolation: isolated (any Actor)? = #isolation,
        until deadline: UInt64
    ) async -> WaitOutcome? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if let early = begin(continuation) { return continuation.resume(returning: early) }
                do throws(ThreadUnavailable) {
                    // The thread takes its scheduling from this one, which is the task's.
                    try OwnThread.start(named: "interlock.mutex") { self.run(until: deadline) }
                } catch {
                    takeContinuation()?.resume(returning: nil)
                }
            }
        } onCancel: {
            giveUp(.cancelled)
        }
    }

    /// Takes the mutex on the task's own thread if it is free by now, and waits a millisecond if it is not.
    private func lockHere(
        isolation: isolated (any Actor)? = #isolation,
        until deadline: UInt64
    ) async -> WaitOutcome? {
        if ilk_mutex_try_lock(storage.lock) {
            let body = claim()
            if let body { outcome = use(body) }
            ilk_mutex_unlock(storage.lock)
            // Otherwise it was cancelled in between, as the next attempt finds.
            return body == nil ? nil : .granted
        }
        // The time it is.
        if deadline != forever, ilk_deadline_in_ns(0) >= deadline {
            giveUp(.timedOut)
            return .timedOut
        }
        // Cancelled, it ends at once, and the next attempt finds why.
        try? await Task.sleep(for: .milliseconds(1))
        return nil
    }

    /// Remembers how to wake the task; answers how the wait ended if it has already.
    private func begin(_ continuation: CheckedContinuation<WaitOutcome?, Never>) -> WaitOutcome? {
        state.withLock { state in
            if case .over(let early) = state { return early }
            self.continuation = continuation
            return nil
        }
    }

    /// The continuation of a wait that has not ended; it may begin anew.
    private func takeContinuation() -> CheckedContinuation<WaitOutcome?, Never>? {
        state.withLock { state in
            guard case .waiting = state else { return nil }
            return self.continuation.take()
        }
    }

    /// The thread's work.
    private func run(until deadline: UInt64) {
        guard ilk_mutex_lock_until(storage.lock, deadline) == ILK_OK else {
            giveUp(.timedOut)
            return
        }
        // Released at the end of its braces, before the task goes on.
        let isWanted: Bool
        if let body = claim() {
            outcome = use(body)
            isWanted = true
        } else {
            isWanted = false
        }
        ilk_mutex_unlock(storage.lock)
        if isWanted { finish() }
    }

    /// Runs the closure.
    private func use(_ body: Body) -> Swift.Result<Output, Failure> {
        let value = storage.value
        do throws(Failure) {
            return .success(try body(&value.pointee))
        } catch {
            return .failure(error)
        }
    }

    private func claim() -> Body? {
        state.withLock { state in
            guard case .waiting = state else { return nil }
            state = .claimed
            return self.body.take()
        }
    }

    /// Lets the task go on.
    private func finish() {
        let continuation = state.withLock { state in
            state = .over(.granted)
            return self.continuation.take()
        }
        continuation?.resume(returning: .granted)
    }

    /// Ends the wait without the mutex, unless it has ended.
    private func giveUp(_ outcome: WaitOutcome) {
        let (continuation, body) = state.withLock {
            state -> (CheckedContinuation<WaitOutcome?, Never>?, Body?) in
            guard case .waiting = state else { return (nil, nil) }
            state = .over(outcome)
            return (self.continuation.take(), self.body.take())
        }
        // What it captured is released before the task goes on.
        _ = consume body
        continuation?.resume(returning: outcome)
    }
}
