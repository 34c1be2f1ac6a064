// SPDX-License-Identifier: Apache-2.0
//
// Waiting on the shared ring by blocking the thread.

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
        handOver(element) { bytes in
            if ilk_mpmc_try_push(ring, bytes, ringElementSize(Element.self)) { return ILK_OK }
            return ilk_mpmc_push_until(ring, bytes, ringElementSize(Element.self), forever)
        } answer: {
            PushResult($0, $1)
        }
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
        handOver(element) { bytes in
            if ilk_mpmc_try_push(ring, bytes, ringElementSize(Element.self)) { return ILK_OK }
            return ilk_mpmc_push_until(
                ring,
                bytes,
                ringElementSize(Element.self),
                Interlock.deadline(at: deadline)
            )
        } answer: {
            TimedPushResult($0, $1)
        }
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
        handOver(element) { bytes in
            if ilk_mpmc_try_push(ring, bytes, ringElementSize(Element.self)) { return ILK_OK }
            return ilk_mpmc_push_until(
                ring,
                bytes,
                ringElementSize(Element.self),
                Interlock.deadline(in: timeout)
            )
        } answer: {
            TimedPushResult($0, $1)
        }
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
        let taken = takeOver(Element.self) { bytes in
            if ilk_mpmc_try_pop(ring, bytes, ringElementSize(Element.self)) { return ILK_OK }
            return ilk_mpmc_pop_until(ring, bytes, ringElementSize(Element.self), forever)
        }
        return try elementOrEnd(taken)
    }

    /// Moves the oldest element out, waiting for one until `deadline` at most. Thread-safe; blocks the thread.
    ///
    /// - Returns: `.popped`, `.timedOut` or `.closed`.
    /// - Throws: What the ring was closed with, once it is drained.
    @inlinable
    @available(*, noasync, message: "it would block a thread of the cooperative pool; use `try await pop`")
    public func pop(until deadline: ContinuousClock.Instant) throws -> sending PopResult<Element> {
        let taken = takeOver(Element.self) { bytes in
            if ilk_mpmc_try_pop(ring, bytes, ringElementSize(Element.self)) { return ILK_OK }
            return ilk_mpmc_pop_until(
                ring,
                bytes,
                ringElementSize(Element.self),
                Interlock.deadline(at: deadline)
            )
        }
        return try resultOrEnd(taken)
    }

    /// Moves the oldest element out, waiting for one for `timeout` at most. Thread-safe; blocks the thread.
    ///
    /// - Returns: `.popped`, `.timedOut` or `.closed`.
    /// - Throws: What the ring was closed with, once it is drained.
    @inlinable
    @available(*, noasync, message: "it would block a thread of the cooperative pool; use `try await pop`")
    public func pop(timeout: Duration) throws -> sending PopResult<Element> {
        let taken = takeOver(Element.self) { bytes in
            if ilk_mpmc_try_pop(ring, bytes, ringElementSize(Element.self)) { return ILK_OK }
            return ilk_mpmc_pop_until(
                ring,
                bytes,
                ringElementSize(Element.self),
                Interlock.deadline(in: timeout)
            )
        }
        return try resultOrEnd(taken)
    }

    /// The element; or, on a ring that is closed and drained, what it was closed with, thrown, or `nil`.
    @inlinable
    func elementOrEnd(_ taken: consuming sending Taken<Element>) throws -> sending Element? {
        switch consume taken {
        case .element(let element): return element
        case .none(_):
            try throwClosingError()
            return nil
        }
    }

    /// As ``elementOrEnd(_:)``, for a wait with a limit.
    @inlinable
    func resultOrEnd(_ taken: consuming sending Taken<Element>) throws -> sending PopResult<Element> {
        switch consume taken {
        case .element(let element): return .popped(element)
        case .none(let status):
            if status == ILK_TIMEDOUT { return .timedOut }
            try throwClosingError()
            return .closed
        }
    }

    @usableFromInline
    func throwClosingError() throws {
        try lines.throwClosingError()
    }
}
