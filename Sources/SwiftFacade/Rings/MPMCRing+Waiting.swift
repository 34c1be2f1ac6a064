// SPDX-License-Identifier: Apache-2.0
//
// Waiting on the shared ring by blocking the thread.

import CInterlock

extension MPMCRing where Element: ~Copyable {
    /// Moves `element` into the ring, waiting for room as long as it takes. Thread-safe; blocks the thread.
    ///
    /// - Returns: `.pushed`, or the element with `.closed`.
    @inlinable
    @available(*, noasync, message: "it would block a thread of the cooperative pool; use `await push`")
    public func push(_ element: consuming sending Element) -> sending PushResult<Element> {
        handOver(element) { bytes in
            if ilk_mpmc_try_push(ring, bytes, ringElementSize(Element.self)) { return ILK_OK }
            return ilk_mpmc_push_until(ring, bytes, ringElementSize(Element.self), forever)
        }
    }

    /// Moves `element` into the ring, waiting for room until `deadline` at most. Thread-safe; blocks the
    /// thread.
    ///
    /// - Returns: `.pushed`, or the element with `.timedOut` or `.closed`.
    @inlinable
    @available(*, noasync, message: "it would block a thread of the cooperative pool; use `await push`")
    public func push(
        _ element: consuming sending Element,
        until deadline: ContinuousClock.Instant
    ) -> sending PushResult<Element> {
        handOver(element) { bytes in
            if ilk_mpmc_try_push(ring, bytes, ringElementSize(Element.self)) { return ILK_OK }
            return ilk_mpmc_push_until(
                ring,
                bytes,
                ringElementSize(Element.self),
                Interlock.deadline(at: deadline)
            )
        }
    }

    /// Moves `element` into the ring, waiting for room for `timeout` at most. Thread-safe; blocks the
    /// thread.
    ///
    /// - Returns: `.pushed`, or the element with `.timedOut` or `.closed`.
    @inlinable
    @available(*, noasync, message: "it would block a thread of the cooperative pool; use `await push`")
    public func push(
        _ element: consuming sending Element,
        timeout: Duration
    ) -> sending PushResult<Element> {
        handOver(element) { bytes in
            if ilk_mpmc_try_push(ring, bytes, ringElementSize(Element.self)) { return ILK_OK }
            return ilk_mpmc_push_until(
                ring,
                bytes,
                ringElementSize(Element.self),
                Interlock.deadline(in: timeout)
            )
        }
    }

    /// Moves the oldest element out, waiting for one as long as it takes. Thread-safe; blocks the thread.
    ///
    /// - Returns: The element, or `nil` once the ring is closed and drained.
    @inlinable
    @available(*, noasync, message: "it would block a thread of the cooperative pool; use `try await pop`")
    public func pop() -> sending Element? {
        takeOver(Element.self) { bytes in
            if ilk_mpmc_try_pop(ring, bytes, ringElementSize(Element.self)) { return ILK_OK }
            return ilk_mpmc_pop_until(ring, bytes, ringElementSize(Element.self), forever)
        }.element()
    }

    /// Moves the oldest element out, waiting for one until `deadline` at most. Thread-safe; blocks the
    /// thread.
    ///
    /// - Returns: `.popped`, `.timedOut` or `.closed`.
    @inlinable
    @available(*, noasync, message: "it would block a thread of the cooperative pool; use `try await pop`")
    public func pop(until deadline: ContinuousClock.Instant) -> sending PopResult<Element> {
        takeOver(Element.self) { bytes in
            if ilk_mpmc_try_pop(ring, bytes, ringElementSize(Element.self)) { return ILK_OK }
            return ilk_mpmc_pop_until(
                ring,
                bytes,
                ringElementSize(Element.self),
                Interlock.deadline(at: deadline)
            )
        }
    }

    /// Moves the oldest element out, waiting for one for `timeout` at most. Thread-safe; blocks the thread.
    ///
    /// - Returns: `.popped`, `.timedOut` or `.closed`.
    @inlinable
    @available(*, noasync, message: "it would block a thread of the cooperative pool; use `try await pop`")
    public func pop(timeout: Duration) -> sending PopResult<Element> {
        takeOver(Element.self) { bytes in
            if ilk_mpmc_try_pop(ring, bytes, ringElementSize(Element.self)) { return ILK_OK }
            return ilk_mpmc_pop_until(
                ring,
                bytes,
                ringElementSize(Element.self),
                Interlock.deadline(in: timeout)
            )
        }
    }
}
