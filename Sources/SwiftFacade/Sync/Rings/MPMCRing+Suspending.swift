// SPDX-License-Identifier: Apache-2.0
//
// Waiting on the shared ring by suspending the task (Internal/MPMCWaiters.swift). The part that does not wait is
// specialised in the caller: resolving a generic element at run time takes ten times as long as a push.

import CInterlock

extension MPMCRing where Element: ~Copyable {
    /// Moves the oldest element out; suspends the task until there is one.
    ///
    /// - Returns: The element, or `nil` once the ring is closed and drained.
    /// - Throws: `CancellationError` if the task is cancelled before it has an element; a cancelled task still takes
    ///   one that is there, unless it has to queue. ``closingError``, once the ring is drained.
    @inlinable
    public func pop() async throws -> sending Element? {
        if mayPass(waiters.popPasses), let element = tryPopSpinning() { return element }
        return try waiters.elementOrEnd(await waiters.pop(until: nil))
    }

    /// Moves the oldest element out; suspends the task while the ring is empty, until `deadline` at most.
    ///
    /// - Returns: `.popped`, `.empty` or `.closed`.
    /// - Throws: `CancellationError` if the task is cancelled before it has an element. ``closingError``, once the ring
    ///   is drained.
    @inlinable
    public func pop(until deadline: ContinuousClock.Instant) async throws -> sending PopResult<Element> {
        if mayPass(waiters.popPasses), let element = tryPop() { return .popped(element) }
        return try waiters.resultOrEnd(await waiters.pop(until: deadline))
    }

    /// Moves the oldest element out; suspends the task while the ring is empty, for `timeout` at most.
    ///
    /// - Returns: `.popped`, `.empty` or `.closed`.
    /// - Throws: `CancellationError` if the task is cancelled before it has an element. ``closingError``, once the ring
    ///   is drained.
    @inlinable
    public func pop(timeout: Duration) async throws -> sending PopResult<Element> {
        if mayPass(waiters.popPasses), let element = tryPop() { return .popped(element) }
        return try waiters.resultOrEnd(await waiters.pop(until: moment(in: timeout)))
    }

    /// Moves `element` into the ring; suspends the task until there is room.
    ///
    /// - Returns: `.pushed`, or the element with `.closed` or `.cancelled`. A cancelled task still pushes where there
    ///   is room, unless it has to queue.
    @inlinable
    public func push(
        _ element: consuming sending Element
    ) async -> sending PushResult<Element> {
        await give(element, until: nil)
    }

    /// Moves `element` into the ring; suspends the task while it is full, until `deadline` at most.
    ///
    /// - Returns: `.pushed`, or the element with `.full`, `.closed` or `.cancelled`.
    @inlinable
    public func push(
        _ element: consuming sending Element,
        until deadline: ContinuousClock.Instant
    ) async -> sending PushResult<Element> {
        await give(element, until: deadline)
    }

    /// Moves `element` into the ring; suspends the task while it is full, for `timeout` at most.
    ///
    /// - Returns: `.pushed`, or the element with `.full`, `.closed` or `.cancelled`.
    @inlinable
    public func push(
        _ element: consuming sending Element,
        timeout: Duration
    ) async -> sending PushResult<Element> {
        await give(element, until: moment(in: timeout))
    }

    /// How often a task probes the ring before it suspends: suspending and resuming cost some microseconds, a partner's
    /// answer a tenth of that. Tuned with a push and a `for try await` loop over 64 and 1,024 slots on two cores.
    @inlinable
    static var probesBeforeSuspending: Int { 200 }

    /// Whether the task may go before those that are suspended.
    @inlinable @inline(__always)
    func mayPass(_ passes: borrowing CObject<ilk__passes>) -> Bool { ilk__passes_take(passes.pointer) }

    /// Pops an element, probing for one for about a microsecond.
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
    ) async -> sending PushResult<Element> {
        guard mayPass(waiters.pushPasses) else {
            nonisolated(unsafe) let element = element
            return await waiters.push(element, until: deadline)
        }
        // Probes as often as tryPopSpinning does.
        var probes = MPMCRing.probesBeforeSuspending
        while isFull, probes > 0, !isClosed {
            probes -= 1
            ilk_cpu_relax()
        }
        let tried = tryPush(element)
        switch consume tried {
        case .full(let element):
            nonisolated(unsafe) let element = element
            return await waiters.push(element, until: deadline)
        case let answer: return answer
        }
    }
}

/// Takes elements, each for one of several loops, until the ring is closed and drained, or the task is cancelled and
/// would have to wait; throws ``closingError``.
extension MPMCRing: AsyncSequence {
    /// An iterator.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(ring: self)
    }

    /// Takes elements out. After `nil` or an error it gives `nil` for ever; a new iterator asks the ring anew.
    public struct AsyncIterator: AsyncIteratorProtocol {
        @usableFromInline let ring: MPMCRing
        @usableFromInline var hasEnded = false

        @usableFromInline
        init(ring: MPMCRing) {
            self.ring = ring
        }

        /// The next element, or `nil` once the ring is closed and drained, or the task is cancelled and would have to
        /// wait. Suspends the task.
        ///
        /// - Throws: The ring's ``closingError``, once it is drained.
        @inlinable
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws -> Element? {
            if hasEnded { return nil }
            if ring.mayPass(ring.waiters.popPasses), let element = ring.tryPopSpinning() { return element }
            hasEnded = true
            let element = try ring.waiters.nextOrEnd(await ring.waiters.pop(until: nil))
            hasEnded = element == nil
            return element
        }
    }
}
