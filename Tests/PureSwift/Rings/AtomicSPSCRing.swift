// SPDX-License-Identifier: Apache-2.0
//
// A bounded queue between one producer thread and one consumer thread: Lamport's ring with cached indices.
//
// Head and tail are counters that only grow; their distance is the number of elements, so every
// capacity from 1 up is honoured exactly and full differs from empty. Each side keeps in its own cache
// lines the index it owns, its slot (counter modulo capacity, kept by increment because a division costs
// more than the rest of the push), and the other side's index as last seen: while that still shows
// room or elements, a call reads nothing the other side writes (the idea is in FastForward and MCRingBuffer).
//
// Closing is one bit in the tail. A push publishes its element by exchanging the tail from the value it
// had, which fails once the bit is there: an element is either published before the close, and will
// be popped, or given back. That exchange is at the same time the fence that `WaitingRoom` asks for.
//
// What it cannot do that the C-backed `SPSCRing` can: publish with a plain store. Both its parking and its
// closing need a fence on every push and pop, which the C core leaves out with membarrier(2). It has no
// batches and no access in place, takes copyable elements only, and "one producer, one consumer" is a rule
// the caller keeps, not a type.

import Synchronization

/// A bounded queue between one producer thread and one consumer thread.
///
/// `tryPush` and `push` belong to the producer, `tryPop` and `pop` to the consumer: at most one thread at a
/// time each. `close`, `isClosed`, `count` and `capacity` may be called from anywhere.
public final class AtomicSPSCRing<Element: Sendable> {
    /// How many elements the ring holds at most.
    public let capacity: Int
    @usableFromInline let slots: UnsafeMutablePointer<Element>
    @usableFromInline let producerLines: OwnCacheLines<ProducerSide>
    @usableFromInline let consumerLines: OwnCacheLines<ConsumerSide>
    @usableFromInline let notEmpty = WaitingRoom()
    @usableFromInline let notFull = WaitingRoom()

    /// An open, empty ring for `capacity` elements, at least 1. Allocates all it needs.
    public init(capacity: Int) {
        precondition(capacity > 0, "AtomicSPSCRing: capacity \(capacity); it must be at least 1")
        self.capacity = capacity
        slots = .allocate(capacity: capacity)
        producerLines = OwnCacheLines(ProducerSide())
        consumerLines = OwnCacheLines(ConsumerSide())
    }

    deinit {
        while tryPop() != nil {}
        slots.deallocate()
    }

    @inlinable var producer: UnsafeMutablePointer<ProducerSide> { producerLines.address }
    @inlinable var consumer: UnsafeMutablePointer<ConsumerSide> { consumerLines.address }
}

// @unchecked: the slots between head and tail are the consumer's, the others the producer's; the atomic
// indices hand them over. That there is one thread on each side is the caller's promise.
extension AtomicSPSCRing: @unchecked Sendable {}

/// Set in the tail once the ring is closed.
@usableFromInline let closedBit: UInt = 1 << 63

/// Written by the producer (and `tail` by whoever closes).
@usableFromInline
struct ProducerSide: ~Copyable {
    /// Elements published, and `closedBit`. Read by the consumer.
    @usableFromInline let tail = Atomic<UInt>(0)
    /// The tail without `closedBit`: the producer's own copy.
    @usableFromInline var pushed: UInt = 0
    /// The head as last seen; the true one is this or further on.
    @usableFromInline var headSeen: UInt = 0
    /// Where the next element goes: `pushed` modulo capacity.
    @usableFromInline var slot = 0

    init() {}
}

/// Written by the consumer.
@usableFromInline
struct ConsumerSide: ~Copyable {
    /// Elements taken. Read by the producer.
    @usableFromInline let head = Atomic<UInt>(0)
    /// The head: the consumer's own copy.
    @usableFromInline var popped: UInt = 0
    /// The tail as last seen, without `closedBit`.
    @usableFromInline var tailSeen: UInt = 0
    /// Where the next element comes from: `popped` modulo capacity.
    @usableFromInline var slot = 0

    init() {}
}

// MARK: - Fast paths

extension AtomicSPSCRing {
    /// Puts `element` at the end if there is room and the ring is open. Producer only. Never blocks, but to
    /// wake a consumer that sleeps. O(1).
    @inlinable
    public func tryPush(_ element: consuming Element) -> Bool {
        let side = producer
        if side.pointee.pushed &- side.pointee.headSeen == UInt(capacity) {
            // Acquire, pairs with the exchange in tryPop: the consumer has moved the element out.
            side.pointee.headSeen = consumer.pointee.head.load(ordering: .acquiring)
            if side.pointee.pushed &- side.pointee.headSeen == UInt(capacity) { return false }
        }
        let place = slots + side.pointee.slot
        place.initialize(to: element)
        // Release part: the element is whole before it can be seen. Sequentially consistent for WaitingRoom.
        let published = side.pointee.tail.compareExchange(
            expected: side.pointee.pushed,
            desired: side.pointee.pushed &+ 1,
            ordering: .sequentiallyConsistent
        ).exchanged
        guard published else {
            place.deinitialize(count: 1)  // closed: nobody will ever look there
            return false
        }
        side.pointee.pushed &+= 1
        side.pointee.slot = side.pointee.slot &+ 1 == capacity ? 0 : side.pointee.slot &+ 1
        notEmpty.wakeOne()
        return true
    }

    /// Takes the oldest element if there is one, also from a closed ring. Consumer only. Never blocks, but
    /// to wake a producer that sleeps. O(1).
    @inlinable
    public func tryPop() -> Element? {
        let side = consumer
        if side.pointee.popped == side.pointee.tailSeen {
            // Acquire, pairs with the exchange in tryPush: the element is whole.
            side.pointee.tailSeen = producer.pointee.tail.load(ordering: .acquiring) & ~closedBit
            if side.pointee.popped == side.pointee.tailSeen { return nil }
        }
        let element = (slots + side.pointee.slot).move()
        side.pointee.popped &+= 1
        side.pointee.slot = side.pointee.slot &+ 1 == capacity ? 0 : side.pointee.slot &+ 1
        // Release part: the slot is empty before it can be filled. An exchange and not a store because
        // WaitingRoom needs a full fence here.
        _ = side.pointee.head.exchange(side.pointee.popped, ordering: .sequentiallyConsistent)
        notFull.wakeOne()
        return element
    }
}

// MARK: - Waiting and closing

extension AtomicSPSCRing {
    /// Puts `element` at the end, waiting for room until `deadline` at most; nil waits for ever. Producer only.
    /// Blocks; allocates when it has to wait.
    public func push(_ element: Element, until deadline: ContinuousClock.Instant? = nil) -> PushOutcome {
        while true {
            for _ in 0..<looksBeforeSleeping where tryPush(element) { return .pushed }
            if isClosed { return .closed }
            let waiter = notFull.enter()
            let head = consumer.pointee.head.load(ordering: .sequentiallyConsistent)
            if producer.pointee.pushed &- head < UInt(capacity) || isClosed {
                notFull.leave(waiter)
            } else if !waiter.sleep(until: deadline) {
                notFull.leave(waiter)
                if tryPush(element) { return .pushed }
                return isClosed ? .closed : .timedOut
            }
        }
    }

    /// Takes the oldest element, waiting for one until `deadline` at most; nil waits for ever. Consumer only.
    /// Blocks; allocates when it has to wait.
    public func pop(until deadline: ContinuousClock.Instant? = nil) -> PopOutcome<Element> {
        while true {
            for _ in 0..<looksBeforeSleeping {
                if let element = tryPop() { return .element(element) }
            }
            // Looked at before the last pop, which then sees all that was published before the close.
            let wasClosed = isClosed
            if let element = tryPop() { return .element(element) }
            if wasClosed { return .closed }
            let waiter = notEmpty.enter()
            let tail = producer.pointee.tail.load(ordering: .sequentiallyConsistent)
            if tail != consumer.pointee.popped {
                notEmpty.leave(waiter)  // an element, or the closed bit
            } else if !waiter.sleep(until: deadline) {
                notEmpty.leave(waiter)
                let wasClosed = isClosed
                if let element = tryPop() { return .element(element) }
                return wasClosed ? .closed : .timedOut
            }
        }
    }

    /// Closes the ring, from any thread: pushes fail from here on, pops drain what is there, everybody
    /// who waits wakes. Closing again does nothing.
    public func close() {
        producer.pointee.tail.bitwiseOr(closedBit, ordering: .sequentiallyConsistent)
        notEmpty.wakeAll()
        notFull.wakeAll()
    }

    /// Whether the ring has been closed. It may still hold elements.
    public var isClosed: Bool {
        // Acquire: who sees the ring closed sees everything that was published before.
        producer.pointee.tail.load(ordering: .acquiring) & closedBit != 0
    }

    /// How many elements were there, between 0 and `capacity`; may be old when read.
    public var count: Int {
        // Head first: it cannot overtake a tail that is read later.
        let head = consumer.pointee.head.load(ordering: .acquiring)
        let tail = producer.pointee.tail.load(ordering: .acquiring) & ~closedBit
        return min(Int(tail &- head), capacity)
    }
}
