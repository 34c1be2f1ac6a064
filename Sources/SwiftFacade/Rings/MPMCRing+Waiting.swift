// SPDX-License-Identifier: Apache-2.0
//
// Waiting on the shared ring by blocking the thread, over Internal/RingPort+Elements.swift. A pop ends before `waiters`
// is read: the error of a closed ring concerns the slow path only.

import CInterlock

extension MPMCRing where Element: ~Copyable {
    /// Moves `element` into the ring, waiting for room as long as it takes. Thread-safe; blocks the thread; allocates
    /// nothing. In `async` code the form that suspends is chosen, and the compiler asks for `await`.
    ///
    /// - Returns: `.pushed`, or the element with `.closed`.
    /// - Complexity: O(1) where there is room. Calls `ilk_mpmc_try_push`, then `ilk_mpmc_push_until`.
    @inlinable
    @available(*, noasync, message: "it would block a thread of the cooperative pool; use `await push`")
    public func push(_ element: consuming sending Element) -> sending PushResult<Element> {
        port.push(element, until: forever, answer: PushResult.init)
    }

    /// Moves `element` into the ring, waiting for room until `deadline` at most. Thread-safe; blocks the thread.
    ///
    /// - Returns: `.pushed`, or the element with `.timedOut` or `.closed`.
    @inlinable
    @available(*, noasync, message: "it would block a thread of the cooperative pool; use `await push`")
    public func push(
        _ element: consuming sending Element,
        until deadline: ContinuousClock.Instant
    ) -> sending TimedPushResult<Element> {
        port.push(element, until: Interlock.deadline(at: deadline), answer: TimedPushResult.init)
    }

    /// Moves `element` into the ring, waiting for room for `timeout` at most. Thread-safe; blocks the thread.
    ///
    /// - Returns: `.pushed`, or the element with `.timedOut` or `.closed`.
    @inlinable
    @available(*, noasync, message: "it would block a thread of the cooperative pool; use `await push`")
    public func push(
        _ element: consuming sending Element,
        timeout: Duration
    ) -> sending TimedPushResult<Element> {
        port.push(element, until: Interlock.deadline(in: timeout), answer: TimedPushResult.init)
    }

    /// Moves the oldest element out, waiting for one as long as it takes. Thread-safe; blocks the thread; allocates
    /// nothing. In `async` code the form that suspends is chosen, and the compiler asks for `await`.
    ///
    /// - Returns: The element, or `nil` once the ring is closed and drained.
    /// - Throws: The error that the ring was closed with, once it is drained.
    /// - Complexity: O(1) where there is an element. Calls `ilk_mpmc_try_pop`, then `ilk_mpmc_pop_until`.
    @inlinable
    @available(*, noasync, message: "it would block a thread of the cooperative pool; use `try await pop`")
    public func pop() throws -> sending Element? {
        let popped = port.pop(Element.self, until: forever)
        return try waiters.elementOrEnd(popped)
    }

    /// Moves the oldest element out, waiting for one until `deadline` at most. Thread-safe; blocks the thread.
    ///
    /// - Returns: `.popped`, `.timedOut` or `.closed`.
    /// - Throws: As ``pop()``.
    @inlinable
    @available(*, noasync, message: "it would block a thread of the cooperative pool; use `try await pop`")
    public func pop(until deadline: ContinuousClock.Instant) throws -> sending PopResult<Element> {
        let popped = port.pop(Element.self, until: Interlock.deadline(at: deadline))
        return try waiters.resultOrEnd(popped)
    }

    /// Moves the oldest element out, waiting for one for `timeout` at most. Thread-safe; blocks the thread.
    ///
    /// - Returns: `.popped`, `.timedOut` or `.closed`.
    /// - Throws: As ``pop()``.
    @inlinable
    @available(*, noasync, message: "it would block a thread of the cooperative pool; use `try await pop`")
    public func pop(timeout: Duration) throws -> sending PopResult<Element> {
        let popped = port.pop(Element.self, until: Interlock.deadline(in: timeout))
        return try waiters.resultOrEnd(popped)
    }
}
