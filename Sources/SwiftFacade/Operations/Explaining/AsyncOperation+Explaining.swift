// SPDX-License-Identifier: Apache-2.0
//
// Asking operations and Foundation's queues what they wait for; and what operations learn about their queue.

import Foundation
import InterlockPool
import InterlockSync

extension AsyncOperation {
    /// What this operation waits for, and what that waits for, up to what runs or was never started.
    ///
    /// For a graph that hangs: the text has a line for each operation, with the names of all that holds it up. An
    /// operation that runs is shown as running. Empty where this operation has finished.
    ///
    /// May be called from any thread. Blocks for the lock of one operation or queue at a time, and asks operations of
    /// other classes for `isFinished`, `isExecuting`, `isReady` and `dependencies`.
    ///
    /// - Complexity: O(*v* + *e*) in the unfinished upstream operations and their edges.
    public final func explainWaiting() -> WaitExplanation { WaitWalk.explain([self]) }
}

extension OperationQueue {
    /// What the operations in this queue wait for, and what that waits for, in this queue and in others.
    ///
    /// The text has a line for each operation, with the names of all that holds it up. Empty where the queue is empty.
    /// May be called from any thread. Blocks for the lock of one operation or queue at a time, and asks operations of
    /// other classes for `isFinished`, `isExecuting`, `isReady` and `dependencies`.
    public func explainWaiting() -> WaitExplanation { WaitWalk.explain(operations, in: self) }
}

extension OperationQueue: ExplainingQueue {
    /// The reason is the same for every operation that waits for no other.
    func reasonNotStarted(_ operation: AnyObject) -> WaitReason? {
        let name = bareMisuseName(name, of: self)
        if isSuspended { return .queueSuspended(name) }
        let limit = maxConcurrentOperationCount
        if limit == OperationQueue.defaultMaxConcurrentOperationCount { return nil }
        let running = operations.filter(\.isExecuting)
        guard running.count >= limit else { return nil }
        return .queueIsFull(name, running: running.map(\.nameInExplanations))
    }
}

extension AsyncOperation {
    var waitStatus: OperationWaitStatus { record.withLock { $0.waitStatus } }

    /// Before the operation is added to `queue` by a call of this module. A second time is misuse: Foundation would
    /// stop the program without a name.
    func enlist(in queue: OperationQueue) {
        let before = record.withLock { record in
            let before = record.waitStatus
            if before.phase == .waiting, before.queue == nil { record.held.queue = queue }
            return before
        }
        let seen: String
        switch (before.phase, before.queue) {
        case (.waiting, nil): return
        case (.waiting, let first as OperationQueue):
            seen = "it is in queue \(misuseName(first.name, of: first)) already"
        case (.waiting, let node as WorkNode): seen = "it is in the queue \(node.core.name) already"
        case (.waiting, _): seen = "it is in a queue already"
        case (.ended, _): seen = "it has finished"
        default: seen = "it is executing"
        }
        let sentence =
            "\(seen), and cannot be added to \(misuseName(queue.name, of: queue)); an operation is added once"
        misuse("OperationQueue.enqueue", displayName, sentence)
    }

    /// For an operation whose work waits for others (`AwaitingOperation`), before it waits for `other`: the path that
    /// would close a cycle, or nil; then the edge is checked like a dependency from now on, until either finishes.
    func pathClosed(byAwaiting other: Operation, isQuestion: Bool = false) -> [Operation]? {
        var walk = DependencyGraph.Walk()
        let path = DependencyGraph.lock.withLock { pathClosed(byAwaiting: other, &$0, &walk, isQuestion) }
        withExtendedLifetime(walk) {}
        return path
    }

    /// Finds that path under the graph's lock; a question adds no edge. The caller frees `walk` after releasing the
    /// lock.
    func pathClosed(
        byAwaiting other: Operation,
        _ graph: inout DependencyGraph.State,
        _ walk: inout DependencyGraph.Walk,
        _ isQuestion: Bool = false
    ) -> [Operation]? {
        graph.forgetRetired()
        let gated = other as? any GatedOperation
        var edge = DependencyGraph.NewEdge(
            dependent: self,
            dependency: other,
            isForeign: gated == nil,
            isDependedUpon: record.withLock { $0.isDependedUpon },
            downstream: vertex(in: &graph.order),
            upstream: isQuestion
                ? gated?.vertex(in: &graph.order) : gated?.vertexAsDependency(in: &graph.order)
        )
        let path = graph.path(closedBy: &edge, &walk)
        if path != nil || isQuestion { return path }
        if gated == nil, let downstream = edge.downstream, !other.isFinished {
            graph.foreign.add(other, waitedForBy: .work(self), at: downstream, &graph.order, &walk)
        }
        _ = graph.addChecked(edge, &walk)
        return nil
    }
}
