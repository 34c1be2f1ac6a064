// SPDX-License-Identifier: Apache-2.0
//
// A job of a `BoundedRunner`: its handle, and its node in the runner's list.

import InterlockSync

// `state` changes under the core's lock; the closures are taken by the one thread that begins or cancels the job.
/// A job given to a ``BoundedRunner``.
///
/// May be used from any thread. Dropping it does not cancel the job.
public final class RunnerJob: @unchecked Sendable {
    enum Phase {
        case made, queued, running
        case ended(ran: Bool)
    }

    enum Body {
        /// Ends with its return.
        case work(@Sendable () -> Void)
        /// Ends with a call of ``RunnerCore/end(_:)``.
        case start(@Sendable (RunnerJob) -> Void)
        /// Ends with a call of ``RunnerCore/end(_:)``, and needs no thread of the queue.
        case permit(@Sendable () -> Void)
    }

    struct State {
        var phase = Phase.made
        var next: RunnerJob?
        // The list owns its jobs by `next`.
        unowned(unsafe) var previous: RunnerJob?
        var ending: Promise<Bool>?
    }

    let core: RunnerCore
    var state = State()
    private var body: Body?
    private var onCancel: (@Sendable () -> Void)?

    init(_ core: RunnerCore, _ body: Body, onCancel: (@Sendable () -> Void)? = nil) {
        self.core = core
        self.body = body
        self.onCancel = onCancel
    }

    // MARK: The handle

    /// Prevents the job if it has not begun, and frees it with its captures before returning. May be called any number
    /// of times; does not wait. The place of the job in the queue is free at once.
    ///
    /// - Returns: whether this call prevented the job.
    /// - Complexity: O(1).
    @discardableResult
    public func cancel() -> Bool { core.cancel(self) }

    /// Suspends until the job has ended or was cancelled. What the job did is visible.
    ///
    /// - Returns: true once the job has ended, false if it was cancelled before it began.
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the job is not touched.
    public func finished() async throws(CancellationError) -> Bool { try await ran(until: nil)! }

    /// Suspends until the job has ended or was cancelled, for `timeout` at most. What the job did is visible.
    ///
    /// - Returns: true once the job has ended, false if it was cancelled before it began, `nil` if it had not ended in
    ///   time; it goes on.
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the job is not touched.
    public func finished(timeout: Duration) async throws(CancellationError) -> Bool? {
        try await ran(until: moment(in: timeout))
    }

    private func ran(until deadline: ContinuousClock.Instant?) async throws(CancellationError) -> Bool? {
        let (ran, promise) = core.ending(of: self)
        guard let promise else { return ran }
        return try await promise.value(until: deadline)
    }

    // MARK: The node

    /// For a job that has its permit: gives it to a waiting task, without a thread; false for other jobs.
    func beginsWithoutThread() -> Bool {
        guard case .permit(let grant) = body else { return false }
        (body, onCancel) = (nil, nil)
        grant()
        return true
    }

    /// Runs a job that has its permit; false if it keeps the permit. Nothing of its closures is left.
    func run() -> Bool {
        let body = body.take()
        onCancel = nil
        switch body {
        case .work(let work):
            work()
            return true
        case .start(let start):
            start(self)
            return false
        case .permit, nil: preconditionFailure("a job is run once")
        }
    }

    /// Frees the closures of a job that will not run.
    func wasCancelled() {
        body = nil
        let (ending, onCancel) = (state.ending, onCancel.take())
        ending?.fulfil(false)
        onCancel?()
    }
}
