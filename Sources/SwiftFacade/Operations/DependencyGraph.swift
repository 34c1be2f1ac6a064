// SPDX-License-Identifier: Apache-2.0
//
// Finds the cycle an edge would close, before it does. Foundation accepts a cycle and every operation in
// it then waits for ever, without a word. All edges whose dependent is an `AsyncOperation` are added
// under one lock, so two threads cannot close a cycle between them unseen. Edges whose dependent is
// another kind of operation are added behind our back; they are walked when met, but a cycle whose last
// edge is of that kind is not seen.
//
// The search is a depth-first walk up from the new dependency, looking for the dependent. It is skipped
// where no path can end there: nothing waits for the dependent, and no operation of another kind, which
// might without our knowing, is in any graph. Building a chain from its head therefore costs O(1) a link.

import Foundation

enum DependencyGraph {
    struct State {
        /// Set for ever once an operation of another kind was made a dependency.
        var hasForeignEdges = false
    }

    /// Held while an edge is checked and added. Taken before any operation's own lock.
    static let lock = VisibleMutex(State())

    /// The operations from `start` up to `goal`, both included, along dependencies that are unfinished;
    /// nil where there is no such path. The lock need not be held, but then the answer may be old.
    static func path(from start: Operation, to goal: Operation) -> [Operation]? {
        if start === goal { return [start] }
        var cameFrom: [ObjectIdentifier: Operation] = [:]
        var visited: Set<ObjectIdentifier> = [ObjectIdentifier(start)]
        var pending = [start]
        while let operation = pending.popLast() {
            // One that has finished holds up nobody, whatever it once waited for.
            if operation.isFinished { continue }
            for dependency in operation.dependencies
            where visited.insert(ObjectIdentifier(dependency)).inserted {
                cameFrom[ObjectIdentifier(dependency)] = operation
                if dependency === goal { return trail(to: goal, cameFrom) }
                pending.append(dependency)
            }
        }
        return nil
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
