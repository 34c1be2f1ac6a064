// SPDX-License-Identifier: Apache-2.0
//
// Ways to get the result: a hook, and waits that block or suspend.

import Foundation
import InterlockPool
import InterlockSync

extension AsyncOperation {
    /// Runs `hook` with the outcome when the operation has finished, at once if it has.
    ///
    /// Each hook runs exactly once, after dependents were released, on the thread that finishes the operation (or on
    /// this one), and is then freed.
    public final func onFinish(_ hook: @escaping @Sendable (Outcome) -> Void) {
        if record.withLock({ $0.addFinishHook { hook(Self.own($0).finalOutcome) } }) == nil {
            hook(finalOutcome)
        }
    }

    // MARK: Blocking

    /// Blocks until the operation has finished; gives its result.
    ///
    /// May be called from any thread but those the operation needs. Never returns for an operation that is not started.
    /// Everything the work did is visible.
    @available(*, noasync, message: "it blocks the thread; use `try await wait()` or `try await value`")
    @discardableResult
    public final func wait() -> Outcome {
        _ = blockUntilEnd(before: nil)
        return finalOutcome
    }

    /// Blocks until the operation has finished, for `timeout` at most. May be called from any thread but those the
    /// operation needs.
    ///
    /// - Returns: the result; nil where there was none in time, and the operation goes on.
    @available(*, noasync, message: "it blocks the thread; use `try await wait(timeout:)`")
    @discardableResult
    public final func wait(timeout: Duration) -> Outcome? { wait(until: moment(in: timeout)) }

    /// Blocks until the operation has finished, until `deadline` at most. May be called from any thread but those the
    /// operation needs.
    ///
    /// - Returns: the result; nil where there was none in time, and the operation goes on.
    @available(*, noasync, message: "it blocks the thread; use `try await wait(until:)`")
    @discardableResult
    public final func wait(until deadline: ContinuousClock.Instant) -> Outcome? {
        blockUntilEnd(before: deadline) ? finalOutcome : nil
    }

    // MARK: Suspending

    /// The value, or the error the operation failed with (``OperationCancelled`` where it was cancelled). Suspends
    /// until the operation has finished; throws `CancellationError` at once if the awaiting task is cancelled.
    public final var value: Output { get async throws { try await wait().get() } }

    /// The value, or the error the operation failed with. Suspends until the operation has finished. A cancellation of
    /// the awaiting task cancels the operation too, and the call still waits for its end.
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
            await suspendUntilEnd()
            return finalOutcome
        }
    }

    /// Suspends until the operation has finished.
    ///
    /// - Returns: the result. Everything the work did is visible.
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the operation goes on.
    @discardableResult
    public final func wait() async throws(CancellationError) -> Outcome {
        _ = try await suspendUntilEnd(before: nil)
        return finalOutcome
    }

    /// Suspends until the operation has finished, for `timeout` at most.
    ///
    /// - Returns: the result; nil where there was none in time, and the operation goes on.
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the operation goes on.
    @discardableResult
    public final func wait(timeout: Duration) async throws(CancellationError) -> Outcome? {
        try await wait(until: moment(in: timeout))
    }

    /// Suspends until the operation has finished, until `deadline` at most.
    ///
    /// - Returns: the result; nil where there was none in time, and the operation goes on.
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the operation goes on.
    @discardableResult
    public final func wait(
        until deadline: ContinuousClock.Instant
    ) async throws(CancellationError) -> Outcome? {
        try await suspendUntilEnd(before: deadline) ? finalOutcome : nil
    }
}

extension AsyncOperation: EndingWork {
    package final var nameInDiagnosis: String { "operation \(displayName)" }

    package final func addEndHook(_ body: @escaping @Sendable () -> Void) -> UInt64? {
        record.withLock { $0.addFinishHook { _ in body() } }
    }

    package final func removeEndHook(_ id: UInt64) {
        let removed = record.withLock { $0.removeFinishHook(id) }
        withExtendedLifetime(removed) {}
    }

    /// The outcome, known to be there.
    private var finalOutcome: Outcome {
        guard let result else { preconditionFailure("a finished operation has an outcome") }
        return result
    }
}
