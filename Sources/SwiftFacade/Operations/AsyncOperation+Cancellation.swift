// SPDX-License-Identifier: Apache-2.0
//
// How a cancellation reaches the work: the handlers, one of which is `Task.cancel` of an `async` closure; and the end of
// an operation whose completion was thrown away.

import Foundation

extension AsyncOperation {
    /// The error with which this operation ends when it was cancelled. May be read from any thread.
    public final var cancellationError: OperationCancelled { OperationCancelled(operation: bareName) }

    /// Runs `handler` if the operation is cancelled while executing, at once if it has been.
    ///
    /// May be called from any thread. The handler runs once, on the thread that cancels, before the operation
    /// finishes. It is freed unused once there is a result. After a cancellation that came before the work began, the
    /// work never runs and neither does the handler.
    public final func onCancel(_ handler: @escaping @Sendable () -> Void) {
        if record.withLock({ $0.addCancelHandler(handler) }) { handler() }
    }

    /// Runs and frees the handlers. For an override of ``executionCancelled()``.
    public final func runCancelHandlers() {
        for handler in record.withLock({ $0.takeCancelHandlers() }) { handler() }
    }

    /// The last reference to the completion has gone: no call can come any more.
    final func completionDropped() {
        finish(error: OperationAbandoned(operation: bareName))
    }

    /// The name in quotes, or type and address: for sentences.
    var displayName: String { misuseName(name, of: self) }

    /// The name as it is, or type and address: for errors.
    var bareName: String { bareMisuseName(name, of: self) }
}

extension AsyncOperation: CompletableJob {}
