// SPDX-License-Identifier: Apache-2.0
//
// Jobs of a runner with results: closures, functions with a callback, and tasks.

import Dispatch
import InterlockPool
import InterlockSync

extension BoundedRunner {
    // MARK: Closures

    /// Runs a closure as a job, and delivers its `Result` on a queue. Returns at once.
    ///
    /// - Parameters:
    ///   - delivery: where `completion` runs, by default the main queue, which needs a program that drains it.
    ///   - completion: called exactly once; it sees everything the work did. A job cancelled before it began delivers
    ///     `CancellationError`.
    /// - Returns: the handle that cancels it, and frees `work` at once.
    @discardableResult
    public func run<Value: Sendable>(
        deliverOn delivery: DispatchQueue = .main,
        _ work: @escaping @Sendable () throws -> Value,
        completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) -> RunnerJob {
        let job = RunnerJob(
            core,
            .work {
                let result = Result(catching: work)
                delivery.async { completion(result) }
            },
            onCancel: { delivery.async { completion(.failure(CancellationError())) } }
        )
        return core.submit(job)
    }

    /// Runs a closure as a job and suspends until its value is there.
    ///
    /// If the task is cancelled before the work has begun, the work never runs, its captures are freed and its place is
    /// free at once. Work that has begun is waited for.
    ///
    /// - Returns: the closure's value. Everything the work did is visible.
    /// - Throws: the closure's error; `CancellationError` at once where the work never runs.
    @inlinable
    public func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await begun(until: nil, work)!
    }

    /// Runs a closure as a job, if it begins within `timeout`, and suspends until its value is there. Work that has
    /// begun is waited for.
    ///
    /// - Returns: `nil` if the work had not begun in time; it will not run.
    /// - Throws: the closure's error; `CancellationError` at once if the task is cancelled and the work never runs.
    @inlinable
    public func run<Value: Sendable>(
        timeout: Duration,
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value? {
        try await begun(until: moment(in: timeout), work)
    }

    /// The value of the work, or nil if it did not begin in time.
    @inlinable
    func begun<Value: Sendable>(
        until deadline: ContinuousClock.Instant?,
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value? {
        try await AwaitedRun.value(of: work, before: deadline) { await suspend(for: $0) }
    }

    @usableFromInline
    func suspend(for run: AwaitedRun) async -> AwaitedRun.End {
        let job = RunnerJob(core, .work(run.run))
        return await run.suspend(
            {
                core.submit(job)
                return true
            },
            withdraw: { job.cancel() }
        )
    }

    // MARK: Functions with a callback

    /// Starts a completion-handler function as a job that keeps its permit until the completion is called or dropped,
    /// and holds no thread meanwhile. Returns at once.
    ///
    /// - Parameters:
    ///   - label: names the job in ``JobAbandoned``, as `file` and `line` do; leave their defaults.
    ///   - delivery: where `completion` runs, by default the main queue, which needs a program that drains it.
    ///   - completion: called exactly once. A job cancelled before it was started delivers `CancellationError`.
    ///   - start: given the completion, which it or its callback calls. An error that it throws is the result.
    /// - Returns: the handle that cancels it, until it has been started.
    @discardableResult
    public func wrap<Value: Sendable>(
        _ label: String = "",
        deliverOn delivery: DispatchQueue = .main,
        file: StaticString = #fileID,
        line: UInt = #line,
        _ start: @escaping @Sendable (Completion<Value>) throws -> Void,
        completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) -> RunnerJob {
        let deliver: Delivery<Value> = { result in delivery.async { completion(result) } }
        let job = RunnerJob(
            core,
            .start { WrappedJob.start($0, label, "\(file):\(line)", deliver, start) },
            onCancel: { deliver(.failure(CancellationError())) }
        )
        return core.submit(job)
    }

    /// Starts a completion-handler function as a job that keeps its permit until the completion is called or dropped,
    /// and suspends until then. No thread is held meanwhile.
    ///
    /// - Throws: the error the function ended with; `CancellationError` at once if the task is cancelled before the
    ///   function was started. One that was started is waited for.
    public func wrap<Value: Sendable>(
        _ label: String = "",
        file: StaticString = #fileID,
        line: UInt = #line,
        _ start: @escaping @Sendable (Completion<Value>) throws -> Void
    ) async throws -> Value {
        try await wrapped(label, "\(file):\(line)", until: nil, start)!
    }

    /// Starts a completion-handler function as a job, if its turn comes within `timeout`, and suspends until the
    /// completion is called or dropped.
    ///
    /// - Returns: `nil` if it was not started in time; it will not be.
    /// - Throws: the error the function ended with; `CancellationError` at once if the task is cancelled before the
    ///   function was started.
    public func wrap<Value: Sendable>(
        _ label: String = "",
        timeout: Duration,
        file: StaticString = #fileID,
        line: UInt = #line,
        _ start: @escaping @Sendable (Completion<Value>) throws -> Void
    ) async throws -> Value? {
        try await wrapped(label, "\(file):\(line)", until: moment(in: timeout), start)
    }

    /// `wrap` with a moment, for tests too.
    func wrapped<Value: Sendable>(
        _ label: String,
        _ origin: String,
        until deadline: ContinuousClock.Instant?,
        _ start: @escaping @Sendable (Completion<Value>) throws -> Void
    ) async throws -> Value? {
        try Task.checkCancellation()
        if hasPassed(deadline) { return nil }
        let result = Promise<Result<Value?, any Error>>()
        let job = RunnerJob(
            core,
            .start { job in
                if hasPassed(deadline) {
                    result.fulfil(.success(nil))
                    return job.core.end(job)
                }
                WrappedJob.start(job, label, origin, { result.fulfil($0.map { $0 }) }, start)
            }
        )
        return try await outcome(of: job, result, until: deadline) ?? nil
    }

    // MARK: Tasks

    /// Runs `body` in the task with a permit, which goes back when `body` ends, also by throwing. Suspends until the
    /// permit's turn has come. `body` runs in the isolation of the caller, not on the queue.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before it has a permit, and `body` has not run; otherwise
    ///   what `body` throws.
    public func withPermit<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async throws -> Result {
        guard let job = try await permit(until: nil) else {
            preconditionFailure("without a limit there is a permit")
        }
        defer { core.end(job) }
        return try await body()
    }

    /// Runs `body` in the task with a permit, which goes back when `body` ends, also by throwing. Suspends until the
    /// permit's turn has come, for `timeout` at most. `body` runs in the isolation of the caller.
    ///
    /// - Returns: `nil` if no permit came in time and `body` did not run.
    /// - Throws: `CancellationError` if the task is cancelled before it has a permit; otherwise what `body` throws.
    public func withPermit<Result>(
        isolation: isolated (any Actor)? = #isolation,
        timeout: Duration,
        _ body: () async throws -> Result
    ) async throws -> Result? {
        guard let job = try await permit(until: moment(in: timeout)) else { return nil }
        defer { core.end(job) }
        return try await body()
    }

    /// A job that has its permit.
    private func permit(until deadline: ContinuousClock.Instant?) async throws -> RunnerJob? {
        let granted = Promise<Swift.Result<Void, any Error>>()
        let job = RunnerJob(core, .permit { granted.fulfil(.success(())) })
        return try await outcome(of: job, granted, until: deadline) == nil ? nil : job
    }

    // MARK: Waiting for an outcome

    /// Submits the job and waits for its result; nil if it did not begin in time.
    private func outcome<Value: Sendable>(
        of job: RunnerJob,
        _ result: Promise<Result<Value, any Error>>,
        until deadline: ContinuousClock.Instant?
    ) async throws -> Value? {
        try await withTaskCancellationHandler {
            core.submit(job)
            if let deadline, await result.wait(until: deadline) == .timedOut, job.cancel() { return nil }
            return try await result.take().get()
        } onCancel: {
            if job.cancel() { result.fulfil(.failure(CancellationError())) }
        }
    }
}

/// A job that a ``Completion`` ends.
private final class WrappedJob<Output: Sendable>: CompletableJob {
    private let job: RunnerJob
    private let label: String
    private let origin: String
    private let deliver: PendingWork<Delivery<Output>>

    static func start(
        _ job: RunnerJob,
        _ label: String,
        _ origin: String,
        _ deliver: @escaping Delivery<Output>,
        _ start: (Completion<Output>) throws -> Void
    ) {
        let completion = Completion(WrappedJob(job, label, origin, deliver))
        do { try start(completion) } catch { completion.fail(error) }
    }

    init(_ job: RunnerJob, _ label: String, _ origin: String, _ deliver: @escaping Delivery<Output>) {
        (self.job, self.label, self.origin) = (job, label, origin)
        self.deliver = PendingWork(deliver)
    }

    func finish(_ outcome: Result<Output, any Error>) -> Bool {
        guard let deliver = deliver.claim() else { return false }
        deliver(outcome)
        job.core.end(job)
        return true
    }

    func completionDropped() { _ = finish(.failure(JobAbandoned(job: label, origin: origin))) }
}
