// SPDX-License-Identifier: Apache-2.0
//
// Waits for the result of a job: a hook, which a wait that gives up takes back.

import InterlockSync

extension Job {
    // MARK: Blocking

    /// Blocks until the job has ended; gives its result. On a worker of a ``WorkerPool`` another thread takes over its
    /// jobs meanwhile.
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; use `try await value` in a function"
    )
    @discardableResult
    public func wait() -> Outcome {
        _ = block(until: nil)
        return node.finalOutcome
    }

    /// As ``wait()``, until `deadline` at most.
    ///
    /// - Returns: the result; nil where there was none in time, and the job goes on.
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; use `try await wait(until:)` in a function"
    )
    @discardableResult
    public func wait(until deadline: ContinuousClock.Instant) -> Outcome? {
        block(until: deadline) ? node.finalOutcome : nil
    }

    /// As ``wait()``, for `timeout` at most.
    ///
    /// - Returns: the result; nil where there was none in time, and the job goes on.
    @available(
        *,
        noasync,
        message:
            "it would block a thread of the cooperative pool; use `try await wait(timeout:)` in a function"
    )
    @discardableResult
    public func wait(timeout: Duration) -> Outcome? {
        block(until: moment(in: timeout)) ? node.finalOutcome : nil
    }

    private func block(until deadline: ContinuousClock.Instant?) -> Bool {
        let end = Latch(count: 1)
        guard let hook = node.addHook({ end.countDown() }) else { return true }
        let limit = deadline.map(InterlockSync.deadline(at:)) ?? forever
        let hasEnded = WorkerPool.withBlockingCall {
            ThreadDiagnosis.waiting(for: node, until: limit, "a job of \"\(node.core.name)\"") {
                guard let deadline else {
                    end.wait()
                    return true
                }
                return end.wait(until: deadline)
            }
        }
        if hasEnded { return true }
        node.removeHook(hook)
        return node.isFinished
    }

    // MARK: Suspending

    /// The output, or the error the job ended with. Suspends.
    ///
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the job goes on.
    public var value: Output {
        get async throws { try await suspend(until: nil)!.get() }
    }

    /// As ``value``; a cancelled task also cancels the job, and gets the job's own end.
    public func valueOrCancel() async throws -> Output {
        let end = Promise<Void>()
        if node.addHook({ end.fulfil(()) }) == nil { return try node.finalOutput() }
        return try await withTaskCancellationHandler {
            await end.take()
            return try node.finalOutput()
        } onCancel: {
            cancel()
        }
    }

    /// Suspends until the job has ended; its result. A cancelled task does not end the wait.
    public var outcome: Outcome {
        get async {
            let end = Promise<Void>()
            if node.addHook({ end.fulfil(()) }) != nil { await end.take() }
            return node.finalOutcome
        }
    }

    /// Suspends until the job has ended, until `deadline` at most.
    ///
    /// - Returns: the result; nil where there was none in time, and the job goes on.
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the job goes on.
    public func wait(until deadline: ContinuousClock.Instant) async throws(CancellationError) -> Outcome? {
        try await suspend(until: deadline)
    }

    /// As the suspending `wait(until:)`, for `timeout` at most.
    public func wait(timeout: Duration) async throws(CancellationError) -> Outcome? {
        try await suspend(until: moment(in: timeout))
    }

    private func suspend(until deadline: ContinuousClock.Instant?) async throws(CancellationError) -> Outcome?
    {
        let end = Promise<Void>()
        guard let hook = node.addHook({ end.fulfil(()) }) else { return node.finalOutcome }
        let how = await end.wait(until: deadline)
        if how == .granted { return node.finalOutcome }
        node.removeHook(hook)
        if how == .cancelled { throw CancellationError() }
        return nil
    }
}
