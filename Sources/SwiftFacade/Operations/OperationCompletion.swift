// SPDX-License-Identifier: Apache-2.0
//
// The handle a completion-handler function calls back through. It is a class so that dropping it can be
// seen: when the last copy goes without a call, no call can come any more, and the operation fails with
// that instead of hanging its queue for ever.

/// Finishes an ``AsyncOperation`` from the callback of the function it wraps.
///
/// Safe to keep, to call from any thread and to call many times: the first call decides, later ones are
/// ignored and answer false. It keeps its operation alive. When it is dropped without a call, the
/// operation fails with ``OperationAbandoned``.
public final class OperationCompletion<Output: Sendable>: Sendable {
    let operation: AsyncOperation<Output>

    init(_ operation: AsyncOperation<Output>) { self.operation = operation }

    deinit { operation.completionDropped() }

    /// Finishes the operation with `result`; answers whether this call was the first.
    @discardableResult
    public func callAsFunction(_ result: Result<Output, any Error>) -> Bool { operation.finish(result) }

    /// Finishes the operation with a value; answers whether this call was the first.
    @discardableResult
    public func succeed(_ value: Output) -> Bool { operation.finish(.success(value)) }

    /// Finishes the operation with an error; answers whether this call was the first.
    @discardableResult
    public func fail(_ error: any Error) -> Bool { operation.finish(.failure(error)) }

    /// Whether the operation was asked to stop.
    public var isCancelled: Bool { operation.isCancelled }

    /// Runs `handler` when the operation is cancelled, at once if it has been; never after it has a
    /// result. Here the wrapped function is told to stop. The operation itself finishes at once with
    /// ``OperationCancelled``, and a callback that still comes is ignored.
    public func onCancel(_ handler: @escaping @Sendable () -> Void) { operation.onCancel(handler) }
}

extension OperationCompletion<Void> {
    /// Finishes the operation successfully; answers whether this call was the first.
    @discardableResult
    public func succeed() -> Bool { succeed(()) }
}
