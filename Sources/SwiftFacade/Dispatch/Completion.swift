// SPDX-License-Identifier: Apache-2.0
//
// The handle that the callback of a completion-handler function calls: one type for operations and for jobs of a group.
// It is a class for its `deinit`: when the last reference goes without a call, no call can come any more, and the job
// ends with an error instead of never.

/// Ends an ``AsyncOperation``, or a job of a `DispatchGroup`, from the callback of the function it wraps.
///
/// May be kept, and called from any thread any number of times: the first call decides, later ones are
/// ignored and answer false. The first call runs the hooks of the operation and releases its dependents, or leaves the
/// group. The completion keeps its operation, or its group, alive. When it is dropped without a call, the
/// operation fails with ``OperationAbandoned``, the job with ``JobAbandoned``.
public final class Completion<Value: Sendable>: Sendable {
    let job: any CompletableJob<Value>

    init(_ job: any CompletableJob<Value>) { self.job = job }

    deinit { job.completionDropped() }

    /// Ends the operation or job with `result`; answers whether this call was the first.
    @discardableResult
    public func callAsFunction(_ result: Result<Value, any Error>) -> Bool { job.finish(result) }

    /// Ends the operation or job with a value; answers whether this call was the first.
    @discardableResult
    public func succeed(_ value: Value) -> Bool { job.finish(.success(value)) }

    /// Ends the operation or job with an error; answers whether this call was the first.
    @discardableResult
    public func fail(_ error: any Error) -> Bool { job.finish(.failure(error)) }

    /// Whether the operation was cancelled. False for a group's job, which has no cancellation. May be read from any
    /// thread.
    public var isCancelled: Bool { job.isCancelled }

    /// Runs `handler` when the operation is cancelled while executing, at once if it has been; not after it
    /// has a result, and not for a group's job.
    ///
    /// May be called from any thread. The handler is the place to stop the wrapped function. It runs on
    /// the thread that cancels; after it the operation finishes with ``OperationCancelled``, and a callback that
    /// still comes is ignored.
    public func onCancel(_ handler: @escaping @Sendable () -> Void) { job.onCancel(handler) }
}

extension Completion<Void> {
    /// Ends the operation or job successfully; answers whether this call was the first.
    @discardableResult
    public func succeed() -> Bool { succeed(()) }
}

/// What a completion ends.
protocol CompletableJob<Output>: AnyObject, Sendable {
    associatedtype Output: Sendable

    /// Ends it; answers whether this call was the first.
    func finish(_ outcome: Result<Output, any Error>) -> Bool
    /// No call can come any more.
    func completionDropped()
    var isCancelled: Bool { get }
    func onCancel(_ handler: @escaping @Sendable () -> Void)
}
