// SPDX-License-Identifier: Apache-2.0
//
// Operations in a queue of light jobs.

import Foundation
import InterlockPool

extension InterlockQueue {
    /// Adds an operation, which starts when its dependencies have finished, in whatever queues those are.
    ///
    /// Misuse: one that is in a queue of this kind, or was started. In a queue that was shut down, the operation ends
    /// with ``OperationQueueClosed``; one of another class than ``AsyncOperation`` is cancelled and finishes.
    ///
    /// - Parameter isBlocking: runs on ``WorkerPool/blocking``; so do the children of a group without a given queue.
    public func enqueue(_ operation: Operation, isBlocking: Bool = false) {
        core.add(operation, isBlocking: isBlocking)
    }

    /// Adds an operation, which starts when its dependencies have finished, in whatever queues those are. Its class is
    /// known when the call is compiled.
    ///
    /// Misuse: one that is in a queue of this kind, or was started. In a queue that was shut down, the operation ends
    /// with ``OperationQueueClosed``.
    ///
    /// - Parameter isBlocking: runs on ``WorkerPool/blocking``; so do the children of a group without a given queue.
    public func enqueue<Output>(_ operation: AsyncOperation<Output>, isBlocking: Bool = false) {
        core.add(operation as any QueuedOperation, isBlocking)
    }

    /// Adds the operations in their order.
    public func enqueue(_ first: Operation, _ second: Operation, _ others: Operation...) {
        for operation in [first, second] + others { enqueue(operation) }
    }

    /// The operations that have not finished, in no particular order; light jobs are not among them.
    public var operations: [Operation] { core.operations }
}
