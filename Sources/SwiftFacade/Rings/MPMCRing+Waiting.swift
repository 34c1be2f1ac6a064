// SPDX-License-Identifier: Apache-2.0
//
// Waiting on the shared ring by blocking the thread. What the verbs do is in Internal/RingPort+Elements.swift.
// A pop ends before `waiters` is read: what a ring was closed with concerns the slow path only.

import CInterlock

extension MPMCRing where Element: ~Copyable {
    /// Moves `element` into the ring, waiting for room as long as it takes. Thread-safe; blocks the thread.
    ///
    /// In `async` code this is ``push(_:)``, which suspends: the compiler asks for `await`.
    ///
    /// - Returns: `.pushed`, or the element with `.closed`.
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

    /// Moves the oldest element out, waiting for one as long as it takes. Thread-safe; blocks the thread.
    ///
    /// In `async` code this is ``pop()``, which suspends: the compiler asks for `await`.
    ///
    /// - Returns: The element, or `nil` once the ring is closed and drained.
    /// - Throws: What the ring was closed with, once it is drained.
    @inlinable
    @available(*, noasync, message: "it would block a thread of the cooperative pool; use `try await pop`")
    public func pop() throws -> sending Element? {
        let popped = port.pop(Element.self, until: forever)
        return try waiters.elementOrEnd(popped)
    }

    /// Moves the oldest element out, waiting for one until `deadline` at most. Thread-safe; blocks the thread.
    ///
    /// - Returns: `.popped`, `.timedOut` or `.closed`.
    /// - Throws: What the ring was closed with, once it is drained.
    @inlinable
    @available(*, noasync, message: "it would block a thread of the cooperative pool; use `try await pop`")
    public func pop(until deadline: ContinuousClock.Instant) throws -> sending PopResult<Element> {
        let popped = port.pop(Element.self, until: Interlock.deadline(at: deadline))
        return try waiters.resultOrEnd(popped)
    }

    /// Moves the oldest element out, waiting for one for `timeout` at most. Thread-safe; blocks the thread.
    ///
    /// - Returns: `.popped`, `.timedOut` or `.closed`.
    /// - Throws: What the ring was closed with, once it is drained.
    @inlinable
    @available(*, noasync, message: "it would block a thread of the cooperative pool; use `try await pop`")
    public func pop(timeout: Duration) throws -> sending PopResult<Element> {
        let popped = port.pop(Element.self, until: Interlock.deadline(in: timeout))
        return try waiters.resultOrEnd(popped)
    }
}
