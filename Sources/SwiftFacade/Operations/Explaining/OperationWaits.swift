// SPDX-License-Identifier: Apache-2.0
//
// Collects what operations and light jobs wait for: from the ones asked about upward, breadth first, each once. No lock is
// held while another is asked, so the answer is not of one moment.
//
// Foundation does not tell whether an operation is in a queue. A queue of this module is known to the operation, and so
// is one that it was added to by a call of this module. For the rest: a queue that is given an operation asks it at
// once whether it is ready. An `AsyncOperation` that was not asked yet is in no queue; one that was may be, or its user
// has asked. Of operations of other classes nothing is known.

import Foundation

/// An operation whose work waits for others, as a group for its children.
protocol AwaitingOperation: Operation {
    /// Those that it waits for while it executes; finished ones do no harm.
    var awaitedOperations: [Operation] { get }
}

/// What the record knows of the waiting of its operation.
struct OperationStanding {
    var phase: OperationRecord.Phase
    var admission: WaitReason?
    var isCancelled: Bool
    var hasOutcome: Bool
    /// Whether somebody has asked if it is ready: nobody has added it to a queue otherwise.
    var wasAsked: Bool
    var queue: (any ExplainingQueue)?
    /// The light job for which the operation stands.
    var job: JobNode?
    var suspension: GroupSuspension?

    /// A suspended group starts what it holds.
    var isInNoQueue: Bool {
        phase == .waiting && queue == nil && !wasAsked && queuesAskAtOnce && suspension?.suspendedBy == nil
    }
}

/// Whether a queue asks each operation at once if it is ready, when it is given it.
#if canImport(Darwin)
// Not documented there.
private let queuesAskAtOnce = false
#else
private let queuesAskAtOnce = true
#endif

/// An operation or a light job.
enum WaitingWork {
    case operation(Operation)
    case job(JobNode)

    /// Of what an `InterlockQueue` holds; nil where it has ended.
    init?(_ node: JobNode) {
        guard let place = node as? OperationNode else {
            self = .job(node)
            return
        }
        guard let operation = place.operation else { return nil }
        self = .operation(operation)
    }

    var id: ObjectIdentifier {
        switch self {
        case .operation(let operation): ObjectIdentifier(operation)
        case .job(let job): ObjectIdentifier(job)
        }
    }

    var name: String {
        switch self {
        case .operation(let operation): bareMisuseName(operation.name, of: operation)
        case .job(let job): job.bareName
        }
    }

    var isFinished: Bool {
        switch self {
        case .operation(let operation): operation.isFinished
        case .job(let job): job.isFinished
        }
    }
}

struct OperationWaits {
    private var entries: [WaitExplanation.Entry] = []
    private var met: Set<ObjectIdentifier> = []
    /// All that is met is kept: an address stands for one operation or job.
    private var waiters: [WaitingWork] = []
    /// Between the jobs of each queue of which one was met.
    private var jobEdges: [ObjectIdentifier: [ObjectIdentifier: [JobNode]]] = [:]
    private var queueOf: [ObjectIdentifier: any ExplainingQueue] = [:]
    private var busy: [ObjectIdentifier: WaitReason?] = [:]
    /// What runs in queues of this module, by name.
    private var running: [ObjectIdentifier: [String]] = [:]
    /// By child of another class: the suspended group.
    private var suspendedIn: [ObjectIdentifier: String] = [:]

    /// `queue` is known to hold these.
    static func explain(_ start: [Operation], in queue: (any ExplainingQueue)? = nil) -> WaitExplanation {
        var waits = OperationWaits()
        for operation in start {
            waits.queueOf[ObjectIdentifier(operation)] = queue
            waits.meet(.operation(operation))
        }
        return waits.explained()
    }

    /// What an `InterlockQueue` holds, or some of it.
    static func explain(_ nodes: [JobNode]) -> WaitExplanation {
        var waits = OperationWaits()
        for node in nodes {
            guard let waiter = WaitingWork(node) else { continue }
            waits.queueOf[waiter.id] = node as? OperationNode
            waits.meet(waiter)
        }
        return waits.explained()
    }

    private mutating func explained() -> WaitExplanation {
        var next = 0
        while next < waiters.count {
            let waiter = waiters[next]
            // What it still waits for may have finished since it was met.
            let above = above(waiter).filter { !$0.isFinished }
            for other in above { meet(other) }
            switch waiter {
            case .operation(let operation): enter(operation, above)
            case .job(let job): enter(job, above)
            }
            next += 1
        }
        return WaitExplanation(entries: entries, circle: circle())
    }

    private mutating func meet(_ waiter: WaitingWork) {
        if !waiter.isFinished, met.insert(waiter.id).inserted { waiters.append(waiter) }
    }

    /// What it waits for, perhaps also what has finished.
    private mutating func above(_ waiter: WaitingWork) -> [WaitingWork] {
        switch waiter {
        case .operation(let operation):
            let job = (operation as? any GatedOperation)?.standing.job
            return operation.waitedForItself.map(WaitingWork.operation) + (job.map { [.job($0)] } ?? [])
        case .job(let job):
            let elsewhere = job.above
            let edges = jobEdges[ObjectIdentifier(job.core)] ?? job.core.edges()
            jobEdges[ObjectIdentifier(job.core)] = edges
            return (edges[ObjectIdentifier(job)] ?? []).map(WaitingWork.job)
                + elsewhere.jobs.map(WaitingWork.job)
                + elsewhere.operations.compactMap { $0.operation.map(WaitingWork.operation) }
        }
    }

    private mutating func enter(_ job: JobNode, _ above: [WaitingWork]) {
        if job.isFinished { return }
        let phase = job.phase
        let reasons: [WaitReason] =
            switch phase {
            case .running: [.work]
            case .submitted, .finished: []
            case .waiting where !above.isEmpty: above.map { reason(toWaitFor: $0) }
            case .waiting, .ready: reasonNotBegun(job).map { [$0] } ?? []
            }
        entries.append(WaitExplanation.Entry(operation: job.bareName, reasons: reasons))
    }

    private func reason(toWaitFor waiter: WaitingWork) -> WaitReason {
        if case .operation(let operation) = waiter, isKnownToBeInNoQueue(operation) {
            return .dependencyInNoQueue(waiter.name)
        }
        return .dependency(waiter.name)
    }

    private mutating func enter(_ operation: Operation, _ above: [WaitingWork]) {
        markSuspended(of: operation)
        let standing = (operation as? any GatedOperation)?.standing
        let isWorking = standing.map { $0.phase != .waiting } ?? operation.isExecuting
        if operation.isFinished { return }
        entries.append(
            WaitExplanation.Entry(
                operation: bareMisuseName(operation.name, of: operation),
                reasons: isWorking
                    ? Self.reasonsNotFinished(operation, standing, above)
                    : reasonsNotStarted(operation, standing)
            )
        )
    }

    /// Of an operation of another class nothing tells that it is a child.
    private mutating func markSuspended(of operation: Operation) {
        guard let name = (operation as? any SuspendableGroup)?.suspension.suspendedBy else { return }
        for child in (operation as? any AwaitingOperation)?.awaitedOperations ?? []
        where !(child is any GatedOperation) {
            suspendedIn[ObjectIdentifier(child)] = name
        }
    }

    private static func reasonsNotFinished(
        _ operation: Operation,
        _ standing: OperationStanding?,
        _ above: [WaitingWork]
    ) -> [WaitReason] {
        if let job = standing?.job, !job.isFinished { return [.dependency(job.bareName)] }
        let own: [WaitReason] = [standing?.admission ?? .work]
        guard operation is any AwaitingOperation else { return own }
        let preceding = (operation as? any GatedOperation)?.preceding.map(ObjectIdentifier.init)
        return own + above.filter { $0.id != preceding }.map { .child($0.name) }
    }

    private mutating func reasonsNotStarted(
        _ operation: Operation,
        _ standing: OperationStanding?
    ) -> [WaitReason] {
        let isCancelled = standing?.isCancelled ?? operation.isCancelled
        let queue = standing?.queue ?? queueOf[ObjectIdentifier(operation)]
        var reasons: [WaitReason] = []
        if !isCancelled {
            reasons = operation.dependencies.filter { !$0.isFinished }.map {
                reason(toWaitFor: .operation($0))
            }
        }
        if standing?.hasOutcome == true { reasons.append(.outcomeRecorded) }
        if let group = standing?.suspension?.suspendedBy ?? suspendedIn[ObjectIdentifier(operation)] {
            reasons.append(.groupSuspended(group))
        } else if let queue {
            // Held up by a dependency, it would not be started by an idle queue either.
            if !reasons.contains(where: \.isDependency), let busy = reasonNotStarted(operation, in: queue) {
                reasons.append(busy)
            }
        } else if isKnownToBeInNoQueue(operation) {
            reasons.append(.noQueue)
        } else if !reasons.contains(where: \.isDependency) {
            reasons.append(.notStarted)
        }
        return reasons
    }

    private func isKnownToBeInNoQueue(_ operation: Operation) -> Bool {
        queueOf[ObjectIdentifier(operation)] == nil
            && (operation as? any GatedOperation)?.standing.isInNoQueue == true
    }

    /// Of a Foundation queue, the same for all of its operations: asked for once.
    private mutating func reasonNotStarted(_ operation: Operation, in queue: any ExplainingQueue)
        -> WaitReason?
    {
        if let node = queue as? OperationNode { return reasonNotBegun(node) }
        guard queue is OperationQueue else { return queue.reasonNotStarted(operation) }
        // Foundation's own barriers are not among the dependencies that it tells.
        if !operation.isFreeToStart { return .barrier("a block") }
        if let known = busy[ObjectIdentifier(queue)] { return known }
        let reason = queue.reasonNotStarted(operation)
        busy[ObjectIdentifier(queue)] = .some(reason)
        return reason
    }

    /// Of a queue that is full, the names are asked for once.
    private mutating func reasonNotBegun(_ node: JobNode) -> WaitReason? {
        node.core.reason(node, &running[ObjectIdentifier(node.core)])
    }

    /// The first circle among what was met, found depth first.
    private mutating func circle() -> [String]? {
        var isOnPath: [ObjectIdentifier: Bool] = [:]
        for start in waiters where isOnPath[start.id] == nil {
            var path = [(waiter: start, above: above(start))]
            isOnPath[start.id] = true
            while let last = path.indices.last {
                guard let next = path[last].above.popLast() else {
                    isOnPath[path.removeLast().waiter.id] = false
                    continue
                }
                switch isOnPath[next.id] {
                case false: continue
                case true:
                    let first = path.firstIndex { $0.waiter.id == next.id }!
                    return path[first...].map(\.waiter.name)
                case nil:
                    isOnPath[next.id] = true
                    path.append((next, next.isFinished ? [] : above(next)))
                }
            }
        }
        return nil
    }
}

extension Operation {
    /// Its dependencies and what its work waits for, also through light jobs, and what its condition waits for.
    var waitedFor: [Operation] {
        guard let job = (self as? any GatedOperation)?.standing.job else { return waitedForItself }
        return waitedForItself + job.operationsAbove.compactMap(\.operation)
    }

    /// The same without those that a light job waits for.
    fileprivate var waitedForItself: [Operation] {
        var above = dependencies
        if let awaiting = self as? any AwaitingOperation { above += awaiting.awaitedOperations }
        if let preceding = (self as? any GatedOperation)?.preceding { above.append(preceding) }
        return above
    }

    /// Whether Foundation holds it back for no dependency, without telling an `AsyncOperation` that it was asked.
    fileprivate var isFreeToStart: Bool { (self as? any GatedOperation)?.isFreeOfDependencies ?? isReady }
}

extension WaitReason {
    fileprivate var isDependency: Bool {
        switch self {
        case .dependency, .dependencyInNoQueue: true
        default: false
        }
    }
}
