// SPDX-License-Identifier: Apache-2.0
//
// The barriers of a queue that have not ended, in the order in which they were added, and the ready nodes that wait for
// them. Each barrier begins a generation of nodes; a node counts for the first barrier that was added after it.
//
//     generation g   barrier 0   generation g + 1   barrier 1   generation g + 2
//
// A barrier runs when all of the generations before it have ended. One that has ended by a cancellation holds nothing
// back any more, and stays while nodes of the generation before it have not ended: the next barrier waits for them.

import InterlockSync

/// Guarded by the lock of the queue's state.
struct QueueBarriers {
    private struct Barrier {
        let node: JobNode
        /// Nodes that were added before it, after the barrier before it, and have not ended.
        var before: Int
        /// Ready nodes that were added after it.
        var held = JobList()
        var hasEnded = false
    }

    private var barriers: [Barrier] = []
    /// The generation of the nodes that were added before the first barrier.
    private var generation: UInt32 = 0

    var isEmpty: Bool { barriers.isEmpty }

    /// The barrier for which a node of `generation` waits.
    func barrier(before generation: UInt32) -> JobNode? {
        indexOfBarrier(before: generation).map { barriers[$0].node }
    }

    /// How many nodes `node`, a barrier, waits for, at least.
    func nodes(before node: JobNode) -> Int {
        guard let index = barriers.firstIndex(where: { $0.node === node }) else { return 0 }
        let first = barriers[..<index].lastIndex { !$0.hasEnded }.map { $0 + 1 } ?? 0
        return barriers[first...index].reduce(0) { $0 + $1.before }
    }

    private func indexOfBarrier(before generation: UInt32) -> Int? {
        let index = Int(generation &- self.generation)
        // A node that a report asks for may have ended with its generation.
        return index > barriers.count ? nil : barriers[..<index].lastIndex { !$0.hasEnded }
    }

    /// `before`: how many nodes count for it. None of them has left yet.
    mutating func append(_ node: JobNode, before: Int) {
        barriers.append(Barrier(node: node, before: before))
    }

    /// Keeps a ready node that waits for a barrier; false: it waits for none.
    mutating func hold(_ node: JobNode, _ gone: inout [JobNode]) -> Bool {
        guard let index = indexOfBarrier(before: node.fields.pointee.generation) else { return false }
        if node.waitBehindBarrier() { keep(node, index, &gone) }
        return true
    }

    /// A node has ended for which a barrier counts.
    mutating func nodeLeft(_ generation: UInt32) { barriers[Int(generation &- self.generation)].before -= 1 }

    /// A barrier has ended: what it held, and may run now.
    mutating func ended(_ node: JobNode, _ gone: inout [JobNode]) -> [JobNode] {
        guard let index = barriers.firstIndex(where: { $0.node === node }) else { return [] }
        barriers[index].hasEnded = true
        let held = barriers[index].held.takeAll()
        guard let earlier = barriers[..<index].lastIndex(where: { !$0.hasEnded }) else { return held }
        for node in held { keep(node, earlier, &gone) }
        return []
    }

    private mutating func keep(_ node: JobNode, _ index: Int, _ gone: inout [JobNode]) {
        barriers[index].held.append(node, keeping: { $0.phase == .listed }, &gone)
    }

    /// The barrier whose turn it is; the same until it ends.
    mutating func next() -> JobNode? {
        while let first = barriers.first, first.before == 0 {
            if !first.hasEnded { return first.node }
            barriers.removeFirst()
            generation &+= 1
        }
        return nil
    }

    /// All that is held.
    mutating func takeHeld() -> [JobNode] { barriers.indices.flatMap { barriers[$0].held.takeAll() } }
}
