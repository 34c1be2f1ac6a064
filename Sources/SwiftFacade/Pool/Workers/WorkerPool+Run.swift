// SPDX-License-Identifier: Apache-2.0
//
// Work with an outcome: the caller blocks or suspends. Limits and cancellation are about the beginning: work that has
// begun is waited for, so no outcome is lost and nothing runs unobserved.

import InterlockSync

extension WorkerPool {
    // MARK: Blocking

    // In async code, too, a closure that does not suspend fits this overload; disfavoured, it is not chosen there,
    // except at a file's top level (Swift 6.3).
    /// Runs `work` on a thread of the pool, and waits for its outcome. Blocks the thread; a worker of the pool may
    /// run it itself, and runs no other job meanwhile.
    ///
    /// - Returns: What `work` returns.
    /// - Throws: ``WorkerPoolRunError/failed(_:)`` with what `work` throws; ``WorkerPoolRunError/notRun(_:)`` where the
    ///   pool is closed before it has begun.
    @inlinable
    @_disfavoredOverload
    @available(*, noasync, message: "it blocks the thread; use `try await run`")
    public func run<Value: Sendable, Failure: Error>(
        priority: Priority = .normal,
        _ work: @Sendable () throws(Failure) -> Value
    ) throws(WorkerPoolRunError<Failure>) -> Value {
        try outcome(priority, forever, work)!.get()
    }

    /// Runs `work` on a thread of the pool, if it begins within `timeout`, and waits for its outcome. Blocks the
    /// thread; a worker of the pool may run it itself, and runs no other job meanwhile.
    ///
    /// - Returns: What `work` returns, or `nil` if it had not begun in time, also where the pool is closed: it will not
    ///   run.
    /// - Throws: ``WorkerPoolRunError/failed(_:)`` with what `work` throws; ``WorkerPoolRunError/notRun(_:)`` where the
    ///   pool is closed before it has begun.
    @inlinable
    @_disfavoredOverload
    @available(*, noasync, message: "it blocks the thread; use `try await run`")
    public func run<Value: Sendable, Failure: Error>(
        priority: Priority = .normal,
        timeout: Duration,
        _ work: @Sendable () throws(Failure) -> Value
    ) throws(WorkerPoolRunError<Failure>) -> Value? {
        try outcome(priority, InterlockSync.deadline(in: timeout), work)?.get()
    }

    /// The outcome of work for which a thread waits; `nil`: it had not begun in time, and will not.
    @inlinable
    func outcome<Value: Sendable, Failure: Error>(
        _ priority: Priority,
        _ deadline: UInt64,
        _ work: @Sendable () throws(Failure) -> Value
    ) -> Result<Value, WorkerPoolRunError<Failure>>? {
        withoutActuallyEscaping(work) { work in
            let result = AwaitedResult<Result<Value, Failure>>()
            // Work that has not run by its end never will.
            defer { result.place.deallocate() }
            let run = AwaitedRun(deadline: deadline) { result.place.initialize(to: Result(catching: work)) }
            switch block(for: run, priority) {
            case .ran: return result.place.move().mapError { .failed($0) }
            case .late: return nil
            case .closed, .cancelled: return .failure(.notRun(.closed(pool: name)))
            }
        }
    }

    @usableFromInline
    func block(for run: AwaitedRun, _ priority: Priority) -> AwaitedRun.End {
        run.block(on: core, priority.inC)
    }

    // MARK: Suspending

    /// Runs `work` on a thread of the pool, and waits for its outcome. Suspends the task.
    ///
    /// If the task is cancelled before the work has begun, the work never runs, and is released before this throws.
    ///
    /// - Returns: What `work` returns.
    /// - Throws: What `work` throws; `CancellationError` where it was cancelled before it began;
    ///   ``WorkerPoolError/closed(pool:)`` where the pool was closed before it began.
    @inlinable
    public func run<Value: Sendable>(
        priority: Priority = .normal,
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await value(priority, nil, work)!
    }

    /// Runs `work` as the suspending `run(priority:_:)`, if it begins within `timeout`.
    ///
    /// - Returns: What `work` returns, or `nil` if it had not begun in time, also where the pool is closed: it will not
    ///   run.
    /// - Throws: What `work` throws; `CancellationError` where it was cancelled before it began;
    ///   ``WorkerPoolError/closed(pool:)`` where the pool was closed before it began and before `timeout`.
    @inlinable
    public func run<Value: Sendable>(
        priority: Priority = .normal,
        timeout: Duration,
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value? {
        try await value(priority, moment(in: timeout), work)
    }

    /// The value of work for which a task waits; `nil`: it had not begun in time, and will not.
    @inlinable
    func value<Value: Sendable>(
        _ priority: Priority,
        _ limit: ContinuousClock.Instant?,
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value? {
        try await AwaitedRun.value(of: work, before: limit) { try await suspend(for: $0, priority) }
    }

    @usableFromInline
    func suspend(for run: AwaitedRun, _ priority: Priority) async throws -> AwaitedRun.End {
        let end = await run.suspend { core.submit(.object(run), priority.inC) }
        if end == .closed { throw WorkerPoolError.closed(pool: name) }
        return end
    }
}
