// SPDX-License-Identifier: Apache-2.0
//
// Waiting on the shared ring by suspending the task. A thread of the cooperative pool is never held: the
// task stands in one of the ring's lines (Internal/RingLines.swift) until whoever pushes or pops serves it.

import CInterlock

extension MPMCRing where Element: ~Copyable {
    /// Moves the oldest element out, waiting for one as long as it takes. Thread-safe; suspends the task.
    ///
    /// - Returns: The element, or `nil` once the ring is closed and drained.
    /// - Throws: `CancellationError` if the task is cancelled before it has been given an element; it has
    ///   taken none then. A cancelled task still takes an element that is there.
    @inlinable
    public func pop() async throws(CancellationError) -> sending Element? {
        if let element = tryPopSpinning() { return element }
        return try await suspendToPop(until: nil).element()
    }

    /// Moves the oldest element out, waiting for one until `deadline` at most. Thread-safe; suspends the
    /// task.
    ///
    /// - Returns: `.popped`, `.timedOut` or `.closed`.
    /// - Throws: `CancellationError` if the task is cancelled first.
    @inlinable
    public func pop(
        until deadline: ContinuousClock.Instant
    ) async throws(CancellationError) -> sending PopResult<Element> {
        if let element = tryPop() { return .popped(element) }
        return try await suspendToPop(until: deadline)
    }

    /// Moves the oldest element out, waiting for one for `timeout` at most. Thread-safe; suspends the task.
    ///
    /// - Returns: `.popped`, `.timedOut` or `.closed`.
    /// - Throws: `CancellationError` if the task is cancelled first.
    @inlinable
    public func pop(timeout: Duration) async throws(CancellationError) -> sending PopResult<Element> {
        if let element = tryPop() { return .popped(element) }
        return try await suspendToPop(until: moment(in: timeout))
    }

    /// Moves `element` into the ring, waiting for room as long as it takes. Thread-safe; suspends the task.
    ///
    /// - Returns: `.pushed`, or the element with `.closed` or `.cancelled`.
    @inlinable
    public func push(_ element: consuming sending Element) async -> sending PushResult<Element> {
        await push(element, orUntil: nil)
    }

    /// Moves `element` into the ring, waiting for room until `deadline` at most. Thread-safe; suspends the
    /// task.
    ///
    /// - Returns: `.pushed`, or the element with `.timedOut`, `.closed` or `.cancelled`.
    @inlinable
    public func push(
        _ element: consuming sending Element,
        until deadline: ContinuousClock.Instant
    ) async -> sending PushResult<Element> {
        await push(element, orUntil: deadline)
    }

    /// Moves `element` into the ring, waiting for room for `timeout` at most. Thread-safe; suspends the
    /// task.
    ///
    /// - Returns: `.pushed`, or the element with `.timedOut`, `.closed` or `.cancelled`.
    @inlinable
    public func push(
        _ element: consuming sending Element,
        timeout: Duration
    ) async -> sending PushResult<Element> {
        await push(element, orUntil: moment(in: timeout))
    }

    // What looks and does not wait is specialised in the caller: resolving a generic element at run time takes ten
    // times as long as a push. Only a task that has to suspend comes here unspecialised.

    /// How often a task looks again before it suspends. Suspending and being resumed costs some microseconds; a
    /// partner that is at work on another core takes a tenth of that. Tuned with a push and `for await` loop over
    /// 64 and 1,024 slots on two cores.
    @inlinable
    static var looksBeforeSuspending: Int { 200 }

    /// As ``tryPop()``, looking again for about a microsecond.
    @inlinable
    func tryPopSpinning() -> sending Element? {
        for _ in 0..<MPMCRing.looksBeforeSuspending {
            if let element = tryPop() { return element }
            if isClosed { return nil }
            ilk_cpu_relax()
        }
        return nil
    }

    @inlinable
    func push(
        _ element: consuming sending Element,
        orUntil deadline: ContinuousClock.Instant?
    ) async -> sending PushResult<Element> {
        // As tryPopSpinning.
        var looks = MPMCRing.looksBeforeSuspending
        while isFull, looks > 0, !isClosed {
            looks -= 1
            ilk_cpu_relax()
        }
        let offered = offer(element)
        switch consume offered {
        case .full(let element):
            nonisolated(unsafe) let element = element
            return await suspendToPush(element, until: deadline)
        case .pushed: return .pushed
        case .closed(let element): return .closed(element)
        case .timedOut(let element): return .timedOut(element)
        case .cancelled(let element): return .cancelled(element)
        }
    }

    @usableFromInline
    func suspendToPop(
        until deadline: ContinuousClock.Instant?
    ) async throws(CancellationError) -> sending PopResult<Element> {
        try await lines.pop(until: deadline)
    }

    @usableFromInline
    func suspendToPush(
        _ element: consuming sending Element,
        until deadline: ContinuousClock.Instant?
    ) async -> sending PushResult<Element> {
        await lines.push(element, until: deadline)
    }
}

/// Takes elements out until the ring is closed and drained, or the task is cancelled. Several loops share the
/// elements between them.
extension MPMCRing: AsyncSequence {
    /// An iterator that takes elements out.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(ring: self)
    }

    /// Takes elements out of an ``MPMCRing``.
    public struct AsyncIterator: AsyncIteratorProtocol {
        @usableFromInline let ring: MPMCRing

        @usableFromInline
        init(ring: MPMCRing) {
            self.ring = ring
        }

        /// The next element, or `nil` once the ring is closed and drained or the task is cancelled.
        @inlinable
        public func next() async -> Element? {
            if let element = ring.tryPop() { return element }
            return try? await ring.pop()
        }

        /// As ``next()``, in the isolation of the caller.
        @inlinable
        public func next(isolation actor: isolated (any Actor)?) async -> Element? {
            if let element = ring.tryPop() { return element }
            return try? await ring.pop()
        }
    }
}
