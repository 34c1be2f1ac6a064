// SPDX-License-Identifier: Apache-2.0
//
// Waiting on the shared ring by suspending the task. No thread of the cooperative pool is held: the task waits in a
// queue of the ring (Internal/MPMCWaiters.swift) until a thread that pushes or pops serves it.
//
// The part that does not wait is specialised in the caller: resolving a generic element at run time takes ten times as
// long as a push. A task that suspends goes on unspecialised, in MPMCWaiters.

import CInterlock

extension MPMCRing where Element: ~Copyable {
    /// Moves the oldest element out, waiting for one as long as it takes. Thread-safe; suspends the task.
    ///
    /// - Returns: The element, or `nil` once the ring is closed and drained.
    /// - Throws: `CancellationError` if the task is cancelled before it has been given an element; it has taken none
    ///   then. A cancelled task still takes an element that is there. The error that the ring was closed with, once it
    ///   is drained.
    @inlinable
    public func pop() async throws -> sending Element? {
        if let element = tryPopSpinning() { return element }
        return try waiters.elementOrEnd(await waiters.pop(until: nil))
    }

    /// Moves the oldest element out, waiting for one until `deadline` at most. Thread-safe; suspends the task.
    ///
    /// - Returns: `.popped`, `.timedOut` or `.closed`.
    /// - Throws: As ``pop()``.
    @inlinable
    public func pop(until deadline: ContinuousClock.Instant) async throws -> sending PopResult<Element> {
        if let element = tryPop() { return .popped(element) }
        return try waiters.resultOrEnd(await waiters.pop(until: deadline))
    }

    /// Moves the oldest element out, waiting for one for `timeout` at most. Thread-safe; suspends the task.
    ///
    /// - Returns: `.popped`, `.timedOut` or `.closed`.
    /// - Throws: As ``pop()``.
    @inlinable
    public func pop(timeout: Duration) async throws -> sending PopResult<Element> {
        if let element = tryPop() { return .popped(element) }
        return try waiters.resultOrEnd(await waiters.pop(until: moment(in: timeout)))
    }

    /// Moves `element` into the ring, waiting for room as long as it takes. Thread-safe; suspends the task.
    ///
    /// - Returns: `.pushed`, or the element with `.closed` or `.cancelled`. A cancelled task still pushes where there
    ///   is room.
    @inlinable
    public func push(
        _ element: consuming sending Element
    ) async -> sending TaskPushResult<Element> {
        TaskPushResult(await give(element, until: nil))
    }

    /// Moves `element` into the ring, waiting for room until `deadline` at most. Thread-safe; suspends the
    /// task.
    ///
    /// - Returns: `.pushed`, or the element with `.timedOut`, `.closed` or `.cancelled`.
    @inlinable
    public func push(
        _ element: consuming sending Element,
        until deadline: ContinuousClock.Instant
    ) async -> sending TimedTaskPushResult<Element> {
        await give(element, until: deadline)
    }

    /// Moves `element` into the ring, waiting for room for `timeout` at most. Thread-safe; suspends the
    /// task.
    ///
    /// - Returns: `.pushed`, or the element with `.timedOut`, `.closed` or `.cancelled`.
    @inlinable
    public func push(
        _ element: consuming sending Element,
        timeout: Duration
    ) async -> sending TimedTaskPushResult<Element> {
        await give(element, until: moment(in: timeout))
    }

    /// How often a task probes the ring before it suspends. A suspension and its resumption cost some microseconds; a
    /// partner at work on another core answers in a tenth of that. Tuned with a push and a `for try await` loop over 64
    /// and 1,024 slots on two cores.
    @inlinable
    static var probesBeforeSuspending: Int { 200 }

    /// As ``tryPop()``, probing for about a microsecond.
    @inlinable
    func tryPopSpinning() -> sending Element? {
        for _ in 0..<MPMCRing.probesBeforeSuspending {
            if let element = tryPop() { return element }
            if isClosed { return nil }
            ilk_cpu_relax()
        }
        return nil
    }

    @inlinable
    func give(
        _ element: consuming sending Element,
        until deadline: ContinuousClock.Instant?
    ) async -> sending TimedTaskPushResult<Element> {
        // The probes of tryPopSpinning.
        var probes = MPMCRing.probesBeforeSuspending
        while isFull, probes > 0, !isClosed {
            probes -= 1
            ilk_cpu_relax()
        }
        let offered = offer(element)
        switch consume offered {
        case .pushed: return .pushed
        case .closed(let element): return .closed(element)
        case .full(let element):
            nonisolated(unsafe) let element = element
            return await waiters.push(element, until: deadline)
        }
    }
}

/// Takes elements out until the ring is closed and drained, or the task is cancelled; throws the error that the ring
/// was closed with. Several loops share the elements: each element goes to one of them.
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

        /// The next element, or `nil` once the ring is closed and drained or the task is cancelled. Suspends the task.
        ///
        /// - Throws: The error that the ring was closed with, once it is drained.
        @inlinable
        public func next() async throws -> Element? {
            if let element = ring.tryPopSpinning() { return element }
            return try ring.waiters.nextOrEnd(await ring.waiters.pop(until: nil))
        }

        /// As ``next()``, in the isolation of the caller.
        @inlinable
        public func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
            if let element = ring.tryPopSpinning() { return element }
            return try ring.waiters.nextOrEnd(await ring.waiters.pop(until: nil))
        }
    }
}
