// SPDX-License-Identifier: Apache-2.0
//
// The verbs of an SPSC ring's producer that do not suspend.

import CInterlock

extension SPSCRing.Producer where Element: ~Copyable {
    /// Moves `element` into the ring if there is room. Never blocks or allocates.
    ///
    /// - Returns: `.pushed`, or the element with `.full` or `.closed`.
    /// - Complexity: O(1). Calls `ilk_spsc_try_push`.
    @inlinable
    public func tryPush(_ element: consuming sending Element) -> sending PushResult<Element> {
        port.tryPush(element)
    }

    /// Moves `element` into the ring; blocks the thread until there is room. Allocates nothing. In `async` code the
    /// compiler chooses the form that suspends and asks for `await`.
    ///
    /// - Returns: `.pushed`, or the element with `.closed`.
    /// - Complexity: O(1) where there is room. Calls `ilk_spsc_try_push`, then `ilk_spsc_push_until`.
    @inlinable
    @available(*, noasync, message: "it blocks the thread; use `await push`, on a producer that is a `var`")
    public func push(_ element: consuming sending Element) -> sending PushResult<Element> {
        port.push(element, until: forever)
    }

    /// Moves `element` into the ring; blocks the thread while it is full, until `deadline` at most. A deadline that has
    /// passed still pushes where there is room.
    ///
    /// - Returns: `.pushed`, or the element with `.full` or `.closed`.
    @inlinable
    @available(*, noasync, message: "it blocks the thread; use `await push`, on a producer that is a `var`")
    public func push(
        _ element: consuming sending Element,
        until deadline: ContinuousClock.Instant
    ) -> sending PushResult<Element> {
        port.push(element, until: InterlockSync.deadline(at: deadline))
    }

    /// Moves `element` into the ring; blocks the thread while it is full, for `timeout` at most.
    ///
    /// - Returns: `.pushed`, or the element with `.full` or `.closed`.
    @inlinable
    @available(*, noasync, message: "it blocks the thread; use `await push`, on a producer that is a `var`")
    public func push(
        _ element: consuming sending Element,
        timeout: Duration
    ) -> sending PushResult<Element> {
        port.push(element, until: InterlockSync.deadline(in: timeout))
    }

    /// Lets `body` write up to `count` elements in place, and pushes them by one store. Never blocks or allocates.
    ///
    /// ```swift
    /// producer.withSlots(atMost: 64) { slots in
    ///     while !slots.isFull, let sample = source.next() { slots.append(sample) }
    /// }
    /// ```
    ///
    /// Across the end of the ring it takes two calls: the first gives the free slots up to the end. Elements are
    /// `Sendable`: the producer may keep what it appends, and the consumer may be on another thread. Others go in by
    /// ``tryPush(_:)`` or ``push(_:)``.
    ///
    /// - Parameters:
    ///   - count: How many slots at most.
    ///   - body: Appends to the span. Runs only if there is room. If it throws, what it appended is released and
    ///     nothing is pushed.
    /// - Returns: The number pushed; 0 if the ring is full or closed.
    /// - Complexity: O(number pushed). Calls `ilk_spsc_reserve` and `ilk_spsc_commit`.
    @inlinable
    @discardableResult
    public mutating func withSlots<Failure: Error>(
        atMost count: Int,
        _ body: (inout OutputSpan<Element>) throws(Failure) -> Void
    ) throws(Failure) -> Int where Element: Sendable {
        var slots = max(count, 0)
        guard let memory = ilk_spsc_reserve(ring, &slots) else { return 0 }
        let buffer = UnsafeMutableBufferPointer(
            start: memory.bindMemory(to: Element.self, capacity: slots),
            count: slots
        )
        var span = OutputSpan(buffer: buffer, initializedCount: 0)
        do {
            try body(&span)
        } catch {
            // The span releases its elements.
            ilk_spsc_commit(ring, 0)
            throw error
        }
        let written = span.finalize(for: buffer)
        ilk_spsc_commit(ring, written)
        return written
    }

    /// Closes the ring: later pushes fail, pops drain it, every waiter wakes. A second close does nothing. Calls
    /// `ilk_spsc_close`.
    public func close() {
        waiters.close()
    }

    /// Closes the ring, and leaves `error` to be thrown by a waiting pop and by the loop after the last element. Of two
    /// closes the first one's error counts.
    public func close(throwing error: any Error) {
        waiters.close(throwing: error)
    }

    /// Whether the ring is closed: no push that starts now can succeed.
    public var isClosed: Bool {
        ilk_spsc_is_closed(ring)
    }

    /// The number of elements: an upper bound while the consumer pops, exact while it rests.
    public var count: Int {
        ilk_spsc_count(ring)
    }

    /// How many elements fit.
    public var capacity: Int {
        ilk_spsc_capacity(ring)
    }

    /// The C ring, for a producer in C in this one's place, which pushes bytes of `Element`, each of its stride. Valid
    /// as long as this producer.
    @unsafe
    public var unsafeHandle: UnsafeMutablePointer<ilk_spsc> {
        ring
    }
}

extension SPSCRing.Producer {
    /// Puts as many of the elements as fit into the ring, in order, by one store for each run of free slots. Never
    /// blocks or allocates.
    ///
    /// - Returns: The number pushed, from the front.
    /// - Complexity: O(number pushed). Calls `ilk_spsc_reserve` and `ilk_spsc_commit`.
    @inlinable
    public func tryPush(contentsOf elements: Span<Element>) -> Int where Element: Sendable {
        port.tryPush(contentsOf: elements)
    }

    /// Puts as many of the elements as fit into the ring, in order, as those of a `Span`. Never blocks or allocates.
    ///
    /// - Returns: The number pushed, from the front.
    @inlinable
    public func tryPush(contentsOf elements: [Element]) -> Int where Element: Sendable {
        tryPush(contentsOf: elements.span)
    }
}
