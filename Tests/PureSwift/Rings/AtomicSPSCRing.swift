// SPDX-License-Identifier: Apache-2.0
//
// A bounded queue between one producer thread and one consumer thread: Lamport's ring with cached indices.
//
// Head and tail are counters that only grow. Their distance is the number of elements, so every capacity from 1 up is
// exact, and full differs from empty. Each side keeps in its own cache lines: its index; its slot, which is that index
// modulo capacity without a division; and the other side's index as last seen. While that shows room or elements, a
// call reads nothing that the other side writes (FastForward, MCRingBuffer).
//
// Closing is one bit in the tail. A push publishes its element by a compare-and-swap of the tail, which fails once the
// bit is set: an element is published before the close, and popped, or it is given back. The compare-and-swap is also
// the fence that `WaitingRoom` needs.

import Synchronization

/// A bounded queue between one producer thread and one consumer thread.
///
/// `tryPush` and `push` belong to the producer, `tryPop` and `pop` to the consumer: at most one thread at a time each.
/// Any thread may call the rest.
public final class AtomicSPSCRing<Element: Sendable> {
    /// The most elements in the ring.
    public let capacity: Int
    @usableFromInline let slots: UnsafeMutablePointer<Element>
    /// Elements published, and `closedBit`. Written by the producer and by close, read by the consumer.
    @usableFromInline let tailLines = OwnCacheLines(Atomic<UInt>(0))
    /// Elements taken. Written by the consumer, read by the producer.
    @usableFromInline let headLines = OwnCacheLines(Atomic<UInt>(0))
    @usableFromInline let producerLines = OwnCacheLines(SideState())
    @usableFromInline let consumerLines = OwnCacheLines(SideState())
    @usableFromInline let notEmpty = WaitingRoom()
    @usableFromInline let notFull = WaitingRoom()

    /// An open, empty ring for `capacity` elements, at least 1. Allocates.
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
    @inlinable var producer: UnsafeMutablePointer<SideState> { producerLines.address }
    @inlinable var consumer: UnsafeMutablePointer<SideState> { consumerLines.address }
}

// @unchecked: the slots between head and tail are the consumer's, the others the producer's; the atomic indices hand
// them over. One thread a side is the caller's promise.
extension AtomicSPSCRing: @unchecked Sendable {}

/// Set in the tail once the ring is closed.
@usableFromInline let closedBit: UInt = 1 << 63

/// One side's own numbers. Stored properties of the class would be checked for exclusive access at run time, which
/// costs more than the push.
@usableFromInline
struct SideState {
    /// Elements that this side has pushed or popped: its own index without the closed bit.
    @usableFromInline var done: UInt = 0
    /// The other side's index as last seen, without the closed bit; a lower bound of the true one.
    @usableFromInline var otherSeen: UInt = 0
    /// The slot of the next element: `done` modulo capacity.
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
    /// Puts `element` at the end if there is room and the ring is open. Producer only. Takes a mutex to wake a sleeping
    /// consumer; does not block otherwise. O(1).
    @inlinable
    public func tryPush(_ element: consuming Element) -> Bool {
        let side = producer
        if side.pointee.done &- side.pointee.otherSeen == UInt(capacity) {
            // Acquire, pairs with the exchange in tryPop: the consumer has moved the element out.
            side.pointee.otherSeen = head.pointee.load(ordering: .acquiring)
            if side.pointee.done &- side.pointee.otherSeen == UInt(capacity) { return false }
        }
        let place = slots + side.pointee.slot
        place.initialize(to: element)
        // Release part: the element is whole before it can be seen. Sequentially consistent for WaitingRoom.
        let published = tail.pointee.compareExchange(
            expected: side.pointee.done,
            desired: side.pointee.done &+ 1,
            ordering: .sequentiallyConsistent
        ).exchanged
        guard published else {
            place.deinitialize(count: 1)  // closed: the consumer does not read it
            return false
        }
        side.pointee.advance(capacity: capacity)
        notEmpty.wakeOne()
        return true
    }

    /// Takes the oldest element if there is one, also from a closed ring. Consumer only. Otherwise as `tryPush`.
    @inlinable
    public func tryPop() -> Element? {
        let side = consumer
        if side.pointee.done == side.pointee.otherSeen {
            // Acquire, pairs with the exchange in tryPush: the element is whole.
            side.pointee.otherSeen = tail.pointee.load(ordering: .acquiring) & ~closedBit
            if side.pointee.done == side.pointee.otherSeen { return nil }
        }
        let element = (slots + side.pointee.slot).move()
        side.pointee.advance(capacity: capacity)
        // Release part: the slot is empty before it can be filled. An exchange, not a store: WaitingRoom needs a
        // sequentially consistent fence here.
        _ = head.pointee.exchange(side.pointee.done, ordering: .sequentiallyConsistent)
        notFull.wakeOne()
        return element
    }
}

// MARK: - Waiting and closing

extension AtomicSPSCRing {
    /// Pushes like `tryPush`, and waits for room until `deadline`; nil waits for ever. Blocks and allocates when it
    /// waits.
    public func push(_ element: Element, until deadline: ContinuousClock.Instant? = nil) -> PushOutcome {
        while true {
            for _ in 0..<probesBeforeSleeping where tryPush(element) { return .pushed }
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

    /// Pops like `tryPop`, and waits until `deadline`; nil waits for ever. Blocks and allocates when it waits.
    public func pop(until deadline: ContinuousClock.Instant? = nil) -> PopOutcome<Element> {
        while true {
            for _ in 0..<probesBeforeSleeping {
                if let element = tryPop() { return .element(element) }
            }
            // Read before the last pop, which then sees all that was published before the close.
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

    /// Closes the ring, from any thread: later pushes fail, pops drain the elements, every waiter wakes. Idempotent.
    public func close() {
        tail.pointee.bitwiseOr(closedBit, ordering: .sequentiallyConsistent)
        notEmpty.wakeAll()
        notFull.wakeAll()
    }

    /// The ring may still hold elements.
    public var isClosed: Bool {
        // Acquire: a thread that sees the ring closed sees everything published before.
        tail.pointee.load(ordering: .acquiring) & closedBit != 0
    }

    /// A count between 0 and `capacity`; may be out of date when read.
    public var count: Int {
        // Head first: it cannot overtake a tail that is read later.
        let popped = head.pointee.load(ordering: .acquiring)
        let pushed = tail.pointee.load(ordering: .acquiring) & ~closedBit
        return min(Int(pushed &- popped), capacity)
    }
}
