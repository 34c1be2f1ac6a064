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
    /// Elements published, and `closedBit`. Written by the producer and whoever closes, read by the consumer.
    @usableFromInline let tailLines = OwnCacheLines(Atomic<UInt>(0))
    /// Elements taken. Written by the consumer, read by the producer.
    @usableFromInline let headLines = OwnCacheLines(Atomic<UInt>(0))
    @usableFromInline let producerLines = OwnCacheLines(SideNotes())
    @usableFromInline let consumerLines = OwnCacheLines(SideNotes())
    @usableFromInline let notEmpty = WaitingRoom()
    @usableFromInline let notFull = WaitingRoom()

    /// An open, empty ring for `capacity` elements, at least 1. Allocates all it needs.
    public init(capacity: Int) {
        precondition(capacity > 0, "AtomicSPSCRing: capacity \(capacity); it must be at least 1")
        self.capacity = capacity
        slots = .allocate(capacity: capacity)
    }

    deinit {
        while tryPop() != nil {}
        slots.deallocate()
    }

    @inlinable var tail: UnsafeMutablePointer<Atomic<UInt>> { tailLines.address }
    @inlinable var head: UnsafeMutablePointer<Atomic<UInt>> { headLines.address }
    @inlinable var producer: UnsafeMutablePointer<SideNotes> { producerLines.address }
    @inlinable var consumer: UnsafeMutablePointer<SideNotes> { consumerLines.address }
}

// @unchecked: the slots between head and tail are the consumer's, the others the producer's; the atomic
// indices hand them over. That there is one thread on each side is the caller's promise.
extension AtomicSPSCRing: @unchecked Sendable {}

/// Set in the tail once the ring is closed.
@usableFromInline let closedBit: UInt = 1 << 63

/// What one side knows, and nobody else looks at. Not stored properties of the ring: those of a class are
/// checked for exclusive access at run time, which costs more than the push.
@usableFromInline
struct SideNotes {
    /// How many elements this side has pushed or popped: its own index without the closed bit.
    @usableFromInline var done: UInt = 0
    /// The other side's index as last seen, without the closed bit; the true one is this or further on.
    @usableFromInline var otherSeen: UInt = 0
    /// Where the next element goes or comes from: `done` modulo capacity.
    @usableFromInline var slot = 0

    init() {}

    /// Steps over one element.
    @inlinable
    mutating func advance(capacity: Int) {
        done &+= 1
        slot = slot &+ 1 == capacity ? 0 : slot &+ 1
    }
}

// MARK: - Fast paths

extension AtomicSPSCRing {
    /// Puts `element` at the end if there is room and the ring is open. Producer only. Never blocks, but to
    /// wake a consumer that sleeps. O(1).
    @inlinable
    public func tryPush(_ element: consuming Element) -> Bool {
        let notes = producer
        if notes.pointee.done &- notes.pointee.otherSeen == UInt(capacity) {
            // Acquire, pairs with the exchange in tryPop: the consumer has moved the element out.
            notes.pointee.otherSeen = head.pointee.load(ordering: .acquiring)
            if notes.pointee.done &- notes.pointee.otherSeen == UInt(capacity) { return false }
        }
        let place = slots + notes.pointee.slot
        place.initialize(to: element)
        // Release part: the element is whole before it can be seen. Sequentially consistent for WaitingRoom.
        let published = tail.pointee.compareExchange(
            expected: notes.pointee.done,
            desired: notes.pointee.done &+ 1,
            ordering: .sequentiallyConsistent
        ).exchanged
        guard published else {
            place.deinitialize(count: 1)  // closed: nobody will ever look there
            return false
        }
        notes.pointee.advance(capacity: capacity)
        notEmpty.wakeOne()
        return true
    }

    /// Takes the oldest element if there is one, also from a closed ring. Consumer only. Never blocks, but
    /// to wake a producer that sleeps. O(1).
    @inlinable
    public func tryPop() -> Element? {
        let notes = consumer
        if notes.pointee.done == notes.pointee.otherSeen {
            // Acquire, pairs with the exchange in tryPush: the element is whole.
            notes.pointee.otherSeen = tail.pointee.load(ordering: .acquiring) & ~closedBit
            if notes.pointee.done == notes.pointee.otherSeen { return nil }
        }
        let element = (slots + notes.pointee.slot).move()
        notes.pointee.advance(capacity: capacity)
        // Release part: the slot is empty before it can be filled. An exchange and not a store because
        // WaitingRoom needs a full fence here.
        _ = head.pointee.exchange(notes.pointee.done, ordering: .sequentiallyConsistent)
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
            let popped = head.pointee.load(ordering: .sequentiallyConsistent)
            if producer.pointee.done &- popped < UInt(capacity) || isClosed {
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
            if tail.pointee.load(ordering: .sequentiallyConsistent) != consumer.pointee.done {
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
        tail.pointee.bitwiseOr(closedBit, ordering: .sequentiallyConsistent)
        notEmpty.wakeAll()
        notFull.wakeAll()
    }

    /// Whether the ring has been closed. It may still hold elements.
    public var isClosed: Bool {
        // Acquire: who sees the ring closed sees everything that was published before.
        tail.pointee.load(ordering: .acquiring) & closedBit != 0
    }

    /// How many elements were there, between 0 and `capacity`; may be old when read.
    public var count: Int {
        // Head first: it cannot overtake a tail that is read later.
        let popped = head.pointee.load(ordering: .acquiring)
        let pushed = tail.pointee.load(ordering: .acquiring) & ~closedBit
        return min(Int(pushed &- popped), capacity)
    }
}
