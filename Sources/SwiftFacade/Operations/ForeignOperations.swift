// SPDX-License-Identifier: Apache-2.0
//
// The foreign operations that operations of this module wait for, by the part of the graph that they belong to. A path
// from an operation can lead only to a foreign one of its own part, so the others are not looked at: operations of
// Foundation's classes cost an edge elsewhere nothing.
//
// The parts are the weakly connected components of the edges that are known: a union–find forest, by size and with
// halving of paths (Tarjan and van Leeuwen, "Worst-case Analysis of Set Union Algorithms", Journal of the ACM 31(2),
// 1984). It does not split: what leaves stays a node, and the forest is built anew when most nodes are of that kind.
// There is none before the first foreign operation: then it is built from the edges of the order.

import Foundation
import InterlockSync

/// Guarded by `DependencyGraph`'s lock. Every entry has what waits for it: the gates behind which operations do, and
/// the operations whose work does, as a group's. A walk that finds one finished, gone or without a waiter removes it,
/// and so does an addition from time to time.
struct ForeignOperations {
    typealias Vertex = DependencyOrder.Vertex
    typealias Walk = DependencyGraph.Walk

    enum Waiter {
        /// The operation behind it.
        case gate(DependencyGate)
        /// The operation itself, until it has finished.
        case work(any GatedOperation)
    }

    private struct WeakWaiter {
        private weak var gate: DependencyGate?
        private weak var operation: (any GatedOperation)?

        init(_ waiter: Waiter) {
            switch waiter {
            case .gate(let gate): self.gate = gate
            case .work(let operation): self.operation = operation
            }
        }

        /// Nil where it waits no longer, or is gone.
        var waiting: (any GatedOperation)? { operation ?? gate?.waitingDependent }
    }

    private struct Entry {
        weak var operation: Operation?
        var waiters: [WeakWaiter] = []
        /// A node of its component.
        var node: Node
    }

    private typealias Node = Int32

    private var entries: [ObjectIdentifier: Entry] = [:]
    /// The number of entries at which those that are over are looked for.
    private var sweepLimit = 16

    /// The node of each vertex, or none.
    private var nodes: [Node] = []
    /// The parent of each node; for a root, the size of its component, negative.
    private var parents: [Node] = []
    /// By root: the entries of the component.
    private var members: [Node: [ObjectIdentifier]] = [:]
    private var hasForest = false
    /// The number of nodes at which it is built anew.
    private var forestLimit = 0

    var count: Int { entries.count }

    // MARK: Entries

    /// `waiter` waits for the foreign `operation`; `dependent` is the vertex of the waiting operation.
    mutating func add(
        _ operation: Operation,
        waitedForBy waiter: Waiter,
        at dependent: Vertex,
        _ order: inout DependencyOrder,
        _ walk: inout Walk
    ) {
        if entries.count >= sweepLimit { sweep(&walk) }
        renewForest(&order, &walk)
        let key = ObjectIdentifier(operation)
        let node = node(of: dependent)
        if let known = entries[key]?.node {
            // An entry at this address may be that of an operation that is gone. Its waiters do no harm: they keep
            // an entry only while an operation waits.
            join(known, node)
            entries[key]!.operation = operation
        } else {
            entries[key] = Entry(operation: operation, node: node)
            members[root(of: node), default: []].append(key)
        }
        entries[key]!.waiters.append(WeakWaiter(waiter))
    }

    /// The unfinished ones in the component of `vertex` that the walk had not met.
    mutating func unfinished(near vertex: Vertex, _ walk: inout Walk) -> [Operation] {
        guard !entries.isEmpty, Int(vertex) < nodes.count, nodes[Int(vertex)] >= 0 else { return [] }
        let component = root(of: nodes[Int(vertex)])
        guard let keys = members[component], walk.entersComponent(component) else { return [] }
        var operations: [Operation] = []
        let left = keys.filter { key in
            guard let operation = unfinished(key, &walk) else { return false }
            if walk.meets(operation) { operations.append(operation) }
            return true
        }
        if left.count < keys.count { members[component] = left.isEmpty ? nil : left }
        return operations
    }

    /// The operation of the entry; removes an entry that is over.
    private mutating func unfinished(_ key: ObjectIdentifier, _ walk: inout Walk) -> Operation? {
        while let waiter = entries[key]!.waiters.last {
            if let dependent = waiter.waiting {
                walk.keeps(dependent)
                if !dependent.isFinished { break }
            }
            entries[key]!.waiters.removeLast()
        }
        if !entries[key]!.waiters.isEmpty, let operation = entries[key]!.operation {
            walk.keeps(operation)
            if !operation.isFinished { return operation }
        }
        entries[key] = nil
        return nil
    }

    /// Removes the entries that are over: O(1) for each edge added, amortised.
    private mutating func sweep(_ walk: inout Walk) {
        for (component, keys) in members {
            let left = keys.filter { unfinished($0, &walk) != nil }
            members[component] = left.isEmpty ? nil : left
        }
        sweepLimit = max(16, 2 * entries.count)
    }

    // MARK: Components

    /// The edge between these two is known from now on.
    mutating func connect(_ one: Vertex, _ two: Vertex, _ order: inout DependencyOrder, _ walk: inout Walk) {
        guard hasForest else { return }
        if entries.isEmpty, parents.count >= forestLimit {
            (hasForest, nodes, parents, members) = (false, [], [], [:])
            return
        }
        renewForest(&order, &walk)
        join(node(of: one), node(of: two))
    }

    /// The vertex has left the order; its number may be given out again.
    mutating func forget(_ vertex: Vertex) {
        if Int(vertex) < nodes.count { nodes[Int(vertex)] = DependencyOrder.none }
    }

    private mutating func node(of vertex: Vertex) -> Node {
        while nodes.count <= Int(vertex) { nodes.append(DependencyOrder.none) }
        if nodes[Int(vertex)] < 0 {
            nodes[Int(vertex)] = Node(parents.count)
            parents.append(-1)
        }
        return nodes[Int(vertex)]
    }

    private mutating func root(of node: Node) -> Node {
        var node = node
        while parents[Int(node)] >= 0 {
            let parent = parents[Int(node)]
            if parents[Int(parent)] >= 0 { parents[Int(node)] = parents[Int(parent)] }
            node = parent
        }
        return node
    }

    private mutating func join(_ one: Node, _ other: Node) {
        var (upper, lower) = (root(of: one), root(of: other))
        if upper == lower { return }
        if parents[Int(upper)] > parents[Int(lower)] { swap(&upper, &lower) }
        parents[Int(upper)] += parents[Int(lower)]
        parents[Int(lower)] = upper
        guard var short = members.removeValue(forKey: lower) else { return }
        var long = members.removeValue(forKey: upper) ?? []
        if long.count < short.count { swap(&long, &short) }
        long += short
        members[upper] = long
    }

    /// Makes the forest where there is none, and anew where most nodes are of vertices that have left.
    private mutating func renewForest(_ order: inout DependencyOrder, _ walk: inout Walk) {
        if hasForest {
            if parents.count < forestLimit { return }
            sweep(&walk)
        }
        (hasForest, nodes, parents, members) = (true, [], [], [:])
        order.forEachEdge { source, target in join(node(of: source), node(of: target)) }
        for key in entries.keys {
            // What waits for one operation is of one component.
            var vertices: [Vertex] = []
            entries[key]!.waiters.removeAll { waiter in
                guard let dependent = waiter.waiting else { return true }
                walk.keeps(dependent)
                guard let vertex = dependent.vertex(in: &order) else { return true }
                vertices.append(vertex)
                return false
            }
            // All that waited has finished since the sweep.
            guard let first = vertices.first else {
                entries[key] = nil
                continue
            }
            for vertex in vertices { join(node(of: first), node(of: vertex)) }
            entries[key]!.node = node(of: first)
            members[root(of: node(of: first)), default: []].append(key)
        }
        forestLimit = max(64, 4 * parents.count)
    }
}
