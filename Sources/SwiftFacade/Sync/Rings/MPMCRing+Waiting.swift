// SPDX-License-Identifier: Apache-2.0
//
// Waiting on the shared ring by blocking the thread. A pop that gets an element ends before `waiters` is read.

import CInterlock

extension MPMCRing where Element: ~Copyable {
    /// Moves `element` into the ring; blocks the thread until there is room. Allocates nothing. In `async` code the
    /// compiler chooses the form that suspends and asks for `await`.
    ///
    /// - Returns: `.pushed`, or the element with `.closed`.
    /// - Complexity: O(1) where there is room. Calls `ilk_mpmc_try_push`, then `ilk_mpmc_push_until`.
    @inlinable
    @available(*, noasync, message: "it blocks the thread; use `await push`")
    public func push(_ element: consuming sending Element) -> sending PushResult<Element> {
        port.push(element, until: forever)
    }

    /// Moves `element` into the ring; blocks the thread while it is full, until `deadline` at most. A deadline that has
    /// passed still pushes where there is room.
    ///
    /// - Returns: `.pushed`, or the element with `.full` or `.closed`.
    @inlinable
    @available(*, noasync, message: "it blocks the thread; use `await push`")
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
    @available(*, noasync, message: "it blocks the thread; use `await push`")
    public func push(
        _ element: consuming sending Element,
        timeout: Duration
    ) -> sending PushResult<Element> {
        port.push(element, until: InterlockSync.deadline(in: timeout))
    }

    /// Moves the oldest element out; blocks the thread until there is one. Allocates nothing.
    ///
    /// - Returns: The element, or `nil` once the ring is closed and drained.
    /// - Throws: ``closingError``, once the ring is drained.
    /// - Complexity: O(1) where there is an element. Calls `ilk_mpmc_try_pop`, then `ilk_mpmc_pop_until`.
    @inlinable
    @available(*, noasync, message: "it blocks the thread; use `try await pop`")
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
    @available(*, noasync, message: "it blocks the thread; use `try await pop`")
    public func pop(until deadline: ContinuousClock.Instant) throws -> sending PopResult<Element> {
        let popped = port.pop(Element.self, until: InterlockSync.deadline(at: deadline))
        return try waiters.resultOrEnd(popped)
    }

    /// Moves the oldest element out; blocks the thread while the ring is empty, for `timeout` at most.
    ///
    /// - Returns: `.popped`, `.empty` or `.closed`.
    /// - Throws: ``closingError``, once the ring is drained.
    @inlinable
    @available(*, noasync, message: "it blocks the thread; use `try await pop`")
    public func pop(timeout: Duration) throws -> sending PopResult<Element> {
        let popped = port.pop(Element.self, until: InterlockSync.deadline(in: timeout))
        return try waiters.resultOrEnd(popped)
    }
}
