// SPDX-License-Identifier: Apache-2.0
//
// Entries by key, and which of them goes when there is no room: SIEVE (Zhang, Yang, Yue, Vigfusson, Rashmi: "SIEVE is
// Simpler than LRU", NSDI 2024). New entries are linked at the newest end. A question leaves a mark and moves nothing,
// so readers beside each other may ask. The hand goes from the oldest entry to the newest and round again: it takes a
// mark away and spares that entry, and evicts the first entry without one.
//
// Invariant: `nodes` and the list hold the same entries, and the hand is nil or points to one of them. All of it
// changes with the cache's lock held for writing; only the marks change under the lock for reading.
//
// The nodes are memory and not objects: counting a reference costs two atomic operations a question, on a cache line
// that all readers of a popular entry share. What is taken out goes to a RemovedNodes, released outside the lock.
//
// Rejected: exact order of the questions, which makes a writer of each; and CLOCK. With room for a tenth of the keys of
// a Zipf 0.9 trace, SIEVE answers 64 % of the questions, CLOCK 57 % and the exact order 56 % (bench_swift --trace).

import CInterlock

/// An entry. Its key is here too: taken out, it is not released under the lock.
@usableFromInline
struct SieveNode<Key, Payload> {
    // First: its address is that of the node.
    @usableFromInline var visited = ilk__visited()
    @usableFromInline let key: Key
    @usableFromInline let payload: Payload
    @usableFromInline let born: Duration
    @usableFromInline let cost: Int
    @usableFromInline var older: UnsafeMutablePointer<SieveNode>?
    @usableFromInline var newer: UnsafeMutablePointer<SieveNode>?

    @inlinable
    init(_ key: Key, _ payload: Payload, _ born: Duration, _ cost: Int) {
        self.key = key
        self.payload = payload
        self.born = born
        self.cost = cost
    }

    @inlinable
    static func allocate(
        _ key: Key,
        _ payload: Payload,
        born: Duration,
        cost: Int
    ) -> UnsafeMutablePointer<SieveNode> {
        let node = UnsafeMutablePointer<SieveNode>.allocate(capacity: 1)
        node.initialize(to: SieveNode(key, payload, born, cost))
        return node
    }
}

extension UnsafeMutablePointer {
    /// The mark of a node that was asked for.
    @inlinable @inline(__always)
    func visited<Key, Payload>() -> UnsafeMutablePointer<ilk__visited>
    where Pointee == SieveNode<Key, Payload> {
        UnsafeMutableRawPointer(self).assumingMemoryBound(to: ilk__visited.self)
    }

    @inlinable
    func isOlder<Key, Payload>(than limit: Duration?, at time: Duration) -> Bool
    where Pointee == SieveNode<Key, Payload> {
        guard let limit else { return false }
        return time - pointee.born > limit
    }
}

/// Nodes that were taken out, released with this.
@usableFromInline
struct RemovedNodes<Key, Payload>: ~Copyable {
    @usableFromInline var first: UnsafeMutablePointer<SieveNode<Key, Payload>>?
    @usableFromInline var count = 0

    @inlinable
    init() {}

    @inlinable
    mutating func add(_ node: UnsafeMutablePointer<SieveNode<Key, Payload>>) {
        node.pointee.newer = first
        first = node
        count += 1
    }

    @inlinable
    deinit {
        var next = first
        while let node = next {
            next = node.pointee.newer
            node.deinitialize(count: 1)
            node.deallocate()
        }
    }
}

@usableFromInline
struct SieveStore<Key: Hashable & Sendable, Payload: Sendable>: ~Copyable {
    @usableFromInline typealias Node = UnsafeMutablePointer<SieveNode<Key, Payload>>

    @usableFromInline var nodes: [Key: Node] = [:]
    @usableFromInline var oldest: Node?
    @usableFromInline var newest: Node?
    /// The next to be judged; `nil`: the oldest.
    @usableFromInline var hand: Node?
    /// The sum of the nodes' costs.
    @usableFromInline var totalCost = 0

    init() {}

    // Inlinable, as in GuardedStorage: otherwise the compiler (6.3) crashes on properties of this type.
    @inlinable
    deinit {
        for node in nodes.values {
            node.deinitialize(count: 1)
            node.deallocate()
        }
    }

    @inlinable
    var count: Int { nodes.count }

    /// Links a node whose key has none.
    @inlinable
    mutating func insert(_ node: Node) {
        assert(nodes[node.pointee.key] == nil, "the thread that keeps a value has taken the old one out")
        nodes[node.pointee.key] = node
        totalCost += node.pointee.cost
        node.pointee.older = newest
        node.pointee.newer = nil
        if let newest { newest.pointee.newer = node } else { oldest = node }
        newest = node
    }

    @inlinable
    mutating func take(_ key: Key) -> Node? {
        guard let node = nodes.removeValue(forKey: key) else { return nil }
        unlink(node)
        return node
    }

    /// Takes out the first node from the hand on that is without a mark, or older than `limit`. There is one: the
    /// second round meets no mark.
    @inlinable
    mutating func evict(olderThan limit: Duration?, at time: Duration) -> Node {
        var node = hand ?? oldest!
        while ilk__visited_take(node.visited()), !node.isOlder(than: limit, at: time) {
            node = node.pointee.newer ?? oldest!
        }
        hand = node
        nodes[node.pointee.key] = nil
        unlink(node)
        return node
    }

    mutating func removeAll(_ removed: inout RemovedNodes<Key, Payload>) {
        for node in nodes.values { removed.add(node) }
        (nodes, oldest, newest, hand, totalCost) = ([:], nil, nil, nil, 0)
    }

    mutating func removeAll(
        olderThan limit: Duration?,
        at time: Duration,
        _ removed: inout RemovedNodes<Key, Payload>
    ) {
        var next = oldest
        while let node = next {
            next = node.pointee.newer
            guard node.isOlder(than: limit, at: time) else { continue }
            nodes[node.pointee.key] = nil
            unlink(node)
            removed.add(node)
        }
    }

    @inlinable
    mutating func unlink(_ node: Node) {
        let (older, newer) = (node.pointee.older, node.pointee.newer)
        if hand == node { hand = newer }
        if let older { older.pointee.newer = newer } else { oldest = newer }
        if let newer { newer.pointee.older = older } else { newest = older }
        totalCost -= node.pointee.cost
    }
}

// Reached under the cache's lock; what it hands out is Sendable.
extension SieveStore: @unchecked Sendable {}
