// SPDX-License-Identifier: Apache-2.0
//
// How a cancellation reaches the work, and the end of an operation whose completion was dropped.

import Foundation
import InterlockPool
import InterlockSync

extension AsyncOperation {
    /// The error with which a cancelled operation ends.
    public final var cancellationError: OperationCancelled { OperationCancelled(operation: bareName) }

    /// Runs `handler` if the operation is cancelled while executing, at once if it has been.
    ///
    /// The handler runs once, on the thread that cancels, before the operation finishes with the cancellation; it is
    /// freed unused where the operation ends otherwise. Added to one that was cancelled and has finished with that,
    /// it runs too: what the work had begun is stopped. Cancelled before its work began, the operation runs neither
    /// work nor handler.
    public final func onCancel(_ handler: @escaping @Sendable () -> Void) {
        if record.withLock({ $0.addCancelHandler(handler) }) { handler() }
    }

    /// Tells running work that it was cancelled: its handlers, then the subclass.
    final func stopWork() {
        for handler in record.withLock({ $0.takeCancelHandlers() }) { handler() }
        executionCancelled()
    }

    /// The cancellation was requested under the record's lock.
    final func tellCancelled(_ listeners: OperationRecord.Listeners) {
        // Makes it ready, whatever it waits for.
        ReadyPosting.around(self) { super.cancel() }
        tellQueueIfReady()
        announce(.cancelled, to: listeners)
    }

    /// No call can come any more.
    final func completionDropped() { finish(error: OperationAbandoned(operation: bareName)) }

    /// The name in quotes, or type and address.
    var displayName: String { misuseName(name, of: self) }

    /// The name, or type and address.
    var bareName: String { bareMisuseName(name, of: self) }
}

extension AsyncOperation: CompletableJob {}
