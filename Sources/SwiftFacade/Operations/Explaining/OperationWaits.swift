// SPDX-License-Identifier: Apache-2.0
//
// What operations wait for, for the walk of Pool/Queue/Explaining/WaitWalk.swift.
//
// Foundation does not say whether an operation is in a queue. The operation knows a queue of this module, and one that
// it was added to by a call of this module. Any other queue that is given an operation asks it at once whether it is
// ready. So an `AsyncOperation` that was not asked yet is in no queue; one that was asked may be in a queue, or its
// user has asked. Nothing is known about operations of other classes.

import Foundation
import InterlockPool
import InterlockSync

/// An operation whose work waits for others, as a group for its children.
protocol AwaitingOperation: Operation {
    /// Those that it waits for while it executes; finished ones do no harm.
    var awaitedOperations: [Operation] { get }
}

extension GroupOperation: AwaitingOperation {}

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
struct OperationWaitStatus {
    var phase: WorkState.Phase
    var admission: WaitReason?
    var isCancelled: Bool
    var hasOutcome: Bool
    /// Whether a queue or a user has asked if it is ready. If not, it is in no queue.
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

    package func upstreamWork(_: inout WaitWalk) -> [any WaitingWork] {
        guard let job = (self as? any GatedOperation)?.waitStatus.job else { return waitedForItself }
        return waitedForItself + [job]
    }

    package func isInNoQueue(_ walk: WaitWalk) -> Bool {
        walk.queueOf[ObjectIdentifier(self)] == nil
            && (self as? any GatedOperation)?.waitStatus.isInNoQueue == true
    }

    package func reasons(_ upstream: [any WaitingWork], _ walk: inout WaitWalk) -> [WaitReason]? {
        markSuspended(&walk)
        let waitStatus = (self as? any GatedOperation)?.waitStatus
        let isWorking = waitStatus.map { $0.phase != .waiting } ?? isExecuting
        if isFinished { return nil }
        return isWorking ? reasonsNotFinished(waitStatus, upstream) : reasonsNotStarted(waitStatus, &walk)
    }

    /// An operation of another class does not know that it is a child: the walk notes it.
    private func markSuspended(_ walk: inout WaitWalk) {
        guard let name = (self as? any SuspendableGroup)?.suspension.suspendedBy else { return }
        for child in (self as? any AwaitingOperation)?.awaitedOperations ?? []
        where !(child is any GatedOperation) {
            walk.suspendedIn[ObjectIdentifier(child)] = name
        }
    }

    private func reasonsNotFinished(
        _ waitStatus: OperationWaitStatus?,
        _ upstream: [any WaitingWork]
    ) -> [WaitReason] {
        if let job = waitStatus?.job, !job.isFinished { return [.dependency(job.bareName)] }
        let own: [WaitReason] = [waitStatus?.admission ?? .work]
        guard self is any AwaitingOperation else { return own }
        let preceding = (self as? any GatedOperation)?.preceding
        return own + upstream.filter { $0 !== preceding }.map { .child($0.nameInExplanations) }
    }

    private func reasonsNotStarted(_ waitStatus: OperationWaitStatus?, _ walk: inout WaitWalk) -> [WaitReason]
    {
        let isCancelled = waitStatus?.isCancelled ?? self.isCancelled
        let queue: AnyObject? = waitStatus?.queue ?? walk.queueOf[ObjectIdentifier(self)]
        var reasons: [WaitReason] = []
        if !isCancelled {
            reasons = dependencies.filter { !$0.isFinished }.map { walk.reason(toWaitFor: $0) }
        }
        if waitStatus?.hasOutcome == true { reasons.append(.outcomeRecorded) }
        if let group = waitStatus?.suspension?.suspendedBy ?? walk.suspendedIn[ObjectIdentifier(self)] {
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

    /// A queue of Foundation gives one answer for all of its operations: it is asked once.
    private func reasonNotStarted(in queue: any ExplainingQueue, _ walk: inout WaitWalk) -> WaitReason? {
        if let node = queue as? WorkNode { return walk.reasonNotBegun(node) }
        guard queue is OperationQueue else { return queue.reasonNotStarted(self) }
        // Foundation's own barriers are not among the dependencies that it tells.
        if isBehindBarrier { return .barrier("a block") }
        if let known = walk.busy[ObjectIdentifier(queue)] { return known }
        let reason = queue.reasonNotStarted(self)
        walk.busy[ObjectIdentifier(queue)] = .some(reason)
        return reason
    }
}

extension Operation {
    /// Its dependencies and what its work waits for, also through light jobs, and what its condition waits for.
    var waitedFor: [Operation] {
        guard let job = (self as? any GatedOperation)?.waitStatus.job else { return waitedForItself }
        return waitedForItself + job.upstreamOperations.compactMap { $0.work as? Operation }
    }

    /// Its dependencies and what its work and its condition wait for, without what a light job waits for.
    fileprivate var waitedForItself: [Operation] {
        var upstream = dependencies
        if let awaiting = self as? any AwaitingOperation { upstream += awaiting.awaitedOperations }
        if let preceding = (self as? any GatedOperation)?.preceding { upstream.append(preceding) }
        return upstream
    }

    fileprivate var isBehindBarrier: Bool { (self as? any GatedOperation)?.isHeldByFoundation ?? !isReady }
}

extension WaitReason {
    fileprivate var isDependency: Bool {
        switch self {
        case .dependency, .dependencyInNoQueue: true
        default: false
        }
    }
}
