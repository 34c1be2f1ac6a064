// SPDX-License-Identifier: Apache-2.0
//
// Work with an outcome: the caller blocks or suspends. Limits and cancellation are
// about the beginning: work that has begun is waited for, so no outcome is lost and nothing runs unobserved.

import InterlockSync

extension WorkerPool {
    // MARK: Blocking

    // In async code, too, a closure that does not suspend fits this overload; disfavoured, it is not chosen there.
    /// Runs `work` on a thread of the pool, and waits for its outcome. Blocks the thread; a worker of the pool may
    /// run it itself, and runs no other job meanwhile.
    ///
    /// - Returns: What `work` returns.
    /// - Throws: ``WorkerPoolRunError/failed(_:)`` with what `work` throws; ``WorkerPoolRunError/notRun(_:)`` where the
    ///   pool is closed before it has begun.
    @_disfavoredOverload
    @available(*, noasync, message: "it blocks the thread; use `try await run`")
    public func run<Value: Sendable, Failure: Error>(
        priority: Priority = .normal,
        _ work: @Sendable () throws(Failure) -> Value
    ) throws(WorkerPoolRunError<Failure>) -> Value {
        try blocked(priority, forever, work)!.get()
    }

    /// Runs `work` on a thread of the pool, if it begins within `timeout`, and waits for its outcome. Blocks the
    /// thread; a worker of the pool may run it itself, and runs no other job meanwhile.
    ///
    /// - Returns: What `work` returns, or `nil` if it had not begun in time: it will not run.
    /// - Throws: ``WorkerPoolRunError/failed(_:)`` with what `work` throws; ``WorkerPoolRunError/notRun(_:)`` where the
    ///   pool is closed before it has begun.
    @_disfavoredOverload
    @available(*, noasync, message: "it blocks the thread; use `try await run`")
    public func run<Value: Sendable, Failure: Error>(
        priority: Priority = .normal,
        timeout: Duration,
        _ work: @Sendable () throws(Failure) -> Value
    ) throws(WorkerPoolRunError<Failure>) -> Value? {
        try blocked(priority, InterlockSync.deadline(in: timeout), work)?.get()
    }

    private func blocked<Value: Sendable, Failure: Error>(
        _ priority: Priority,
        _ deadline: UInt64,
        _ work: @Sendable () throws(Failure) -> Value
    ) -> Result<Value, WorkerPoolRunError<Failure>>? {
        withoutActuallyEscaping(work) { work in
            BlockingRun(work, before: deadline).wait(on: core, priority.inC)
        }
    }

    // MARK: Suspending

    /// Runs `work` on a thread of the pool, and waits for its outcome. Suspends the task.
    ///
    /// If the task is cancelled before the work has begun, the work never runs, and is released at once.
    ///
    /// - Returns: What `work` returns.
    /// - Throws: What `work` throws; `CancellationError` where it was cancelled before it began;
    ///   ``WorkerPoolError/closed(pool:)`` where the pool was closed before it began.
    public func run<Value: Sendable>(
        priority: Priority = .normal,
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await SuspendingRun(work, before: nil).wait(on: core, priority.inC)!
    }

    /// Runs `work` as the suspending `run(priority:_:)`, if it begins within `timeout`.
    ///
    /// - Returns: What `work` returns, or `nil` if it had not begun in time: it will not run.
    public func run<Value: Sendable>(
        priority: Priority = .normal,
        timeout: Duration,
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value? {
        try await SuspendingRun(work, before: moment(in: timeout)).wait(on: core, priority.inC)
    }
}
