// SPDX-License-Identifier: Apache-2.0
//
// Finds the cycle an edge would close. Foundation accepts a cycle, and its operations wait for ever, unreported. All
// edges whose dependent is an `AsyncOperation` are added under one lock: two threads cannot close a cycle between them
// unseen. Edges whose dependent is of another kind ("foreign") are added without our knowledge and walked when met; a
// cycle whose last edge is of that kind is not seen.
//
// Edges between operations of this module are in an order that is kept as they come (`DependencyOrder.swift`): it says
// whether a path of such edges leads back. The order may still have what has just ended: an operation that finishes,
// and an edge that is removed, are listed as retired in the same critical section of the operation's record, and leave
// the order before the next edge comes. So the order may refuse too much, never too little. What it refuses is walked
// up, depth first, from the new dependency to the dependent: this finds the names, or what had retired meanwhile.
//
// A path that leads through a foreign operation is walked too, but only where there can be one. Its first foreign
// operation is the new dependency, or one that an unfinished operation of this module waits for: these are listed, by
// the part of the graph (`ForeignOperations.swift`). Foreign edges alone lead from there to the dependent; or to
// another operation of this module, and then the path goes on in its part, or the last edge starts at one of this
// module, so that the dependent is marked as depended upon:
//
//     new dependency ◀── … ◀── gated ◀── listed foreign ◀── foreign ◀── gated ◀── … ◀── dependent ?
//                                        └──── walked at each edge ────┘
//
// So a chain built from its head costs O(1) a link, whatever else is in the graph; below foreign operations, O(*f*) in
// those of its part.
//
// Users' code that runs under the lock is `isFinished` and `dependencies` of foreign operations. Nothing is freed under
// it: what a walk has met is kept.

import Foundation
import InterlockSync

enum DependencyGraph {
    struct State {
        typealias NewEdge = DependencyGraph.NewEdge
        typealias Walk = DependencyGraph.Walk

        var foreign = ForeignOperations()
        var order = DependencyOrder()
        /// The operations that the walks have visited.
        fileprivate var walked = 0
        /// For tests: the steps of all walks and searches.
        var visited: Int { walked + order.visited }
    }

    /// An edge that is not there yet. The vertices where the ends are unfinished operations of this module.
    struct NewEdge {
        var dependent: Operation, dependency: Operation
        var isForeign: Bool
        /// An operation of this module was made to wait for the dependent.
        var isDependedUpon: Bool
        var downstream: DependencyOrder.Vertex?
        var upstream: DependencyOrder.Vertex?
    }

    /// What has ended since the last edge was added, and is still in the order. The memory of it stays until the next.
    fileprivate struct Retired {
        var vertices: [DependencyOrder.Vertex] = []
        var edges: [DependencyOrder.Edge] = []
    }

    /// Held while an edge is checked and added. Taken before any operation's own lock.
    static let lock = VisibleMutex(State())

    /// Taken last, after any other lock of operations: a finishing thread does not wait for a walk.
    fileprivate static let retired = VisibleMutex(Retired())

    /// The operation ends. In the critical section of its record that ends it.
    static func retire(_ vertex: inout DependencyOrder.Vertex) {
        if vertex == DependencyOrder.none { return }
        let last = vertex
        retired.withLock { $0.vertices.append(last) }
        vertex = DependencyOrder.none
    }

    /// The edge is removed, in the critical section of its dependent's record.
    static func retire(_ edge: DependencyOrder.Edge?) {
        if let edge { retired.withLock { $0.edges.append(edge) } }
    }

    /// What a walk has met. The caller frees it after the lock.
    struct Walk {
        fileprivate var cameFrom: [ObjectIdentifier: Operation] = [:]
        fileprivate var met: [ObjectIdentifier: Operation] = [:]
        fileprivate var metBefore: [[ObjectIdentifier: Operation]] = []
        private var kept: [Operation] = []
        private var components: Set<Int32> = []
        var visited = 0

        /// Whether `operation` was not met before.
        mutating func meets(_ operation: Operation) -> Bool {
            met.updateValue(operation, forKey: ObjectIdentifier(operation)) == nil
        }

        /// The operation is not freed under the lock.
        mutating func keeps(_ operation: Operation) { kept.append(operation) }

        /// Whether it was not there before.
        mutating func entersComponent(_ root: Int32) -> Bool { components.insert(root).inserted }

        /// Forgets nothing: what was met is freed after the lock.
        fileprivate mutating func startOver() {
            metBefore.append(met)
            (met, cameFrom) = ([:], [:])
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
            for dependency in operation.waitedFor where walk.meets(dependency) {
                walk.cameFrom[ObjectIdentifier(dependency)] = operation
                if dependency === goal { return trail(to: goal, walk.cameFrom) }
                pending.append(dependency)
            }
        }
        return nil
    }

    /// The unfinished operations upstream of `start`. The answer may be old.
    static func unfinished(upstreamOf start: Operation) -> [Operation] {
        var walk = Walk()
        var unfinished: [Operation] = []
        var pending = [start]
        while let operation = pending.popLast() {
            for dependency in operation.waitedFor where walk.meets(dependency) && !dependency.isFinished {
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
    /// Takes from the order what has ended; gives the vertices.
    @discardableResult
    mutating func forgetRetired() -> [DependencyOrder.Vertex] {
        let retired = DependencyGraph.retired.withLock { retired in
            defer { retired = DependencyGraph.Retired() }
            return retired
        }
        for edge in retired.edges { order.remove(edge) }
        for vertex in retired.vertices {
            order.remove(vertex: vertex)
            foreign.forget(vertex)
        }
        return retired.vertices
    }

    /// Puts an edge in the order for which `path` has answered nil.
    mutating func addChecked(_ edge: NewEdge, _ walk: inout Walk) -> DependencyOrder.Edge? {
        guard let downstream = edge.downstream, let upstream = edge.upstream else { return nil }
        let added = order.addChecked(from: downstream, to: upstream)
        foreign.connect(downstream, upstream, &order, &walk)
        return added
    }

    /// The path from the dependency up to the dependent that the edge would close to a cycle. After nil, the order has
    /// room for the edge.
    mutating func path(closedBy edge: inout NewEdge, _ walk: inout Walk) -> [Operation]? {
        defer { walked += walk.visited }
        if edge.dependency === edge.dependent { return [edge.dependent] }
        if foreignLead(closedBy: edge, &walk) {
            walk.startOver()
            if let path = DependencyGraph.path(from: edge.dependency, to: edge.dependent, &walk) {
                return path
            }
        }
        // Refused twice without a path, the edge stays out of the order: nothing may hang here.
        var wasRefused = false
        while let downstream = edge.downstream, let upstream = edge.upstream,
            order.closesCycle(from: downstream, to: upstream)
        {
            walk.startOver()
            if let path = DependencyGraph.path(from: edge.dependency, to: edge.dependent, &walk) {
                return path
            }
            // Whatever breaks the path has retired. An end of the edge that has finished loses its vertex.
            for vertex in forgetRetired() {
                if edge.downstream == vertex { edge.downstream = nil }
                if edge.upstream == vertex { edge.upstream = nil }
            }
            if wasRefused { edge.downstream = nil }
            wasRefused = true
        }
        return nil
    }

    /// Whether a path through a foreign operation may lead to the dependent.
    private mutating func foreignLead(closedBy edge: NewEdge, _ walk: inout Walk) -> Bool {
        var pending: [Operation] = []
        if let upstream = edge.upstream { pending = foreign.unfinished(near: upstream, &walk) }
        if edge.isForeign, walk.meets(edge.dependency) { pending.append(edge.dependency) }
        while let operation = pending.popLast() {
            walk.visited += 1
            if operation.isFinished { continue }
            for upstream in operation.dependencies where walk.meets(upstream) {
                if upstream === edge.dependent { return true }
                guard let gated = upstream as? any GatedOperation else {
                    pending.append(upstream)
                    continue
                }
                guard let vertex = gated.vertex(in: &order) else { continue }
                if edge.isDependedUpon { return true }
                pending += foreign.unfinished(near: vertex, &walk)
            }
        }
        return false
    }
}
