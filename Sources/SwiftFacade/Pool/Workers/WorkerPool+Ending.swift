// SPDX-License-Identifier: Apache-2.0
//
// The two ways to close a pool, and waiting for its end. A thread that waits sleeps in the C core. A task waits for a
// promise, which one thread a pool fulfils: the C core has no other notice of its end.

import InterlockSync

extension WorkerPool {
    /// Closes the pool: nothing more comes in. What was accepted runs, delayed tasks at their time. Does not wait.
    ///
    /// Parts of tasks that become ready after that run on ``shared``: a task cannot be refused.
    ///
    /// - Precondition: The pool is not ``shared`` or ``blocking``; closing those is reported and ends the process.
    public func close() { core.close("WorkerPool.close") }

    /// Closes the pool, and hands back what has not begun: each job once, and it does not run. Does not wait for what
    /// runs.
    ///
    /// `caller` is given the closures of ``submit(priority:_:)`` and ``WorkerGroup``, by this call and by the pool's
    /// threads, several at a time. A `run(priority:_:)`, a loop from a task or a delayed task that has not begun ends
    /// with ``WorkerPoolError/closed(pool:)``, which a blocking `run` has in ``WorkerPoolRunError/notRun(_:)``. Parts
    /// of tasks run on ``shared``. If there are several calls, the first one's `caller` is used; it is released when
    /// the pool has ended.
    ///
    /// - Precondition: The pool is not ``shared`` or ``blocking``. `caller` does not wait for the end of the pool,
    ///   which comes after it.
    public func closeNow(
        returningTo caller:
            @escaping @Sendable (_ work: @escaping @Sendable () -> Void) -> Void = { _ in }
    ) {
        core.closeNow(caller)
    }

    /// Waits until the pool is closed and all it had accepted has run or was handed back. Blocks the thread.
    ///
    /// - Precondition: The caller is no job of the pool, which would wait for itself, and the pool is not ``shared`` or
    ///   ``blocking``, which have no end. Both are reported and end the process.
    @available(*, noasync, message: "it blocks the thread; use `try await wait()`")
    public func wait() { _ = core.block(until: forever) }

    /// Waits until the pool is closed and all it had accepted has run or was handed back, until `deadline` at most.
    /// Blocks the thread.
    ///
    /// - Returns: Whether the pool has ended.
    /// - Precondition: The caller is no job of the pool, and the pool is not ``shared`` or ``blocking``.
    @available(*, noasync, message: "it blocks the thread; use `try await wait(until:)`")
    public func wait(until deadline: ContinuousClock.Instant) -> Bool {
        core.block(until: InterlockSync.deadline(at: deadline))
    }

    /// Waits until the pool is closed and all it had accepted has run or was handed back, for `timeout` at most. Blocks
    /// the thread.
    ///
    /// - Returns: Whether the pool has ended.
    /// - Precondition: The caller is no job of the pool, and the pool is not ``shared`` or ``blocking``.
    @available(*, noasync, message: "it blocks the thread; use `try await wait(timeout:)`")
    public func wait(timeout: Duration) -> Bool { core.block(until: InterlockSync.deadline(in: timeout)) }

    /// Waits until the pool is closed and all it had accepted has run or was handed back. Suspends the task, which may
    /// be one of the pool's own.
    ///
    /// - Precondition: The pool is not ``shared`` or ``blocking``, which have no end: that is reported and ends the
    ///   process.
    /// - Throws: `CancellationError` if the task is cancelled first; the pool goes on.
    public func wait() async throws(CancellationError) { _ = try await core.suspend(until: nil) }

    /// Waits until the pool is closed and all it had accepted has run or was handed back, until `deadline` at most.
    /// Suspends the task.
    ///
    /// - Returns: Whether the pool has ended.
    /// - Precondition: The pool is not ``shared`` or ``blocking``.
    /// - Throws: `CancellationError` if the task is cancelled first; the pool goes on.
    public func wait(until deadline: ContinuousClock.Instant) async throws(CancellationError) -> Bool {
        try await core.suspend(until: deadline)
    }

    /// Waits until the pool is closed and all it had accepted has run or was handed back, for `timeout` at most.
    /// Suspends the task.
    ///
    /// - Returns: Whether the pool has ended.
    /// - Precondition: The pool is not ``shared`` or ``blocking``.
    /// - Throws: `CancellationError` if the task is cancelled first; the pool goes on.
    public func wait(timeout: Duration) async throws(CancellationError) -> Bool {
        try await core.suspend(until: moment(in: timeout))
    }
}
