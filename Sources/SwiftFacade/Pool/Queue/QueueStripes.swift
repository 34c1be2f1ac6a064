// SPDX-License-Identifier: Apache-2.0
//
// The locks of a queue's nodes, and the list of what has not finished. One lock for all would be the queue's
// bottleneck; one in each node could not guard the list. A node's stripe follows from its address: nodes that were made
// one after the other share a stripe, so its line and the neighbours in the list are in the cache.
//
// A stripe is free or held. In a free one a ready job goes to the pool at once. In a held one (a limit, a barrier, a
// suspended queue) the queue's state decides, under a lock of its own. `era` is odd in a held stripe, and tells jobs
// that were submitted in a free one from those whose places the state counts.

import CInterlock
import InterlockSync

struct Stripe {
    /// Nodes that have not finished, newest first; each retained.
    var first: Unmanaged<JobNode>?
    /// Their number.
    var live: Int32 = 0
    /// Those of them that were added after the last barrier.
    var current: Int32 = 0
    /// Those of them that were submitted in this era.
    var started: Int32 = 0
    var generation: UInt32 = 0
    var era: UInt32 = 0
    /// A thread waits for the stripe to become empty.
    var isAwaited = false
    /// Nothing more comes in.
    var isClosed = false

    var isHeld: Bool { era & 1 == 1 }

    @inline(__always)
    mutating func link(_ node: JobNode) {
        let link = Unmanaged.passRetained(node)
        node.fields.pointee.next = first
        node.fields.pointee.generation = generation
        first?._withUnsafeGuaranteedRef { $0.fields.pointee.previous = link }
        first = link
        live += 1
        current += 1
    }

    /// Takes the node out, still retained. True: a thread waits, and the stripe is empty.
    @inline(__always)
    mutating func unlink(_ node: JobNode) -> Bool {
        let fields = node.fields
        let next = fields.pointee.next
        let previous = fields.pointee.previous
        next?._withUnsafeGuaranteedRef { $0.fields.pointee.previous = previous }
        if let previous {
            previous._withUnsafeGuaranteedRef { $0.fields.pointee.next = next }
        } else {
            first = next
        }
        fields.pointee.next = nil
        fields.pointee.previous = nil
        live -= 1
        if fields.pointee.generation == generation { current -= 1 }
        guard live == 0, isAwaited else { return false }
        isAwaited = false
        return true
    }
}

// The stripes' values are reached under their locks.
final class QueueStripes: @unchecked Sendable {
    static let count = 64
    /// Nodes within so many bytes, as a power of two, share a stripe.
    private static let shift = 11

    private typealias Storage = GuardedStorage<ilk_mutex, Stripe>
    private let stripes: UnsafeMutablePointer<Storage>

    init() {
        stripes = .allocate(capacity: Self.count)
        for index in 0..<Self.count { (stripes + index).initialize(to: Storage(Stripe())) }
    }

    deinit {
        stripes.deinitialize(count: Self.count)
        stripes.deallocate()
    }

    /// A stripe's memory, as long as the stripes live.
    struct Reference {
        let base: UnsafeMutableRawPointer

        var lock: UnsafeMutablePointer<ilk_mutex> {
            @inline(__always) get { base.assumingMemoryBound(to: ilk_mutex.self) }
        }
        var value: UnsafeMutablePointer<Stripe> {
            @inline(__always) get { (base + Storage.valueOffset).assumingMemoryBound(to: Stripe.self) }
        }
    }

    @inline(__always)
    func stripe(of node: JobNode) -> Reference {
        let address = UInt(bitPattern: Unmanaged.passUnretained(node).toOpaque())
        return self[Int(address >> UInt(Self.shift)) & (Self.count - 1)]
    }

    @inline(__always)
    subscript(index: Int) -> Reference { Reference(base: stripes[index].base) }

    /// Runs `body` with all locks held: at one moment.
    func withAll<Result>(_ body: () -> Result) -> Result {
        for index in 0..<Self.count { ilk_mutex_lock(self[index].lock) }
        defer { for index in (0..<Self.count).reversed() { ilk_mutex_unlock(self[index].lock) } }
        return body()
    }

    /// Under all locks.
    func forAll(_ body: (inout Stripe) -> Void) {
        for index in 0..<Self.count { body(&self[index].value.pointee) }
    }

    /// Under all locks; all stripes are closed together.
    var isClosed: Bool { self[0].value.pointee.isClosed }

    /// Whether nothing is left; if something is, the stripe that becomes empty is awaited.
    func isEmptyOrAwaited() -> Bool {
        withAll {
            for index in 0..<Self.count where self[index].value.pointee.live > 0 {
                self[index].value.pointee.isAwaited = true
                return false
            }
            return true
        }
    }

    var live: Int { withAll { (0..<Self.count).reduce(0) { $0 + Int(self[$1].value.pointee.live) } } }

    /// What has not finished.
    var nodes: [JobNode] {
        var nodes: [JobNode] = []
        for index in 0..<Self.count {
            let stripe = self[index]
            ilk_mutex_lock(stripe.lock)
            defer { ilk_mutex_unlock(stripe.lock) }
            var link = stripe.value.pointee.first
            while let node = link?.takeUnretainedValue() {
                nodes.append(node)
                link = node.fields.pointee.next
            }
        }
        return nodes
    }
}
