// SPDX-License-Identifier: Apache-2.0
//
// Waits for the result of a job.

import InterlockSync

extension Job {
    // MARK: Blocking

    /// Blocks until the job has ended; gives its result. On a worker of a ``WorkerPool`` another thread takes over its
    /// jobs meanwhile.
    @available(*, noasync, message: "it blocks the thread; use `try await value`")
    @discardableResult
    public func wait() -> Outcome {
        _ = node.blockUntilEnd(before: nil)
        return node.finalOutcome
    }

    /// Blocks until the job has ended, until `deadline` at most. On a worker of a ``WorkerPool`` another thread takes
    /// over its jobs meanwhile.
    ///
    /// - Returns: the result; nil where there was none in time, and the job goes on.
    @available(*, noasync, message: "it blocks the thread; use `try await wait(until:)`")
    @discardableResult
    public func wait(until deadline: ContinuousClock.Instant) -> Outcome? {
        node.blockUntilEnd(before: deadline) ? node.finalOutcome : nil
    }

    /// Blocks until the job has ended, for `timeout` at most. On a worker of a ``WorkerPool`` another thread takes over
    /// its jobs meanwhile.
    ///
    /// - Returns: the result; nil where there was none in time, and the job goes on.
    @available(*, noasync, message: "it blocks the thread; use `try await wait(timeout:)`")
    @discardableResult
    public func wait(timeout: Duration) -> Outcome? {
        node.blockUntilEnd(before: moment(in: timeout)) ? node.finalOutcome : nil
    }

    // MARK: Suspending

    /// The output, or the error the job ended with. Suspends.
    ///
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the job goes on.
    public var value: Output {
        get async throws {
            _ = try await node.suspendUntilEnd(before: nil)
            return try node.finalOutput()
        }
    }

    /// The output, or the error the job ended with. Suspends until the job has ended. A cancellation of the awaiting
    /// task cancels the job too, and the call still waits for the job's own end.
    public func valueOrCancel() async throws -> Output {
        try await withTaskCancellationHandler {
            try await outcome.get()
        } onCancel: {
            cancel()
        }
    }

    /// Suspends until the job has ended; its result. A cancelled task does not end the wait.
    public var outcome: Outcome {
        get async {
            await node.suspendUntilEnd()
            return node.finalOutcome
        }
    }

    /// Suspends until the job has ended, until `deadline` at most.
    ///
    /// - Returns: the result; nil where there was none in time, and the job goes on.
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the job goes on.
    public func wait(until deadline: ContinuousClock.Instant) async throws(CancellationError) -> Outcome? {
        try await node.suspendUntilEnd(before: deadline) ? node.finalOutcome : nil
    }

    /// Suspends until the job has ended, for `timeout` at most.
    ///
    /// - Returns: the result; nil where there was none in time, and the job goes on.
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the job goes on.
    public func wait(timeout: Duration) async throws(CancellationError) -> Outcome? {
        try await wait(until: moment(in: timeout))
    }
}
