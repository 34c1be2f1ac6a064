// SPDX-License-Identifier: Apache-2.0
//
// What operations wait for, for the walk of Pool/Queue/Explaining/WaitWalk.swift.
//
// Foundation does not tell whether an operation is in a queue. A queue of this module is known to the operation, and so
// is one that it was added to by a call of this module. For the rest: a queue that is given an operation asks it at
// once whether it is ready. An `AsyncOperation` that was not asked yet is in no queue; one that was may be, or its user
// has asked. Of operations of other classes nothing is known.

import Foundation
import InterlockPool
import InterlockSync

/// An operation whose work waits for others, as a group for its children.
protocol AwaitingOperation: Operation {
    /// Those that it waits for while it executes; finished ones do no harm.
    var awaitedOperations: [Operation] { get }
}

/// A queue of this module, asked about an operation that it holds.
protocol ExplainingQueue: AnyObject, Sendable {
    /// Why `operation`, which waits for no dependency, has not been started; nil where it is about to be.
    func reasonNotStarted(_ operation: AnyObject) -> WaitReason?
    /// The operation waits for no dependency any more, or was cancelled. May come more than once.
    func operationIsReady()
    /// The operation has finished, and its dependents have been released.
    func operationHasFinished()
}

extension ExplainingQueue {
    func operationIsReady() {}
    func operationHasFinished() {}
}

/// What the record knows of the waiting of its operation.
struct OperationStanding {
    var phase: WorkState.Phase
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

extension WaitWalk {
    /// `queue` is known to hold these.
    static func explain(_ start: [Operation], in queue: (any ExplainingQueue)? = nil) -> WaitExplanation {
        var walk = WaitWalk()
        for operation in start { walk.queueOf[ObjectIdentifier(operation)] = queue }
        return walk.explain(start)
    }
}

extension Operation: WaitingWork {
    package var nameInExplanations: String { bareMisuseName(name, of: self) }

    package func above(_: inout WaitWalk) -> [any WaitingWork] {
        guard let job = (self as? any GatedOperation)?.standing.job else { return waitedForItself }
        return waitedForItself + [job]
    }

    package func isInNoQueue(_ walk: WaitWalk) -> Bool {
        walk.queueOf[ObjectIdentifier(self)] == nil
            && (self as? any GatedOperation)?.standing.isInNoQueue == true
    }

    package func reasons(_ above: [any WaitingWork], _ walk: inout WaitWalk) -> [WaitReason]? {
        markSuspended(&walk)
        let standing = (self as? any GatedOperation)?.standing
        let isWorking = standing.map { $0.phase != .waiting } ?? isExecuting
        if isFinished { return nil }
        return isWorking ? reasonsNotFinished(standing, above) : reasonsNotStarted(standing, &walk)
    }

    /// Of an operation of another class nothing tells that it is a child.
    private func markSuspended(_ walk: inout WaitWalk) {
        guard let name = (self as? any SuspendableGroup)?.suspension.suspendedBy else { return }
        for child in (self as? any AwaitingOperation)?.awaitedOperations ?? []
        where !(child is any GatedOperation) {
            walk.suspendedIn[ObjectIdentifier(child)] = name
        }
    }

    private func reasonsNotFinished(
        _ standing: OperationStanding?,
        _ above: [any WaitingWork]
    ) -> [WaitReason] {
        if let job = standing?.job, !job.isFinished { return [.dependency(job.bareName)] }
        let own: [WaitReason] = [standing?.admission ?? .work]
        guard self is any AwaitingOperation else { return own }
        let preceding = (self as? any GatedOperation)?.preceding
        return own + above.filter { $0 !== preceding }.map { .child($0.nameInExplanations) }
    }

    private func reasonsNotStarted(_ standing: OperationStanding?, _ walk: inout WaitWalk) -> [WaitReason] {
        let isCancelled = standing?.isCancelled ?? self.isCancelled
        let queue: AnyObject? = standing?.queue ?? walk.queueOf[ObjectIdentifier(self)]
        var reasons: [WaitReason] = []
        if !isCancelled {
            reasons = dependencies.filter { !$0.isFinished }.map { walk.reason(toWaitFor: $0) }
        }
        if standing?.hasOutcome == true { reasons.append(.outcomeRecorded) }
        if let group = standing?.suspension?.suspendedBy ?? walk.suspendedIn[ObjectIdentifier(self)] {
            reasons.append(.groupSuspended(group))
        } else if let queue = queue as? any ExplainingQueue {
            // Held up by a dependency, it would not be started by an idle queue either.
            if !reasons.contains(where: \.isDependency), let busy = reasonNotStarted(in: queue, &walk) {
                reasons.append(busy)
            }
        } else if isInNoQueue(walk) {
            reasons.append(.noQueue)
        } else if !reasons.contains(where: \.isDependency) {
            reasons.append(.notStarted)
        }
        return reasons
    }

    /// Of a Foundation queue, the same for all of its operations: asked for once.
    private func reasonNotStarted(in queue: any ExplainingQueue, _ walk: inout WaitWalk) -> WaitReason? {
        if let node = queue as? WorkNode { return walk.reasonNotBegun(node) }
        guard queue is OperationQueue else { return queue.reasonNotStarted(self) }
        // Foundation's own barriers are not among the dependencies that it tells.
        if !isFreeToStart { return .barrier("a block") }
        if let known = walk.busy[ObjectIdentifier(queue)] { return known }
        let reason = queue.reasonNotStarted(self)
        walk.busy[ObjectIdentifier(queue)] = .some(reason)
        return reason
    }
}

extension Operation {
    /// Its dependencies and what its work waits for, also through light jobs, and what its condition waits for.
    var waitedFor: [Operation] {
        guard let job = (self as? any GatedOperation)?.standing.job else { return waitedForItself }
        return waitedForItself + job.operationsAbove.compactMap { $0.work as? Operation }
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
