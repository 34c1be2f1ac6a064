// SPDX-License-Identifier: Apache-2.0
//
// Waiting at either end of an SPSC ring by suspending the task, in the isolation of the end's caller only
// (Internal/SPSCWaiters.swift). The verbs are `mutating`: re-entering an actor that holds an end while a verb is
// suspended does not compile. Take the end out of the actor for the wait, or keep it in the task that uses it.

extension SPSCRing.Producer where Element: ~Copyable {
    /// Moves `element` into the ring; suspends the task until there is room.
    ///
    /// - Parameter isolation: The producer stays in its caller's isolation.
    /// - Returns: `.pushed`, or the element with `.closed` or `.cancelled`. A cancelled task still pushes where there
    ///   is room.
    @inlinable
    public mutating func push(
        isolation: isolated (any Actor)? = #isolation,
        _ element: consuming sending Element
    ) async -> sending PushResult<Element> {
        await give(isolation: isolation, element, until: nil)
    }

    /// Moves `element` into the ring; suspends the task while it is full, until `deadline` at most.
    ///
    /// - Returns: `.pushed`, or the element with `.full`, `.closed` or `.cancelled`.
    @inlinable
    public mutating func push(
        isolation: isolated (any Actor)? = #isolation,
        _ element: consuming sending Element,
        until deadline: ContinuousClock.Instant
    ) async -> sending PushResult<Element> {
        await give(isolation: isolation, element, until: deadline)
    }

    /// Moves `element` into the ring; suspends the task while it is full, for `timeout` at most.
    ///
    /// - Returns: `.pushed`, or the element with `.full`, `.closed` or `.cancelled`.
    @inlinable
    public mutating func push(
        isolation: isolated (any Actor)? = #isolation,
        _ element: consuming sending Element,
        timeout: Duration
    ) async -> sending PushResult<Element> {
        await give(isolation: isolation, element, until: moment(in: timeout))
    }

    @inlinable
    func give(
        isolation: isolated (any Actor)?,
        _ element: consuming sending Element,
        until deadline: ContinuousClock.Instant?
    ) async -> sending PushResult<Element> {
        let tried = tryPush(element)
        switch consume tried {
        case .full(let element):
            nonisolated(unsafe) let element = element
            return await waiters.push(element, isolation: isolation, until: deadline)
        case let answer: return answer
        }
    }
}

extension SPSCRing.Consumer where Element: ~Copyable {
    /// Moves the oldest element out; suspends the task until there is one.
    ///
    /// ```swift
    /// var consumer = consumer
    /// while let frame = try await consumer.pop() { show(frame) }
    /// ```
    ///
    /// - Parameter isolation: The consumer stays in its caller's isolation.
    /// - Returns: The element, or `nil` once the ring is closed and drained.
    /// - Throws: `CancellationError` if the task is cancelled before it has an element; a cancelled task still takes
    ///   one that is there. ``closingError``, once the ring is drained.
    @inlinable
    public mutating func pop(
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> sending Element? {
        if let element = tryPop() { return element }
        return try waiters.elementOrEnd(await waiters.pop(Element.self, isolation: isolation, until: nil))
    }

    /// Moves the oldest element out; suspends the task while the ring is empty, until `deadline` at most.
    ///
    /// - Returns: `.popped`, `.empty` or `.closed`.
    /// - Throws: `CancellationError` if the task is cancelled before it has an element. ``closingError``, once the ring
    ///   is drained.
    @inlinable
    public mutating func pop(
        isolation: isolated (any Actor)? = #isolation,
        until deadline: ContinuousClock.Instant
    ) async throws -> sending PopResult<Element> {
        if let element = tryPop() { return .popped(element) }
        return try waiters.resultOrEnd(await waiters.pop(Element.self, isolation: isolation, until: deadline))
    }

    /// Moves the oldest element out; suspends the task while the ring is empty, for `timeout` at most.
    ///
    /// - Returns: `.popped`, `.empty` or `.closed`.
    /// - Throws: `CancellationError` if the task is cancelled before it has an element. ``closingError``, once the ring
    ///   is drained.
    @inlinable
    public mutating func pop(
        isolation: isolated (any Actor)? = #isolation,
        timeout: Duration
    ) async throws -> sending PopResult<Element> {
        if let element = tryPop() { return .popped(element) }
        return try waiters.resultOrEnd(
            await waiters.pop(Element.self, isolation: isolation, until: moment(in: timeout))
        )
    }
}
