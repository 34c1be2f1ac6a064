// SPDX-License-Identifier: Apache-2.0
//
// How a cancellation reaches the work: handlers for wrapped functions, `Task.cancel` for `async`
// closures, and the end of an operation whose completion was thrown away.

import Foundation

extension AsyncOperation {
    /// The error this operation has when it was cancelled.
    public final var cancellationError: OperationCancelled { OperationCancelled(operation: bareName) }

    /// Runs `handler` if the operation is cancelled while executing, at once if it has been.
    ///
    /// May be called from any thread. The handler runs once, on the thread that cancels, before the operation
    /// finishes; it is freed unused once there is a result. Where the cancellation came before the work began, the
    /// work never runs and neither does the handler.
    public final func onCancel(_ handler: @escaping @Sendable () -> Void) {
        if record.withLock({ $0.addCancelHandler(handler) }) { handler() }
    }

    /// Runs and frees the handlers. For an override of ``executionCancelled()``.
    public final func runCancelHandlers() {
        for handler in record.withLock({ $0.takeCancelHandlers() }) { handler() }
    }

    /// The end of the last completion: no call can come any more.
    final func completionDropped() {
        finish(.failure(OperationAbandoned(operation: bareName)))
    }

    /// The `async` form: the task decides when the operation ends, also when it was cancelled.
    func runTask(_ priority: TaskPriority?, _ body: @escaping @Sendable () async throws -> Output) {
        let task = Task(priority: priority) {
            do {
                finish(.success(try await body()))
            } catch is CancellationError where isCancelled {
                finish(.failure(cancellationError))
            } catch {
                finish(.failure(error))
            }
        }
        onCancel { task.cancel() }
    }

    /// The name in quotes, or type and address: for sentences.
    var displayName: String { misuseName(name, of: self) }

    /// The name as it is, or type and address: for errors.
    var bareName: String { bareMisuseName(name, of: self) }
}

extension AsyncOperation: CompletableJob {}
