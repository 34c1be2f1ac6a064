// SPDX-License-Identifier: Apache-2.0
//
// How operations come into a queue, and into the places in it of groups and `flatMap` steps. A place is a queue of its
// own for what runs in place of an operation that keeps its own until then (Group/GroupQueue.swift).

import Foundation
import InterlockPool
import InterlockSync

extension QueueCore {
    func add(_ operation: Operation, isBlocking: Bool) {
        if let own = operation as? any QueuedOperation {
            add(own, isBlocking)
        } else {
            addForeign(operation, isBlocking)
        }
    }

    func add(_ operation: any QueuedOperation, _ isBlocking: Bool) {
        operation.announceEnqueued()
        let node = WorkNode(self, operation, isBlocking: isBlocking)
        // Before the operation knows its node, and may tell it to run.
        node.enterQueue(done: 0)
        let isRefused = node.isFinished
        if let reason = operation.setNode(node) {
            misuse("InterlockQueue.enqueue", misuseName(operation.name, of: operation), reason)
        }
        if isRefused { return end(refused: operation) }
        operation.tellQueueIfReady()
    }

    private func addForeign(_ operation: Operation, _ isBlocking: Bool) {
        let name = misuseName(operation.name, of: operation)
        if operation.isFinished || operation.isExecuting {
            let state = operation.isFinished ? "has finished" : "is executing"
            misuse("InterlockQueue.enqueue", name, "it \(state) already; an operation runs once")
        }
        let work = ForeignWork(operation)
        let node = WorkNode(self, work, isBlocking: isBlocking)
        if let owner = ForeignOwners.add(operation, to: node) {
            let sentence = "it is in the queue \(owner.core.name) already; an operation is added once"
            misuse("InterlockQueue.enqueue", name, sentence)
        }
        node.enterQueue(done: 0)
        if node.isFinished { return end(refused: operation) }
        work.awaitReadiness(node)
    }

    /// Ends an operation that the queue has refused, because it was shut down. It is not started here: a caller of a
    /// closed queue does not run the handlers of others.
    private func end(refused operation: Operation) {
        guard let own = operation as? any QueuedOperation else {
            operation.cancel()
            return QueueCore.endings.run { operation.start() }
        }
        own.refuse(OperationQueueClosed(queue: name))
        // It may wait for dependencies still.
        QueueCore.endings.run { own.startUnchecked() }
    }
}

extension QueueCore: GroupQueue {
    func addChild(_ child: Operation) { add(child, isBlocking: false) }

    func hasPlace(for operation: Operation) -> Bool { Self.outerQueue(of: operation) === self }

    func placeForChildren() -> any GroupQueue { place(name, limit: limit, isBlocking: isBlocking) }

    /// A queue for what runs in the place of an operation of this one.
    func place(_ name: String, limit: Int?, isBlocking: Bool) -> QueueCore {
        QueueCore(name: name, pool: pool, isBlocking: isBlocking, limit: limit, outerQueue: self)
    }

    var queuedBehindOnlyPlace: [Operation]? { limit == 1 ? operations : nil }

    /// The operations that have not finished.
    var operations: [Operation] { nodes.compactMap { ($0 as? WorkNode)?.operation } }

    /// The queue that `operation` is in, or has a place in.
    static func outerQueue(of operation: Operation) -> QueueCore? {
        guard let core = (operation as? any QueuedOperation)?.node?.core else { return nil }
        return core.outerQueue ?? core
    }
}
