// SPDX-License-Identifier: Apache-2.0
//
// Ways to get the result: a hook, and waits that block or suspend. A wait is a hook, which it takes back when it gives
// up.

import Dispatch
import Foundation
import InterlockPool
import InterlockSync

extension AsyncOperation {
    /// Runs `hook` with the outcome when the operation has finished, at once if it has.
    ///
    /// Each hook runs exactly once, after dependents were released, on the thread that finishes the operation (or on
    /// this one), and is then freed.
    public final func onFinish(_ hook: @escaping @Sendable (Outcome) -> Void) {
        if addHook({ hook(Self.own($0).finalOutcome) }) == nil { hook(finalOutcome) }
    }

    // MARK: Blocking

    /// Blocks until the operation has finished; gives its result.
    ///
    /// May be called from any thread but those the operation needs. Never returns for an operation that is not started.
    /// Everything the work did is visible.
    @available(
        *,
        noasync,
        message:
            "it would block a thread of the cooperative pool; use `try await wait()` or `try await value` in a function"
    )
    @discardableResult
    public final func wait() -> Outcome {
        blockingWait(until: .distantFuture)
        return finalOutcome
    }

    /// As `wait()`, for `timeout` at most.
    ///
    /// - Returns: the result; nil where there was none in time, and the operation goes on.
    @available(
        *,
        noasync,
        message:
            "it would block a thread of the cooperative pool; use `try await wait(timeout:)` in a function"
    )
    @discardableResult
    public final func wait(timeout: Duration) -> Outcome? {
        blockingWait(until: .after(timeout)) ? finalOutcome : nil
    }

    /// As `wait(timeout:)`, until `deadline`.
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; use `try await wait(until:)` in a function"
    )
    @discardableResult
    public final func wait(until deadline: ContinuousClock.Instant) -> Outcome? {
        wait(timeout: timeLeft(until: deadline))
    }

    @discardableResult
    private func blockingWait(until deadline: DispatchTime) -> Bool {
        let arrived = DispatchSemaphore(value: 0)
        guard let hook = addHook({ _ in arrived.signal() }) else { return true }
        let limit = deadline == .distantFuture ? forever : deadline.uptimeNanoseconds
        let hasEnded = ThreadDiagnosis.waiting(for: self, until: limit, "operation \(displayName)") {
            WorkerPool.withBlockingCall { arrived.wait(timeout: deadline) == .success }
        }
        if hasEnded { return true }
        record.withLock { $0.removeFinishHook(hook) }
        return isFinished
    }

    // MARK: Suspending

    /// The value, or the error the operation failed with (``OperationCancelled`` where it was cancelled). Suspends and
    /// throws as `wait()`.
    public final var value: Output {
        get async throws { try await wait().get() }
    }

    /// As ``value``; a cancellation of the awaiting task cancels the operation too, and is waited for.
    ///
    /// Never returns for an operation that is not started, cancelled or not.
    ///
    /// - Throws: the error the operation failed with; ``OperationCancelled`` where the cancellation ended it. A value
    ///   that was there all the same is returned.
    public final func valueOrCancel() async throws -> Output {
        return try await withTaskCancellationHandler {
            try await outcome.get()
        } onCancel: {
            cancel()
        }
    }

    /// The result, whatever happens: suspends until the operation has finished, also where the awaiting task was
    /// cancelled, and throws nothing.
    ///
    /// Never returns for an operation that is not started. Everything the work did is visible.
    public final var outcome: Outcome {
        get async {
            let finished = Promise<Void>()
            if addHook({ _ in finished.fulfil(()) }) != nil { await finished.take() }
            return finalOutcome
        }
    }

    /// Suspends until the operation has finished.
    ///
    /// - Returns: the result. Everything the work did is visible.
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the operation goes on.
    @discardableResult
    public final func wait() async throws(CancellationError) -> Outcome {
        // Without a limit it is never nil.
        try await suspendingWait(until: nil)!
    }

    /// As the suspending `wait()`, for `timeout` at most; nil where there was no result in time.
    @discardableResult
    public final func wait(timeout: Duration) async throws(CancellationError) -> Outcome? {
        try await suspendingWait(until: moment(in: timeout))
    }

    /// As the suspending `wait(timeout:)`, until `deadline`.
    @discardableResult
    public final func wait(
        until deadline: ContinuousClock.Instant
    ) async throws(CancellationError) -> Outcome? {
        try await suspendingWait(until: deadline)
    }

    /// Nil where the time was over.
    private func suspendingWait(
        until deadline: ContinuousClock.Instant?
    ) async throws(CancellationError) -> Outcome? {
        let finished = Promise<Void>()
        guard let hook = addHook({ _ in finished.fulfil(()) }) else { return finalOutcome }
        let ending = await finished.wait(until: deadline)
        if ending == .granted { return finalOutcome }
        record.withLock { $0.removeFinishHook(hook) }
        if ending == .cancelled { throw CancellationError() }
        return nil
    }

    // MARK: The hook underneath

    /// A moment long past may not fit a `Duration`.
    private func timeLeft(until deadline: ContinuousClock.Instant) -> Duration {
        let now = ContinuousClock.now
        return deadline <= now ? .zero : now.duration(to: deadline)
    }

    private func addHook(_ hook: @escaping @Sendable (Operation) -> Void) -> UInt64? {
        record.withLock { $0.addFinishHook(hook) }
    }

    /// The outcome, known to be there.
    private var finalOutcome: Outcome {
        guard let result else { preconditionFailure("a finished operation has an outcome") }
        return result
    }
}
