// SPDX-License-Identifier: Apache-2.0
//
// The cycle that categories leave: what holds one waits for an operation that needs it. Of what an operation waits for
// while it works, the operations are known that a `flatMap` step made. The search goes from what holds the categories
// along these, their unfinished dependencies and the categories those wait for:
//
//     ticket waits ──▶ holder ──awaits──▶ made by it ──▶ dependency ──▶ … ──▶ the ticket's operation ?
//
// Two sides may close a cycle: a ticket that begins to wait, and a holder that begins to await. Each publishes what it
// does before it searches, so that of two at the same time one finds the cycle.
//
// A category of several places holds up a ticket only where every owner of a place is held up.

import Foundation
import InterlockSync

/// An operation of this module in the search, whatever its output.
protocol ExcludingOperation: Operation {
    var ticket: ExclusionTicket? { get }
    /// The operation that its work waits for.
    var awaited: Operation? { get }
    /// False where it has ended.
    func beginAwaiting(_ operation: Operation) -> Bool
}

extension AsyncOperation: ExcludingOperation {
    final var ticket: ExclusionTicket? { record.withLock { $0.held.policies?.ticket } }
    final var awaited: Operation? { record.withLock { $0.held.policies?.awaited } }
    final func beginAwaiting(_ operation: Operation) -> Bool {
        record.withLock { $0.beginAwaiting(operation) }
    }
}

/// `step` begins to wait for `inner`, which it made: fails if what it waits for waits for a category that it holds.
func checkCategories(_ step: Operation, awaiting inner: Operation) throws(OperationDeadlocked) {
    guard let own = step as? any ExcludingOperation, own.beginAwaiting(inner) else { return }
    var search = ExclusionCycle(goal: step)
    guard let found = search.leadsToGoal(from: inner) else { return }
    let name = step.nameInExplanations
    throw OperationDeadlocked(operation: name, awaited: found.waiter, category: found.category)
}

extension ExclusionTicket {
    /// The error of an operation that has begun to wait for a category that will not come free.
    func deadlock() -> OperationDeadlocked? {
        guard let operation else { return nil }
        var search = ExclusionCycle(goal: operation)
        for obstacle in obstacles where search.areHeldUp(obstacle.owners) {
            let holder = obstacle.owners.first?.name ?? ""
            return OperationDeadlocked(operation: name, awaited: holder, category: obstacle.category)
        }
        return nil
    }
}

/// A search for a path back to `goal`. It takes no lock: its answer may be old, but not about a cycle, which stays.
struct ExclusionCycle {
    /// A category on the path, and the operation that waits for it.
    struct Found { var waiter: String, category: String }

    let goal: Operation
    /// What was found out; false while an operation is being searched.
    private var met: [Operation: Bool] = [:]

    init(goal: Operation) { self.goal = goal }

    /// The last category on a way from `start` to the goal, or nil where there is none over a category.
    mutating func leadsToGoal(from start: Operation) -> Found? {
        for operation in [start] + DependencyGraph.unfinished(upstreamOf: start) {
            guard let ticket = (operation as? any ExcludingOperation)?.ticket else { continue }
            for obstacle in ticket.obstacles where areHeldUp(obstacle.owners) {
                return Found(waiter: ticket.name, category: obstacle.category)
            }
        }
        return nil
    }

    /// Whether each of them waits for the goal, directly or by others.
    mutating func areHeldUp(_ owners: [ExclusionTicket]) -> Bool {
        !owners.isEmpty && owners.allSatisfy { owner in owner.operation.map { waitsForGoal($0) } ?? false }
    }

    private mutating func waitsForGoal(_ operation: Operation) -> Bool {
        if operation === goal { return true }
        if let known = met[operation] { return known }
        met[operation] = false
        guard !operation.isFinished, let own = operation as? any ExcludingOperation else { return false }
        // By a category that will not come free, or by its work.
        var waits = (own.ticket?.obstacles ?? []).contains { areHeldUp($0.owners) }
        if !waits, let awaited = own.awaited {
            let upstream = [awaited] + DependencyGraph.unfinished(upstreamOf: awaited)
            waits = upstream.contains { waitsForGoal($0) }
        }
        met[operation] = waits
        return waits
    }
}
