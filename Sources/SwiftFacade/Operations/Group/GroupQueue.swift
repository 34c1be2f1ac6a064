// SPDX-License-Identifier: Apache-2.0
//
// Where the children of a group run. A group keeps its place in its own queue until its last child has ended. In a
// serial queue, or one full of groups, children in the same queue would wait for places for ever: there they run in the
// group's place (StepPlace.swift).
//
// One circle remains, as with `flatMap`: a child that waits for the group, or for an operation behind it in the same
// serial queue. It is searched for before the child is taken.

import Foundation

/// A queue that children are added to.
protocol GroupQueue: AnyObject, Sendable {
    func addChild(_ child: Operation)
    /// Where a group that begins on this thread adds its children: this queue, or the group's place in it.
    func placeForChildren() -> any GroupQueue
}

extension OperationQueue: GroupQueue {
    func addChild(_ child: Operation) { addOperation(child) }

    func placeForChildren() -> any GroupQueue {
        guard StepPlace.currentLender === self else { return self }
        let place = StepPlace(in: self)
        place.maxConcurrentOperationCount = maxConcurrentOperationCount
        return place
    }
}

/// The operations that a search has met. The caller frees it after the lock.
struct Met {
    private var operations: [ObjectIdentifier: Operation] = [:]

    /// Whether `operation` was not met before.
    mutating func insert(_ operation: Operation) -> Bool {
        operations.updateValue(operation, forKey: ObjectIdentifier(operation)) == nil
    }
}

/// The search for a circle through a group.
enum GroupCircle {
    /// Why `children` could never end in `group`, or nil. `isKnown`: what need not be walked.
    ///
    /// - Parameter behind: the serial queue in which the group holds the only place.
    static func reason(
        against children: [Operation],
        in group: AnyObject,
        behind queue: OperationQueue?,
        isKnown: (Operation) -> Bool,
        _ met: inout Met
    ) -> ChildRefused.Reason? {
        // Most children wait for nothing.
        var pending = children.filter { !$0.dependencies.isEmpty || $0 is any ChildHolder }
        if pending.isEmpty { return nil }
        let queued = queue.map { Set($0.operations.map(ObjectIdentifier.init)) } ?? []
        while let operation = pending.popLast() {
            if operation.isFinished { continue }
            for above in operation.dependencies + ((operation as? any ChildHolder)?.unfinishedChildren ?? [])
            {
                if above === group { return .waitsForGroup }
                if !met.insert(above) || isKnown(above) { continue }
                if queued.contains(ObjectIdentifier(above)), ChildEnd.isUnstarted(above) {
                    return .waitsForPlace(bareMisuseName(above.name, of: above))
                }
                pending.append(above)
            }
        }
        return nil
    }
}
