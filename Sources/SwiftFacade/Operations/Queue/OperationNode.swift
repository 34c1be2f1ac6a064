// SPDX-License-Identifier: Apache-2.0
//
// What an operation is to an `InterlockQueue`: a node that waits for one thing, the operation's readiness, and ends with
// the operation. An `AsyncOperation` tells its node of both (`ExplainingQueue`). Of an operation of another class
// Foundation tells only those that depend on it, and only by a queue of its own: so an `AsyncOperation` without a queue,
// the arrival, depends on what is awaited, and its readiness is the news.

import Foundation

// As JobNode; `held` changes once, at the end, under the stripe's lock.
final class OperationNode: JobNode, @unchecked Sendable {
    private var held: Operation?
    /// The operation is of this module.
    private let isOwn: Bool

    init(_ core: QueueCore, _ operation: Operation, isOwn: Bool, isBlocking: Bool) {
        held = operation
        self.isOwn = isOwn
        super.init(core, JobOptions(isBlocking: isBlocking), pending: 2) {
            unsafeDowncast($0, to: OperationNode.self).start()
        }
    }

    /// What runs its parts that the queue does not begin.
    var taskPool: WorkerPool { fields.pointee.isBlocking || core.isBlocking ? .blocking : core.pool }

    /// Nil after the end.
    var operation: Operation? { withStripe { _, _ in held } }

    override var bareName: String {
        operation.map { bareMisuseName($0.name, of: $0) } ?? super.bareName
    }

    private func start() -> Successor? {
        guard let operation else { return nil }
        operation.start()
        if !isOwn { awaitEnd(of: operation) }
        return nil
    }

    override var endsCancelled: Bool { false }

    override func dropWork() {
        let operation = withStripe { _, _ in held.take() }
        if !isOwn, let operation { ForeignOwners.remove(operation) }
    }

    override func refuse(_ error: WorkerPoolError) {
        guard let operation else { return }
        if let own = operation as? any QueuedOperation {
            own.refuse(error)
        } else {
            operation.cancel()
        }
        // A cancelled operation only finishes.
        _ = start()
    }

    override func cancel() {
        guard let operation else { return }
        operation.cancel()
        if !isOwn { dependenciesEnded() }
    }

    // MARK: Priority

    /// Takes the operation's priority over; true: the node is listed by another one.
    @discardableResult
    private func readPriority() -> Bool {
        guard let operation else { return false }
        var isListed = false
        var priority: JobPriority
        // Another thread may have set it, and read it here, between this thread's question and its answer.
        repeat {
            priority = JobPriority(operation.queuePriority)
            let mustMove = withStripe { fields, _ in
                let phase = fields.pointee.phase
                // The pool reads it from then on.
                guard phase == .waiting || phase == .ready, fields.pointee.priority != priority else {
                    return false
                }
                fields.pointee.priority = priority
                return phase == .ready
            }
            if mustMove { isListed = true }
        } while priority != JobPriority(operation.queuePriority)
        return isListed
    }

    override func willBeListed() { readPriority() }

    /// The priority has been set.
    func priorityChanged() {
        if readPriority() { core.admit(self) }
    }

    // MARK: Operations of other classes

    /// Has the node become ready with the operation.
    ///
    /// - Parameter pause: before the next question to an operation that waits for nothing visible, in microseconds.
    func awaitReadiness(of operation: Operation, pause: Int = 100) {
        if operation.isReady { return operationIsReady() }
        let above = operation.dependencies.filter { !$0.isFinished }
        if above.isEmpty {
            // Foundation tells those that depend on an operation of its end one after the other: this one may be the
            // next. Or its own `isReady` says no, and nothing tells when that changes.
            let next = min(2 * pause, 10_000)
            DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(pause)) { [self] in
                if let operation = self.operation { awaitReadiness(of: operation, pause: next) }
            }
            return
        }
        arrive(after: above) { node in
            if let operation = node.operation { node.awaitReadiness(of: operation) }
        }
    }

    private func awaitEnd(of operation: Operation) {
        if operation.isFinished { return end(error: nil) }
        arrive(after: [operation]) { $0.end(error: nil) }
    }

    private func arrive(after above: [Operation], _ then: @escaping @Sendable (OperationNode) -> Void) {
        let arrival = AsyncOperation<Void> {}
        for operation in above { arrival.addDependency(operation) }
        // A gate holds its dependent weakly.
        setArrival(arrival)
        arrival.becomeArrival(Arrival(self, then))
    }

    /// Tells the node once that its arrival is ready.
    private final class Arrival: ExplainingQueue {
        private let then: PendingWork<@Sendable () -> Void>

        init(_ node: OperationNode, _ then: @escaping @Sendable (OperationNode) -> Void) {
            self.then = PendingWork { then(node) }
        }

        func reasonNotStarted(_ operation: AnyObject) -> WaitReason? { nil }
        func operationIsReady() { then.claim()?() }
    }
}

extension OperationNode: ExplainingQueue {
    func reasonNotStarted(_ operation: AnyObject) -> WaitReason? {
        var running: [String]?
        return core.reason(self, &running)
    }
    func operationIsReady() {
        priorityChanged()
        dependenciesEnded()
    }
    func operationHasFinished() { end(error: nil) }
}

extension OperationNode: ResumingQueue {
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
protocol QueuedOperation: ObservedOperation {
    /// Makes `node` the operation's place in a queue; the sentence says why not.
    func enter(_ node: OperationNode) -> String?
    /// Its place in a queue of this module; nil after its end.
    var node: OperationNode? { get }
    /// Ends an operation that has not begun.
    func refuse(_ error: any Error)
    func becomeArrival(_ queue: any ExplainingQueue)
    func tellQueueIfReady()
}

extension AsyncOperation: QueuedOperation {
    final func enter(_ node: OperationNode) -> String? {
        record.withLock { record in
            switch record.held.queue {
            case let node as OperationNode:
                return "it is in the queue \(node.core.name) already; an operation is added once"
            case let queue as OperationQueue:
                return
                    "it is in queue \(misuseName(queue.name, of: queue)) already; an operation is added once"
            default: break
            }
            if record.phase == .finished { return "it has finished already; an operation runs once" }
            if record.phase != .waiting { return "it is executing already; an operation runs once" }
            record.held.queue = node
            return nil
        }
    }

    final var node: OperationNode? { record.withLock { $0.held.queue as? OperationNode } }

    final func refuse(_ error: any Error) { finish(error: error) }

    final func becomeArrival(_ queue: any ExplainingQueue) {
        record.withLock { $0.held.queue = queue }
        tellQueueIfReady()
    }

    final func tellQueueIfReady() {
        guard let queue = record.withLock({ $0.held.queue }) else { return }
        if isFreeOfDependencies || isCancelled { queue.operationIsReady() }
    }
}

/// The operations of other classes that are in queues of this module, with the names of the queues.
enum ForeignOwners {
    private static let owners = VisibleMutex<[ObjectIdentifier: String]>([:])

    /// The queue that has the operation, or nil: it is `queue`'s now.
    static func add(_ operation: Operation, to queue: String) -> String? {
        let id = ObjectIdentifier(operation)
        return owners.withLock { owners in
            if let owner = owners[id] { return owner }
            owners[id] = queue
            return nil
        }
    }

    static func remove(_ operation: Operation) {
        let id = ObjectIdentifier(operation)
        owners.withLock { $0[id] = nil }
    }
}
