// SPDX-License-Identifier: Apache-2.0
//
// The verbs of an SPSC ring's consumer that do not suspend.

import CInterlock

extension SPSCRing.Consumer where Element: ~Copyable {
    /// Moves the oldest element out, or answers `nil`. Never blocks or allocates.
    ///
    /// - Complexity: O(1). Calls `ilk_spsc_try_pop`.
    @inlinable
    public func tryPop() -> sending Element? {
        port.tryPop(Element.self)
    }

    /// Moves the oldest element out; blocks the thread until there is one. Allocates nothing.
    ///
    /// - Returns: The element, or `nil` once the ring is closed and drained.
    /// - Throws: ``closingError``, once the ring is drained.
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

    /// Moves the oldest element out; blocks the thread while the ring is empty, until `deadline` at most. A deadline
    /// that has passed still takes an element that is there.
    ///
    /// - Returns: `.popped`, `.empty` or `.closed`.
    /// - Throws: ``closingError``, once the ring is drained.
    @inlinable
    @available(
        *,
        noasync,
        message:
            "it would block a thread of the cooperative pool; use `try await pop`, on a consumer that is a `var`"
    )
    public func pop(until deadline: ContinuousClock.Instant) throws -> sending PopResult<Element> {
        let popped = port.pop(Element.self, until: InterlockSync.deadline(at: deadline))
        return try waiters.resultOrEnd(popped)
    }

    /// Moves the oldest element out; blocks the thread while the ring is empty, for `timeout` at most.
    ///
    /// - Returns: `.popped`, `.empty` or `.closed`.
    /// - Throws: ``closingError``, once the ring is drained.
    @inlinable
    @available(
        *,
        noasync,
        message:
            "it would block a thread of the cooperative pool; use `try await pop`, on a consumer that is a `var`"
    )
    public func pop(timeout: Duration) throws -> sending PopResult<Element> {
        let popped = port.pop(Element.self, until: InterlockSync.deadline(in: timeout))
        return try waiters.resultOrEnd(popped)
    }

    /// Shows `body` up to `count` of the oldest elements in place, then releases them, also if it throws. Never blocks
    /// or allocates. Across the end of the ring it takes two calls: the first shows the elements up to the end.
    ///
    /// - Parameters:
    ///   - count: How many elements at most.
    ///   - body: Reads the elements. Runs only if there are any.
    /// - Returns: The number shown and released; 0 if the ring is empty.
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

    /// Closes the ring: later pushes fail, and a waiting producer wakes. What is in the ring can still be popped. A
    /// second close does nothing. Calls `ilk_spsc_close`.
    public func close() {
        waiters.close()
    }

    /// The error that the ring was closed with, or `nil`.
    public var closingError: (any Error)? {
        waiters.closingError
    }

    /// Whether the ring is closed; elements may still be in it.
    public var isClosed: Bool {
        ilk_spsc_is_closed(ring)
    }

    /// The number of elements: a lower bound while the producer pushes, exact while it rests.
    public var count: Int {
        ilk_spsc_count(ring)
    }

    /// How many elements fit.
    public var capacity: Int {
        ilk_spsc_capacity(ring)
    }

    /// The C ring, for a consumer in C in this one's place. Valid as long as this consumer.
    @unsafe
    public var unsafeHandle: UnsafeMutablePointer<ilk_spsc> {
        ring
    }
}

extension SPSCRing.Consumer {
    /// Moves up to `count` elements out, oldest first. Never blocks; allocates the array.
    ///
    /// - Complexity: O(number moved). Calls `ilk_spsc_try_pop_many`.
    @inlinable
    public func tryPop(atMost count: Int) -> [Element] {
        port.tryPop(Element.self, atMost: count)
    }
}
