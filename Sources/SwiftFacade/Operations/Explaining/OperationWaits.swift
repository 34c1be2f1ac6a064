// SPDX-License-Identifier: Apache-2.0
//
// Collects what operations wait for: from the ones asked about upward, breadth first, each once. No lock is held while
// another operation is asked, so the answer is not of one moment.
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

struct OperationWaits {
    private var entries: [WaitExplanation.Entry] = []
    private var met: Set<ObjectIdentifier> = []
    /// All that is met is kept: an address stands for one operation.
    private var operations: [Operation] = []
    private var queueOf: [ObjectIdentifier: any ExplainingQueue] = [:]
    private var busy: [ObjectIdentifier: WaitReason?] = [:]
    /// By child of another class: the suspended group.
    private var suspendedIn: [ObjectIdentifier: String] = [:]

    /// `queue` is known to hold these.
    static func explain(_ start: [Operation], in queue: (any ExplainingQueue)? = nil) -> WaitExplanation {
        var waits = OperationWaits()
        for operation in start {
            waits.queueOf[ObjectIdentifier(operation)] = queue
            waits.meet(operation)
        }
        var next = 0
        while next < waits.operations.count {
            waits.enter(waits.operations[next])
            next += 1
        }
        return WaitExplanation(entries: waits.entries, circle: waits.circle())
    }

    private mutating func meet(_ operation: Operation) {
        if !operation.isFinished, met.insert(ObjectIdentifier(operation)).inserted {
            operations.append(operation)
        }
    }

    private mutating func enter(_ operation: Operation) {
        // What it still waits for may have finished since it was met.
        let above = operation.waitedFor.filter { !$0.isFinished }
        for dependency in above { meet(dependency) }
        markSuspended(of: operation)
        let standing = (operation as? any GatedOperation)?.standing
        let isWorking = standing.map { $0.phase != .waiting } ?? operation.isExecuting
        if operation.isFinished { return }
        entries.append(
            WaitExplanation.Entry(
                operation: bareMisuseName(operation.name, of: operation),
                reasons: isWorking
                    ? Self.reasonsNotFinished(operation, standing, above)
                    : reasonsNotStarted(operation, standing, above)
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
        _ above: [Operation]
    ) -> [WaitReason] {
        let own: [WaitReason] = [standing?.admission ?? .work]
        guard operation is any AwaitingOperation else { return own }
        let preceding = (operation as? any GatedOperation)?.preceding
        return own + above.filter { $0 !== preceding }.map { .child(name(of: $0)) }
    }

    private mutating func reasonsNotStarted(
        _ operation: Operation,
        _ standing: OperationStanding?,
        _ above: [Operation]
    ) -> [WaitReason] {
        let isCancelled = standing?.isCancelled ?? operation.isCancelled
        let queue = standing?.queue ?? queueOf[ObjectIdentifier(operation)]
        var reasons: [WaitReason] = []
        if !isCancelled {
            reasons = operation.dependencies.filter { !$0.isFinished }.map { dependency in
                let name = Self.name(of: dependency)
                return isKnownToBeInNoQueue(dependency) ? .dependencyInNoQueue(name) : .dependency(name)
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
        guard queue is OperationQueue else { return queue.reasonNotStarted(operation) }
        // Foundation's own barriers are not among the dependencies that it tells.
        if !operation.isFreeToStart { return .barrier("a block") }
        if let known = busy[ObjectIdentifier(queue)] { return known }
        let reason = queue.reasonNotStarted(operation)
        busy[ObjectIdentifier(queue)] = .some(reason)
        return reason
    }

    /// The first circle among what was met, found depth first.
    private func circle() -> [String]? {
        var isOnPath: [ObjectIdentifier: Bool] = [:]
        for start in operations where isOnPath[ObjectIdentifier(start)] == nil {
            var path = [(operation: start, above: start.waitedFor)]
            isOnPath[ObjectIdentifier(start)] = true
            while let last = path.indices.last {
                guard let above = path[last].above.popLast() else {
                    isOnPath[ObjectIdentifier(path.removeLast().operation)] = false
                    continue
                }
                switch isOnPath[ObjectIdentifier(above)] {
                case false: continue
                case true:
                    let first = path.firstIndex { $0.operation === above }!
                    return path[first...].map { Self.name(of: $0.operation) }
                case nil:
                    isOnPath[ObjectIdentifier(above)] = true
                    path.append((above, above.isFinished ? [] : above.waitedFor))
                }
            }
        }
        return nil
    }

    private static func name(of operation: Operation) -> String {
        bareMisuseName(operation.name, of: operation)
    }
}

extension Operation {
    /// Its dependencies, what its work waits for, and what its condition waits for.
    var waitedFor: [Operation] {
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
