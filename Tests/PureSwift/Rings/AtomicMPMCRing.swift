// SPDX-License-Identifier: Apache-2.0
//
// A bounded queue for any number of producers and consumers: Vyukov's ring with a sequence per slot.
//
// A position is a lap and an index in one word: the slot needs no division, and any capacity is exact.
//
//     bit 63   closed (in the tail only)     bits above the index   lap     low bits   index < capacity
//
// Each slot has a stamp. With `position` of the current lap:
//
//     stamp == position            free: the producer that claims this position may fill it
//     stamp == position + 1        full: the consumer that claims this position may empty it
//     stamp == position + oneLap   emptied: free for the next lap
//
// oneLap is at least 2, so the three differ for a single slot too. A producer claims a position by advancing the tail,
// fills the slot and publishes it by its stamp; a consumer does the same with the head. Closing sets a bit in the tail,
// which makes later claims fail. Earlier claims are published and popped: no pushed element is lost.
//
// Between claim and publication a slot is neither full nor free. `tryPop` then answers nil though a later push may be
// done, and `tryPush` full though a later pop may be done. The waiting forms yield until the slot is published.

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A bounded queue for any number of producers and consumers. All calls are thread-safe. Elements of one producer are
/// popped in the order it pushed them.
public final class AtomicMPMCRing<Element: Sendable> {
    /// The most elements in the ring.
    public let capacity: Int
    @usableFromInline let indexMask: UInt
    @usableFromInline let slots: Slots<Element>
    @usableFromInline let tailLines: OwnCacheLines<Atomic<UInt>>
    @usableFromInline let headLines: OwnCacheLines<Atomic<UInt>>
    @usableFromInline let notEmpty = WaitingRoom()
    @usableFromInline let notFull = WaitingRoom()

    /// An open, empty ring for `capacity` elements, at least 1. Allocates.
    public init(capacity: Int) {
        precondition(
            (1...1 << 32).contains(capacity),
            "AtomicMPMCRing: capacity \(capacity); it must be at least 1 and at most 2^32"
        )
        self.capacity = capacity
        var lap: UInt = 2
        while lap < UInt(capacity) { lap *= 2 }
        indexMask = lap - 1
        slots = Slots(count: capacity)
        tailLines = OwnCacheLines(Atomic(0))
        headLines = OwnCacheLines(Atomic(0))
    }

    deinit {
        while tryPop() != nil {}
        slots.memory.deallocate()
    }

    @inlinable var tail: UnsafeMutablePointer<Atomic<UInt>> { tailLines.address }
    @inlinable var head: UnsafeMutablePointer<Atomic<UInt>> { headLines.address }
    @inlinable var oneLap: UInt { indexMask &+ 1 }
}

// @unchecked: a claimed slot belongs to the claiming thread until it publishes the next stamp.
extension AtomicMPMCRing: @unchecked Sendable {}

/// A stamp and room for one element a slot, laid out by hand: a stored property cannot be left uninitialised, and an
/// optional would cost a word.
@usableFromInline
struct Slots<Element> {
    @usableFromInline let memory: UnsafeMutableRawPointer

    init(count: Int) {
        memory = .allocate(byteCount: count * Self.stride, alignment: Self.alignment)
        for index in 0..<count {
            (memory + index * Self.stride).bindMemory(to: Atomic<UInt>.self, capacity: 1)
                .initialize(to: Atomic(UInt(index)))
            (memory + index * Self.stride + Self.elementOffset).bindMemory(to: Element.self, capacity: 1)
        }
    }

    @inlinable static var alignment: Int {
        max(MemoryLayout<Atomic<UInt>>.alignment, MemoryLayout<Element>.alignment)
    }
    /// The stamp's size rounded up to `alignment`, a power of two.
    @inlinable static var elementOffset: Int {
        (MemoryLayout<Atomic<UInt>>.size + alignment - 1) & -alignment
    }
    @inlinable static var stride: Int {
        (elementOffset + MemoryLayout<Element>.size + alignment - 1) & -alignment
    }

    @inlinable
    func stamp(_ index: Int) -> UnsafeMutablePointer<Atomic<UInt>> {
        (memory + index &* Self.stride).assumingMemoryBound(to: Atomic<UInt>.self)
    }

    /// The room for an element; initialised while the stamp says full.
    @inlinable
    func element(_ index: Int) -> UnsafeMutablePointer<Element> {
        (memory + index &* Self.stride + Self.elementOffset).assumingMemoryBound(to: Element.self)
    }
}

// MARK: - Fast paths

extension AtomicMPMCRing {
    /// The next index, or index 0 of the next lap.
    @inlinable
    func next(_ position: UInt) -> UInt {
        position & indexMask == UInt(capacity) &- 1
            ? (position & ~indexMask) &+ oneLap : position &+ 1
    }

    /// Puts `element` at the end if there is room and the ring is open. Takes a mutex to wake a sleeping consumer; does
    /// not block otherwise. O(1), retried when another producer claims the position first.
    @inlinable
    public func tryPush(_ element: consuming Element) -> Bool {
        var claim = tail.pointee.load(ordering: .relaxed)  // relaxed: a hint, checked by the exchange
        while claim & closedBit == 0 {
            let index = Int(claim & indexMask)
            // Acquire, pairs with the release in tryPop: the element of the last lap has been moved out.
            let stamp = slots.stamp(index).pointee.load(ordering: .acquiring)
            if stamp == claim {
                // Sequentially consistent: the claim comes before WaitingRoom's load of its count.
                let (claimed, current) = tail.pointee.weakCompareExchange(
                    expected: claim,
                    desired: next(claim),
                    successOrdering: .sequentiallyConsistent,
                    failureOrdering: .relaxed
                )
                if claimed {
                    slots.element(index).initialize(to: element)
                    // Release: the element is whole before the slot reads full.
                    slots.stamp(index).pointee.store(claim &+ 1, ordering: .releasing)
                    notEmpty.wakeOne()
                    return true
                }
                claim = current
            } else {
                let current = tail.pointee.load(ordering: .relaxed)
                // The tail has not moved, and its slot is of the last lap: full, or being emptied.
                if current == claim { return false }
                claim = current
            }
        }
        return false
    }

    /// Takes the oldest element if there is one, also from a closed ring. nil: empty, or the oldest is still being
    /// pushed. Takes a mutex to wake a sleeping producer; does not block otherwise. O(1), retried as `tryPush`.
    @inlinable
    public func tryPop() -> Element? {
        var claim = head.pointee.load(ordering: .relaxed)  // relaxed: a hint, checked by the exchange
        while true {
            let index = Int(claim & indexMask)
            // Acquire, pairs with the release in tryPush: the element is whole.
            let stamp = slots.stamp(index).pointee.load(ordering: .acquiring)
            if stamp == claim &+ 1 {
                // Sequentially consistent for WaitingRoom, as in tryPush.
                let (claimed, current) = head.pointee.weakCompareExchange(
                    expected: claim,
                    desired: next(claim),
                    successOrdering: .sequentiallyConsistent,
                    failureOrdering: .relaxed
                )
                if claimed {
                    let element = slots.element(index).move()
                    // Release: the slot is empty before the next lap can fill it.
                    slots.stamp(index).pointee.store(claim &+ oneLap, ordering: .releasing)
                    notFull.wakeOne()
                    return element
                }
                claim = current
            } else {
                let current = head.pointee.load(ordering: .relaxed)
                if current == claim { return nil }
                claim = current
            }
        }
    }
}

// MARK: - Waiting and closing

extension AtomicMPMCRing {
    /// Pushes like `tryPush`, and waits for room until `deadline`; nil waits for ever. Blocks and allocates when it
    /// waits.
    public func push(_ element: Element, until deadline: ContinuousClock.Instant? = nil) -> PushOutcome {
        while true {
            for _ in 0..<probesBeforeSleeping where tryPush(element) { return .pushed }
            if isClosed { return .closed }
            let waiter = notFull.enter()
            if !isFull || isClosed {
                notFull.leave(waiter)
                sched_yield()  // room, but still being emptied
            } else if !waiter.sleep(until: deadline) {
                notFull.leave(waiter)
            }
            if let deadline, deadline <= .now { return lastTry(element) }
        }
    }

    /// Pops like `tryPop`, and waits until `deadline`; nil waits for ever. Blocks and allocates when it waits.
    public func pop(until deadline: ContinuousClock.Instant? = nil) -> PopOutcome<Element> {
        while true {
            for _ in 0..<probesBeforeSleeping {
                if let element = tryPop() { return .element(element) }
            }
            let waiter = notEmpty.enter()
            let seen = tail.pointee.load(ordering: .sequentiallyConsistent)
            let isEmpty = seen & ~closedBit == head.pointee.load(ordering: .sequentiallyConsistent)
            if isEmpty && seen & closedBit != 0 {
                // The tail of a closed ring does not move, and the head has reached it.
                notEmpty.leave(waiter)
                return .closed
            }
            if !isEmpty {
                notEmpty.leave(waiter)
                sched_yield()  // an element, but still being pushed
            } else if !waiter.sleep(until: deadline) {
                notEmpty.leave(waiter)
            }
            if let deadline, deadline <= .now { return lastTry() }
        }
    }

    /// Closes the ring: later pushes fail, pops drain the elements, every waiter wakes. Idempotent.
    public func close() {
        // Sequentially consistent for WaitingRoom: a waiter that registers after wakeAll sees the bit.
        tail.pointee.bitwiseOr(closedBit, ordering: .sequentiallyConsistent)
        notEmpty.wakeAll()
        notFull.wakeAll()
    }

    /// The ring may still hold elements.
    public var isClosed: Bool { tail.pointee.load(ordering: .acquiring) & closedBit != 0 }

    /// Elements there or being pushed, between 0 and `capacity`; may be out of date when read.
    public var count: Int {
        // Head first: it cannot overtake a tail that is read later.
        let first = head.pointee.load(ordering: .acquiring)
        let last = tail.pointee.load(ordering: .acquiring) & ~closedBit
        let laps = Int((last & ~indexMask) &- (first & ~indexMask)) / Int(oneLap)
        return min(laps * capacity + Int(last & indexMask) - Int(first & indexMask), capacity)
    }

    /// The recheck of a producer before it sleeps. Head first: a later pop sees the waiter.
    private var isFull: Bool {
        let first = head.pointee.load(ordering: .sequentiallyConsistent)
        return tail.pointee.load(ordering: .sequentiallyConsistent) & ~closedBit == first &+ oneLap
    }

    /// The last probe of a producer after its deadline. A wake-up for room that it could not take goes to another
    /// waiter.
    private func lastTry(_ element: Element) -> PushOutcome {
        if tryPush(element) { return .pushed }
        if isClosed { return .closed }
        if !isFull { notFull.wakeOne() }
        return .timedOut
    }

    /// The last probe of a consumer after its deadline, like that of a producer.
    private func lastTry() -> PopOutcome<Element> {
        if let element = tryPop() { return .element(element) }
        let seen = tail.pointee.load(ordering: .sequentiallyConsistent)
        let isEmpty = seen & ~closedBit == head.pointee.load(ordering: .sequentiallyConsistent)
        if !isEmpty { notEmpty.wakeOne() }
        return isEmpty && seen & closedBit != 0 ? .closed : .timedOut
    }
}
