// SPDX-License-Identifier: Apache-2.0
//
// What an operation is to an `InterlockQueue`: the work of a node that waits for one thing, the operation's readiness,
// and ends with the operation. An `AsyncOperation` tells its node of both (`ExplainingQueue`). Of an operation of
// another class Foundation tells only those that depend on it, and only by a queue of its own: so an `AsyncOperation`
// without a queue, the arrival, depends on what is awaited, and its readiness is the news.

import Foundation
import InterlockPool
import InterlockSync

extension WorkNode {
    /// Nil after the end.
    var operation: Operation? { work?.waiting as? Operation }

    /// Takes the priority of `operation` over; true: the node is listed by another one.
    func readPriority(of operation: Operation) -> Bool {
        var isListed = false
        var priority: JobPriority
        // Another thread may have set it, and read it here, between this thread's question and its answer.
        repeat {
            priority = JobPriority(operation.queuePriority)
            if take(priority) { isListed = true }
        } while priority != JobPriority(operation.queuePriority)
        return isListed
    }

    /// The priority has been set.
    func priorityChanged() { if let operation, readPriority(of: operation) { core.addReady(self) } }
}

extension WorkNode: ExplainingQueue {
    func reasonNotStarted(_ operation: AnyObject) -> WaitReason? {
        var running: [String]?
        return core.reason(self, &running)
    }
    func operationIsReady() {
        priorityChanged()
        allDependenciesEnded()
    }
    func operationHasFinished() { end(error: nil) }
}

// MARK: Operations of other classes

/// Such an operation in a queue.
// `operation` does not change; Foundation's are safe to use from any thread.
final class ForeignWork: QueuedWork, @unchecked Sendable {
    private let operation: Operation

    init(_ operation: Operation) { self.operation = operation }

    var waiting: any WaitingWork { operation }

    func startWork(_ node: WorkNode) {
        operation.start()
        if operation.isFinished { return node.end(error: nil) }
        arrive(node, after: [operation]) { $0.end(error: nil) }
    }

    func refuse(_: any Error) { operation.cancel() }

    func cancel(_ node: WorkNode) {
        operation.cancel()
        node.allDependenciesEnded()
    }

    func willBeListed(_ node: WorkNode) { _ = node.readPriority(of: operation) }

    func wasDropped() { ForeignOwners.remove(operation) }

    /// Has the node become ready with the operation.
    ///
    /// - Parameter pause: before the next question to an operation that waits for nothing visible, in microseconds.
    func awaitReadiness(_ node: WorkNode, pause: Int = 100) {
        if operation.isReady { return node.operationIsReady() }
        let upstream = operation.dependencies.filter { !$0.isFinished }
        if upstream.isEmpty {
            // Foundation tells those that depend on an operation of its end one after the other: this one may be the
            // next. Or its own `isReady` says no, and nothing tells when that changes.
            let next = min(2 * pause, 10_000)
            DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(pause)) { [self] in
                if node.work != nil { awaitReadiness(node, pause: next) }
            }
            return
        }
        awaitEnd(of: upstream, node)
    }

    /// Asks the operation again when all of `upstream` have finished. One that is in a queue of this module is waited
    /// for by its node; what is left then is waited for by an arrival.
    private func awaitEnd(of upstream: [Operation], _ node: WorkNode) {
        var left = upstream
        while let last = left.last {
            if last.isFinished {
                left.removeLast()
                continue
            }
            guard let owner = ForeignOwners.node(of: last) else { break }
            let others = left.dropLast()
            // It keeps the operation, to which Foundation has an unretained pointer until then.
            let hook = owner.addEndHook { [self, weak node] in
                if let node, node.work != nil { awaitEnd(of: Array(others), node) }
            }
            if hook != nil { return }
            // Its node has ended: as the operation, or before it.
            break
        }
        if left.isEmpty { return awaitReadiness(node) }
        arrive(node, after: left) { [self] node in
            if node.work != nil { awaitReadiness(node) }
        }
    }

    private func arrive(
        _ node: WorkNode,
        after upstream: [Operation],
        _ then: @escaping @Sendable (WorkNode) -> Void
    ) {
        let arrival = AsyncOperation<Void> {}
        for operation in upstream { arrival.addDependency(operation) }
        // A gate holds its dependent weakly.
        node.setArrival(arrival)
        arrival.becomeArrival(Arrival(node, then))
    }

    /// Tells the node once that its arrival is ready.
    private final class Arrival: ExplainingQueue {
        private let then: PendingWork<@Sendable () -> Void>

        init(_ node: WorkNode, _ then: @escaping @Sendable (WorkNode) -> Void) {
            self.then = PendingWork { then(node) }
        }

        func reasonNotStarted(_ operation: AnyObject) -> WaitReason? { nil }
        func operationIsReady() { then.claim()?() }
    }
}

extension WorkNode: ResumingQueue {
    func resume(_ operation: Operation, _ body: @escaping @Sendable () -> Void) {
        let pool = taskPool
        // A closed pool takes nothing more; the operation was accepted before.
        if !pool.submit(body) { DispatchQueue.global().async(execute: body) }
    }
}

extension JobPriority {
    init(_ priority: Operation.QueuePriority) {
        self =
            switch priority {
            case .veryHigh: .veryHigh
            case .high: .high
            case .low: .low
            case .veryLow: .veryLow
            default: .normal
            }
    }
}

/// What a queue needs of an `AsyncOperation`, whatever its output.
protocol QueuedOperation: ObservedOperation, QueuedWork {
    /// Makes `node` the operation's place in a queue; the sentence says why not.
    func setNode(_ node: WorkNode) -> String?
    /// Its place in a queue of this module; nil after its end.
    var node: WorkNode? { get }
    func becomeArrival(_ queue: any ExplainingQueue)
    func tellQueueIfReady()
    /// Ends it, or starts it, whatever it waits for.
    func startUnchecked()
}

extension AsyncOperation: QueuedOperation {
    final func setNode(_ node: WorkNode) -> String? {
        record.withLock { record in
            switch record.held.queue {
            case let node as WorkNode:
                return "it is in the queue \(node.core.name) already; an operation is added once"
            case let queue as OperationQueue:
                return
                    "it is in queue \(misuseName(queue.name, of: queue)) already; an operation is added once"
            default: break
            }
            if record.hasEnded { return "it has finished already; an operation runs once" }
            if record.phase != .waiting { return "it is executing already; an operation runs once" }
            record.held.queue = node
            return nil
        }
    }

    final var node: WorkNode? { record.withLock { $0.held.queue as? WorkNode } }

    package final var waiting: any WaitingWork { self }
    package final func startWork(_: WorkNode) { start() }
    package final func refuse(_ error: any Error) { finish(error: error) }
    package final func cancel(_: WorkNode) { cancel() }
    package final func willBeListed(_ node: WorkNode) { _ = node.readPriority(of: self) }
    package final func wasDropped() {}

    final func becomeArrival(_ queue: any ExplainingQueue) {
        record.withLock { $0.held.queue = queue }
        tellQueueIfReady()
    }

    final func tellQueueIfReady() {
        record.withLock { $0.isFree ? $0.held.queue : nil }?.operationIsReady()
    }
}

/// The operations of other classes that are in queues of this module, with their nodes.
enum ForeignOwners {
    private static let owners = VisibleMutex<[ObjectIdentifier: WorkNode]>([:])

    /// The node that has the operation, or nil: it is `node`'s now.
    static func add(_ operation: Operation, to node: WorkNode) -> WorkNode? {
        let id = ObjectIdentifier(operation)
        return owners.withLock { owners in
            if let owner = owners[id] { return owner }
            owners[id] = node
            return nil
        }
    }

    static func node(of operation: Operation) -> WorkNode? {
        let id = ObjectIdentifier(operation)
        return owners.withLock { $0[id] }
    }

    static func remove(_ operation: Operation) {
        let id = ObjectIdentifier(operation)
        let removed = owners.withLock { $0.removeValue(forKey: id) }
        // Not freed under the lock.
        withExtendedLifetime(removed) {}
    }
}
