// SPDX-License-Identifier: Apache-2.0
//
// The verbs of an SPSC ring's consumer that do not suspend.

import CInterlock

extension SPSCRing.Consumer where Element: ~Copyable {
    /// Moves the oldest element out, or answers `nil` if there is none. Never blocks or allocates.
    ///
    /// - Complexity: O(1). Calls `ilk_spsc_try_pop`.
    @inlinable
    public func tryPop() -> sending Element? {
        port.tryPop(Element.self)
    }

    /// Moves the oldest element out, waiting for one as long as it takes. Blocks the thread; allocates nothing. In
    /// `async` code the form that suspends is chosen, and the compiler asks for `await`.
    ///
    /// - Returns: The element, or `nil` once the ring is closed and drained.
    /// - Throws: The error that the ring was closed with, once it is drained.
    /// - Complexity: O(1) where there is an element. Calls `ilk_spsc_try_pop`, then `ilk_spsc_pop_until`.
    @inlinable
    @available(
        *,
        noasync,
        message:
            "it would block a thread of the cooperative pool; use `try await pop`, on a consumer that is a `var`"
    )
    public func pop() throws -> sending Element? {
        let popped = port.pop(Element.self, until: forever)
        return try waiters.elementOrEnd(popped)
    }

    /// Moves the oldest element out, waiting for one until `deadline` at most. Blocks the thread.
    ///
    /// - Returns: `.popped`, `.timedOut` or `.closed`.
    /// - Throws: The error that the ring was closed with, once it is drained.
    @inlinable
    @available(
        *,
        noasync,
        message:
            "it would block a thread of the cooperative pool; use `try await pop`, on a consumer that is a `var`"
    )
    public func pop(until deadline: ContinuousClock.Instant) throws -> sending PopResult<Element> {
        let popped = port.pop(Element.self, until: Interlock.deadline(at: deadline))
        return try waiters.resultOrEnd(popped)
    }

    /// Moves the oldest element out, waiting for one for `timeout` at most. Blocks the thread.
    ///
    /// - Returns: `.popped`, `.timedOut` or `.closed`.
    /// - Throws: The error that the ring was closed with, once it is drained.
    @inlinable
    @available(
        *,
        noasync,
        message:
            "it would block a thread of the cooperative pool; use `try await pop`, on a consumer that is a `var`"
    )
    public func pop(timeout: Duration) throws -> sending PopResult<Element> {
        let popped = port.pop(Element.self, until: Interlock.deadline(in: timeout))
        return try waiters.resultOrEnd(popped)
    }

    /// Shows `body` up to `count` of the oldest elements in place, then releases them. Never blocks or allocates.
    ///
    /// Elements that run across the end of the ring take two calls: the first shows those up to the end.
    ///
    /// - Parameters:
    ///   - count: How many elements are wanted at most.
    ///   - body: Reads the elements. It runs only if there are any. The elements are gone afterwards, also if it
    ///     throws.
    /// - Returns: The number of elements shown and released; 0 if the ring is empty.
    /// - Complexity: O(number shown). Calls `ilk_spsc_peek` and `ilk_spsc_release`.
    @inlinable
    @discardableResult
    public mutating func withElements<Failure: Error>(
        atMost count: Int,
        _ body: (Span<Element>) throws(Failure) -> Void
    ) throws(Failure) -> Int {
        var shown = count
        guard count > 0, let memory = ilk_spsc_peek(ring, &shown) else { return 0 }
        let elements = UnsafeMutableRawPointer(mutating: memory).bindMemory(to: Element.self, capacity: shown)
        defer {
            elements.deinitialize(count: shown)
            ilk_spsc_release(ring, shown)
        }
        let buffer = UnsafeBufferPointer(start: elements, count: shown)
        try body(buffer.span)
        return shown
    }

    /// Moves elements out into the free places of `span`, oldest first. Never blocks or allocates.
    ///
    /// - Returns: The number moved; 0 if the ring is empty or the span full.
    /// - Complexity: O(number moved). Calls `ilk_spsc_try_pop_many`.
    @inlinable
    @discardableResult
    public func tryPop(into span: inout OutputSpan<Element>) -> Int {
        port.tryPop(into: &span)
    }

    /// Closes the ring: pushes fail from now on, pops drain it, every waiter wakes. On a closed ring, does nothing.
    /// Calls `ilk_spsc_close`.
    public func close() {
        waiters.close()
    }

    /// The error that the producer closed the ring with, or `nil`. Elements may still be in the ring.
    public var closingError: (any Error)? {
        waiters.closingError
    }

    /// Whether the ring is closed. Elements may still be in it.
    public var isClosed: Bool {
        ilk_spsc_is_closed(ring)
    }

    /// The number of elements in the ring. A lower bound while the producer pushes, exact while it rests.
    public var count: Int {
        ilk_spsc_count(ring)
    }

    /// How many elements fit.
    public var capacity: Int {
        ilk_spsc_capacity(ring)
    }

    /// The C ring, for a consumer written in C, which takes this consumer's place while it pops. Valid as long as this
    /// consumer exists.
    @unsafe
    public var unsafeHandle: UnsafeMutablePointer<ilk_spsc> {
        ring
    }
}

extension SPSCRing.Consumer {
    /// Moves up to `count` elements out, oldest first. Never blocks; allocates the array.
    ///
    /// - Returns: The elements; empty if there are none.
    @inlinable
    public func tryPop(atMost count: Int) -> [Element] {
        port.tryPop(Element.self, atMost: count)
    }
}
