// SPDX-License-Identifier: Apache-2.0
//
// What a select waits for. The part that takes elements is specialised in the caller: resolving a generic element at
// run time takes ten times as long as a pop.

import CInterlock

extension Select {
    /// Something that a ``Select`` waits for: a place in it. May be used from any thread. Dropping it removes nothing.
    public final class Member: Sendable {
        private let place: SelectPlace
        private let core: SelectCore

        init(_ place: SelectPlace, of core: SelectCore) {
            self.place = place
            self.core = core
        }

        /// Takes the member out of its select, also while a thread or task waits there. Its closure does not begin any
        /// more; one that runs goes on, and may call this. A semaphore gets a permit back that no closure was given.
        /// The ring of an ``SPSCRing/Consumer`` is closed, as if the consumer had gone: elements in it are released
        /// with it.
        ///
        /// The closure is released by the thread or task of the select, at its next call or with it. Does not wait for
        /// the closure.
        ///
        /// - Returns: Whether this call took it out.
        @discardableResult
        public func remove() -> Bool { core.remove(place) }
    }

    // MARK: Elements

    /// Waits for elements of `ring`, and hands each to `body`. Other consumers may pop beside it.
    ///
    /// The member leaves when the ring is closed and drained.
    ///
    /// - Complexity: O(members). Calls `ilk_wait_set_add_mpmc`.
    @inlinable
    @discardableResult
    public func add<Element: ~Copyable>(
        _ ring: MPMCRing<Element>,
        _ body: @escaping (consuming sending Element) throws -> Void
    ) -> Member {
        let port = ring.port
        return addRing(port, of: ring.waiters, closes: false) {
            try Select.takeTurn(port, ring.waiters, body)
        }
    }

    /// Waits for elements of `consumer`'s ring, and hands each to `body`.
    ///
    /// The member leaves when the ring is closed and drained. With the member the consumer goes, which closes the ring.
    ///
    /// - Complexity: O(members). Calls `ilk_wait_set_add_spsc`.
    @inlinable
    @discardableResult
    public func add<Element: ~Copyable>(
        _ consumer: consuming SPSCRing<Element>.Consumer,
        _ body: @escaping (consuming sending Element) throws -> Void
    ) -> Member {
        let (port, waiters) = (consumer.port, consumer.waiters)
        let consumer = consumer
        return addRing(port, of: waiters, closes: true) {
            try Select.takeTurn(consumer.port, consumer.waiters, body)
        }
    }

    @inlinable
    static func takeTurn<Port: RingPort, Element: ~Copyable>(
        _ port: Port,
        _ backing: RingBacking,
        _ body: (consuming sending Element) throws -> Void
    ) throws -> SelectTurn {
        let popped = port.pop(Element.self, until: 0)
        switch consume popped {
        case .element(let element):
            try body(element)
            return .ran
        case .nothing(let why):
            return why == .closed ? .ended(backing.closingError) : .nothing
        }
    }

    @usableFromInline
    func addRing(
        _ port: some RingPort,
        of ring: RingBacking,
        closes: Bool,
        _ takeTurn: @escaping () throws -> SelectTurn
    ) -> Member {
        enter(SelectPlace(.ring(ring, closes: closes)), in: { $0.add(port, ILK_READABLE, $1) }, takeTurn)
    }

    // MARK: Room

    /// Waits for room in `ring`, and calls `body` while there is some: it pushes, or removes the member. Another
    /// producer may be faster than the closure.
    ///
    /// The member leaves when the ring is closed.
    ///
    /// - Complexity: O(members). Calls `ilk_wait_set_add_mpmc`.
    @discardableResult
    public func add<Element: ~Copyable>(roomIn ring: MPMCRing<Element>, _ body: @escaping () throws -> Void)
        -> Member
    {
        let port = ring.port
        return enter(SelectPlace(.room(ring.waiters)), in: { $0.add(port, ILK_WRITABLE, $1) }) {
            if ring.isClosed { return .ended(nil) }
            try body()
            return .ran
        }
    }

    /// Waits for room in the ring of `producer`, which stays the caller's, and calls `body` while there is some: it
    /// pushes, or removes the member.
    ///
    /// The member leaves when the ring is closed, also by the producer's end.
    ///
    /// - Complexity: O(members). Calls `ilk_wait_set_add_spsc`.
    @discardableResult
    public func add<Element: ~Copyable>(
        roomIn producer: borrowing SPSCRing<Element>.Producer,
        _ body: @escaping () throws -> Void
    ) -> Member {
        let port = producer.port
        return enter(SelectPlace(.room(producer.waiters)), in: { $0.add(port, ILK_WRITABLE, $1) }) {
            if port.isClosed { return .ended(nil) }
            try body()
            return .ran
        }
    }

    // MARK: Beside rings

    /// Takes permits of `semaphore`, and calls `body` with each: it, or what it hands the permit to, gives it back or
    /// does not.
    ///
    /// The select stands in the semaphore's queue, in the order of arrival, from the first `next` after it was added or
    /// `body` was called. A permit that comes while no `next` is under way is kept for the next one.
    ///
    /// - Complexity: O(members). Calls `ilk_wait_set_add_mpmc` for a ring of the member's own.
    @discardableResult
    public func add(_ semaphore: FIFOSemaphore, _ body: @escaping () throws -> Void) -> Member {
        let bell = PermitBell()
        let place = SelectPlace(.semaphore(semaphore, bell))
        return enter(place, in: { $0.add(bell.port, ILK_READABLE, $1) }) {
            try body()
            return .ran
        }
    }

    /// Waits until `latch` is open, and calls `body` once. Then the member leaves.
    ///
    /// - Complexity: O(members). Calls `ilk_wait_set_add_latch`.
    @discardableResult
    public func add(_ latch: Latch, _ body: @escaping () throws -> Void) -> Member {
        enter(SelectPlace(.latch(latch)), in: { $0.add(latch.latch.pointer, $1) }) {
            try body()
            return .ran
        }
    }
}
