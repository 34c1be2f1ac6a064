// SPDX-License-Identifier: Apache-2.0
//
// The handle that the callback of a completion-handler function calls: one type for operations and for the
// jobs of a group, so that a function written against it serves both. It is a class so that dropping it can be
// seen: when the last reference goes without a call, no call can come any more, and what waits for it is told
// so instead of waiting for ever.

/// Ends an ``AsyncOperation``, or a job of a `DispatchGroup`, from the callback of the function it wraps.
///
/// Safe to keep, to call from any thread and to call many times: the first call decides, later ones are
/// ignored and answer false. A call runs what waits for the end: hooks and dependents of the operation, or the
/// group's notifications. It keeps its operation, or its group, alive. When it is dropped without a call, the
/// operation fails with ``OperationAbandoned``, the job with ``JobAbandoned``.
public final class Completion<Value: Sendable>: Sendable {
    let job: any CompletableJob<Value>

    init(_ job: any CompletableJob<Value>) { self.job = job }

    deinit { job.completionDropped() }

    /// Ends it with `result`; answers whether this call was the first.
    @discardableResult
    public func callAsFunction(_ result: Result<Value, any Error>) -> Bool { job.finish(result) }

    /// Ends it with a value; answers whether this call was the first.
    @discardableResult
    public func succeed(_ value: Value) -> Bool { job.finish(.success(value)) }

    /// Ends it with an error; answers whether this call was the first.
    @discardableResult
    public func fail(_ error: any Error) -> Bool { job.finish(.failure(error)) }

    /// Whether the operation was asked to stop. False for a group's job: nobody can ask it.
    public var isCancelled: Bool { job.isCancelled }

    /// Runs `handler` when the operation is cancelled while executing, at once if it has been; never after it
    /// has a result, and never for a group's job. Here the wrapped function is told to stop. The handler runs on
    /// the thread that cancels; after it the operation finishes with ``OperationCancelled``, and a callback that
    /// still comes is ignored.
    public func onCancel(_ handler: @escaping @Sendable () -> Void) { job.onCancel(handler) }
}

extension Completion<Void> {
    /// Ends it successfully; answers whether this call was the first.
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
