// SPDX-License-Identifier: Apache-2.0
//
// Finds the cycle an edge would close. Foundation accepts a cycle, and its operations wait for ever, unreported. All
// edges whose dependent is an `AsyncOperation` are added under one lock: two threads cannot close a cycle between them
// unseen. Edges whose dependent is of another kind ("foreign") are added without our knowledge and walked when met; a
// cycle whose last edge is of that kind is not seen.
//
// The search walks up, depth first, from the new dependency to the dependent, except where no path can end there. The
// last edge of a path starts either at an operation of this module, and then the dependent is marked as depended upon;
// or at a foreign one. Foreign edges alone lead to that one, from the new dependency or from a foreign operation that
// an unfinished operation of this module waits for. Such operations are listed, and only unfinished foreign ones
// walked:
//
//     new dependency ◀── … ◀── gated ◀── listed foreign ◀── foreign ◀── dependent ?
//                                        └──────── walked ───────────────────────┘
//
// So a chain built from its head costs O(1) a link, whatever else is in the graph.
//
// Of what users write, `isFinished` and `dependencies` of foreign operations run under the lock. Nothing is freed under
// it: what a walk has met is kept.

import Foundation

enum DependencyGraph {
    struct State {
        var foreign = ForeignOperations()
        /// For tests: the operations that the walks have visited.
        var visited = 0
    }

    /// Held while an edge is checked and added. Taken before any operation's own lock.
    static let lock = VisibleMutex(State())

    /// What a walk has met. The caller frees it after the lock.
    struct Walk {
        fileprivate var cameFrom: [ObjectIdentifier: Operation] = [:]
        fileprivate var met: [ObjectIdentifier: Operation] = [:]
        fileprivate var metBefore: [ObjectIdentifier: Operation] = [:]
        fileprivate var waiting: [any GatedOperation] = []
        var visited = 0

        /// Whether `operation` was not met before.
        fileprivate mutating func meets(_ operation: Operation) -> Bool {
            met.updateValue(operation, forKey: ObjectIdentifier(operation)) == nil
        }

        fileprivate mutating func startOver() {
            metBefore = met
            met = [:]
        }
    }

    /// The operations from `start` up to `goal`, both included, along unfinished dependencies, or nil. Without the lock
    /// the answer may be old.
    static func path(from start: Operation, to goal: Operation, _ walk: inout Walk) -> [Operation]? {
        if start === goal { return [start] }
        _ = walk.meets(start)
        var pending = [start]
        while let operation = pending.popLast() {
            walk.visited += 1
            // A finished operation holds up nothing.
            if operation.isFinished { continue }
            for dependency in operation.dependencies where walk.meets(dependency) {
                walk.cameFrom[ObjectIdentifier(dependency)] = operation
                if dependency === goal { return trail(to: goal, walk.cameFrom) }
                pending.append(dependency)
            }
        }
        return nil
    }

    /// The unfinished operations above `start`. The answer may be old.
    static func unfinished(above start: Operation) -> [Operation] {
        var walk = Walk()
        var unfinished: [Operation] = []
        var pending = [start]
        while let operation = pending.popLast() {
            for dependency in operation.dependencies where walk.meets(dependency) && !dependency.isFinished {
                unfinished.append(dependency)
                pending.append(dependency)
            }
        }
        return unfinished
    }

    private static func trail(to goal: Operation, _ cameFrom: [ObjectIdentifier: Operation]) -> [Operation] {
        var trail = [goal]
        while let previous = cameFrom[ObjectIdentifier(trail[trail.count - 1])] { trail.append(previous) }
        return trail.reversed()
    }

    /// `"2" → "5" → "3" → "2"`, each one waiting for the next.
    static func describe(_ cycle: [Operation]) -> String {
        cycle.map { misuseName($0.name, of: $0) }.joined(separator: " → ")
    }
}

extension DependencyGraph.State {
    /// The path from `dependency` up to `dependent` that an edge between them would close. `isForeign`: `dependency` is
    /// of another kind. `isDependedUpon`: an operation of this module was made to wait for `dependent`.
    mutating func path(
        from dependency: Operation,
        isForeign: Bool,
        to dependent: Operation,
        isDependedUpon: Bool,
        _ walk: inout DependencyGraph.Walk
    ) -> [Operation]? {
        defer { visited += walk.visited }
        guard
            isDependedUpon || dependency === dependent
                || foreignLead(to: dependent, from: isForeign ? dependency : nil, &walk)
        else { return nil }
        walk.startOver()
        return DependencyGraph.path(from: dependency, to: dependent, &walk)
    }

    /// Whether a foreign operation on which anything may depend waits for `dependent`.
    private mutating func foreignLead(
        to dependent: Operation,
        from foreignDependency: Operation?,
        _ walk: inout DependencyGraph.Walk
    ) -> Bool {
        var pending = foreign.unfinished(&walk)
        if let foreignDependency, walk.meets(foreignDependency) { pending.append(foreignDependency) }
        while let operation = pending.popLast() {
            walk.visited += 1
            if operation.isFinished { continue }
            for above in operation.dependencies where walk.meets(above) {
                if above === dependent { return true }
                if !(above is any GatedOperation) { pending.append(above) }
            }
        }
        return false
    }
}

/// The foreign operations that operations of this module wait for, each with the gates behind which they do. The first
/// walk that finds one finished, gone or without a waiter removes it.
struct ForeignOperations {
    private struct WeakGate {
        weak var gate: DependencyGate?
    }

    private struct Entry {
        weak var operation: Operation?
        var gates: [WeakGate]
    }

    private var entries: [ObjectIdentifier: Entry] = [:]

    var count: Int { entries.count }

    /// `gate` opens after the foreign `operation`.
    mutating func add(_ operation: Operation, waitedForBehind gate: DependencyGate) {
        // An entry at this address may be that of an operation that is gone. Its gates do no harm: they keep an entry
        // only while an operation waits.
        entries[ObjectIdentifier(operation), default: Entry(gates: [])].operation = operation
        entries[ObjectIdentifier(operation)]?.gates.append(WeakGate(gate: gate))
    }

    /// The operations to be walked; forgets the others, each in O(1), amortised over the edges added.
    mutating func unfinished(_ walk: inout DependencyGraph.Walk) -> [Operation] {
        guard !entries.isEmpty else { return [] }
        var operations: [Operation] = []
        for key in entries.keys {
            while let gate = entries[key]!.gates.last {
                if let dependent = gate.gate?.waitingDependent {
                    walk.waiting.append(dependent)
                    if !dependent.isFinished { break }
                }
                entries[key]!.gates.removeLast()
            }
            if !entries[key]!.gates.isEmpty, let operation = entries[key]!.operation {
                _ = walk.meets(operation)
                if !operation.isFinished {
                    operations.append(operation)
                    continue
                }
            }
            entries[key] = nil
        }
        return operations
    }
}
