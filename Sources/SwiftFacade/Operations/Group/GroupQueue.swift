// SPDX-License-Identifier: Apache-2.0
//
// The queue in which the children of a group run. A group keeps its place in its own queue until its last child has
// ended. In a serial queue, or one full of groups, children in the same queue would wait for places for ever: there
// they run in the group's place (StepPlace.swift). A queue of the group's own is in that place, too: what its children
// begin in the queue around the group.
//
// One cycle remains, as with `flatMap`: a child that waits for the group, or for an operation behind it in the same
// serial queue. It is searched for before the child is taken.

import Foundation
import InterlockPool
import InterlockSync

/// A queue that children are added to.
protocol GroupQueue: AnyObject, Sendable {
    func addChild(_ child: Operation)
    /// Whether `operation`, which executes on this thread, keeps a place in this queue.
    func hasPlace(for operation: Operation) -> Bool
    /// A queue of the same width for what runs in the place of such an operation.
    func placeForChildren() -> any GroupQueue
    /// The unfinished operations, where one runs at a time.
    var queuedBehindOnlyPlace: [Operation]? { get }
    /// Set for a queue of one group alone.
    var isSuspended: Bool { get set }
}

extension OperationQueue: GroupQueue {
    func addChild(_ child: Operation) { addOperation(child) }

    func hasPlace(for operation: Operation) -> Bool { StepPlace.currentOuterQueue === self }

    func placeForChildren() -> any GroupQueue {
        let place = StepPlace(in: self)
        place.maxConcurrentOperationCount = maxConcurrentOperationCount
        return place
    }

    var queuedBehindOnlyPlace: [Operation]? { maxConcurrentOperationCount == 1 ? operations : nil }
}

/// The search for a cycle through a group.
enum GroupCycle {
    /// Why `children` could never end in `group`, or nil. `isKnown`: what need not be walked.
    ///
    /// - Parameter behind: the queue in which the group holds a place, if it is serial the only one.
    static func reason(
        against children: [Operation],
        in group: AnyObject,
        behind queue: (any GroupQueue)?,
        isKnown: (Operation) -> Bool,
        _ met: inout DependencyGraph.Walk
    ) -> ChildRefused.Reason? {
        // Most children wait for nothing.
        var pending = children.filter { !$0.waitedFor.isEmpty }
        if pending.isEmpty { return nil }
        let queued = Set((queue?.queuedBehindOnlyPlace ?? []).map(ObjectIdentifier.init))
        while let operation = pending.popLast() {
            if operation.isFinished { continue }
            for upstream in operation.waitedFor {
                if upstream === group { return .waitsForGroup }
                if !met.meets(upstream) || isKnown(upstream) { continue }
                if queued.contains(ObjectIdentifier(upstream)), ChildEnd.isUnstarted(upstream) {
                    return .waitsForPlace(upstream.nameInExplanations)
                }
                pending.append(upstream)
            }
        }
        return nil
    }
}
