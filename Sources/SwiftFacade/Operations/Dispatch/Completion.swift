// SPDX-License-Identifier: Apache-2.0
//
// One type for operations and for jobs of a group. A class for its `deinit`: when the last reference goes without a
// call, the job ends with an error instead of never.

import Foundation

/// Ends an ``AsyncOperation``, or a job of a `DispatchGroup` or a ``BoundedRunner``, from the callback of the function
/// it wraps.
///
/// May be kept, and called from any thread any number of times: the first call decides, and runs the operation's hooks
/// and releases its dependents, leaves the group, or gives the permit back; later ones are ignored. The completion
/// keeps its operation or group alive. Dropped without a call, it fails the operation with ``OperationAbandoned``, the
/// job with ``JobAbandoned``.
public final class Completion<Value: Sendable>: Sendable {
    let job: any CompletableJob<Value>

    init(_ job: any CompletableJob<Value>) { self.job = job }

    deinit { job.completionDropped() }

    /// Ends the operation or job with `result`; answers whether this call was the first.
    @discardableResult
    public func callAsFunction(_ result: Result<Value, any Error>) -> Bool { job.finish(result) }

    /// Ends the operation or job with `value`; answers whether this call was the first.
    @discardableResult
    public func succeed(_ value: Value) -> Bool { job.finish(.success(value)) }

    /// Fails the operation or job with `error`; answers whether this call was the first.
    @discardableResult
    public func fail(_ error: any Error) -> Bool { job.finish(.failure(error)) }

    /// Whether the operation was cancelled; false for a job, which has no cancellation once it has begun.
    public var isCancelled: Bool { job.isCancelled }

    /// The ``AsyncOperation/progress`` of the operation, for the work to report to; of a job, one that nothing else
    /// reads.
    public var progress: Progress { job.progress }

    /// Runs `handler` when the operation is cancelled while executing, at once if it has been, also after its end with
    /// that; not after any other end, and not for a job.
    ///
    /// The handler stops the wrapped function, on the thread that cancels. Then the operation finishes with
    /// ``OperationCancelled``; a later callback is ignored. One that comes before, also out of the handler, decides.
    public func onCancel(_ handler: @escaping @Sendable () -> Void) { job.onCancel(handler) }
}

extension Completion<Void> {
    /// Ends the operation or job; answers whether this call was the first.
    @discardableResult
    public func succeed() -> Bool { succeed(()) }
}

/// What a completion ends.
protocol CompletableJob<Output>: AnyObject, Sendable {
    associatedtype Output: Sendable

    /// Ends the job with `outcome`; answers whether this call was the first.
    func finish(_ outcome: Result<Output, any Error>) -> Bool
    func completionDropped()
    var isCancelled: Bool { get }
    func onCancel(_ handler: @escaping @Sendable () -> Void)
    var progress: Progress { get }
}

/// A job that has begun has no cancellation and no progress, unless it says otherwise.
extension CompletableJob {
    var isCancelled: Bool { false }
    func onCancel(_: @escaping @Sendable () -> Void) {}
    var progress: Progress { OperationProgress(isTree: false) }
}
