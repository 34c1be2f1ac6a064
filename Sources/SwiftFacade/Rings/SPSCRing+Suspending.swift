// SPDX-License-Identifier: Apache-2.0
//
// Waiting at either end of an SPSC ring by suspending the task. An end is used only in the isolation of its caller
// (Internal/SPSCWaiters.swift). The verbs are `mutating`: an actor that holds an end and is re-entered while a verb is
// suspended does not compile. Take the end out of the actor while it is waited on, or keep it in the task that uses it.
//
// As with the shared ring, the part that does not wait is specialised in the caller.

extension SPSCRing.Producer where Element: ~Copyable {
    /// Moves `element` into the ring, waiting for room as long as it takes. Suspends the task.
    ///
    /// - Returns: `.pushed`, or the element with `.closed` or `.cancelled`. A cancelled task still pushes where there
    ///   is room.
    @inlinable
    public mutating func push(
        isolation: isolated (any Actor)? = #isolation,
        _ element: consuming sending Element
    ) async -> sending TaskPushResult<Element> {
        TaskPushResult(await give(isolation: isolation, element, until: nil))
    }

    /// Moves `element` into the ring, waiting for room until `deadline` at most. Suspends the task.
    ///
    /// - Returns: `.pushed`, or the element with `.timedOut`, `.closed` or `.cancelled`.
    @inlinable
    public mutating func push(
        isolation: isolated (any Actor)? = #isolation,
        _ element: consuming sending Element,
        until deadline: ContinuousClock.Instant
    ) async -> sending TimedTaskPushResult<Element> {
        await give(isolation: isolation, element, until: deadline)
    }

    /// Moves `element` into the ring, waiting for room for `timeout` at most. Suspends the task.
    ///
    /// - Returns: `.pushed`, or the element with `.timedOut`, `.closed` or `.cancelled`.
    @inlinable
    public mutating func push(
        isolation: isolated (any Actor)? = #isolation,
        _ element: consuming sending Element,
        timeout: Duration
    ) async -> sending TimedTaskPushResult<Element> {
        await give(isolation: isolation, element, until: moment(in: timeout))
    }

    @inlinable
    func give(
        isolation: isolated (any Actor)?,
        _ element: consuming sending Element,
        until deadline: ContinuousClock.Instant?
    ) async -> sending TimedTaskPushResult<Element> {
        let offered = offer(element)
        switch consume offered {
        case .pushed: return .pushed
        case .closed(let element): return .closed(element)
        case .full(let element):
            nonisolated(unsafe) let element = element
            return await waiters.push(element, isolation: isolation, until: deadline)
        }
    }
}

extension SPSCRing.Consumer where Element: ~Copyable {
    /// Moves the oldest element out, waiting for one as long as it takes. Suspends the task.
    ///
    /// ```swift
    /// var consumer = consumer
    /// while let frame = try await consumer.pop() { show(frame) }
    /// ```
    ///
    /// - Returns: The element, or `nil` once the ring is closed and drained.
    /// - Throws: `CancellationError` if the task is cancelled before there is an element; it has taken none then. A
    ///   cancelled task still takes an element that is there. The error that the ring was closed with, once it is
    ///   drained.
    @inlinable
    public mutating func pop(
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> sending Element? {
        if let element = tryPop() { return element }
        return try waiters.elementOrEnd(await waiters.pop(Element.self, isolation: isolation, until: nil))
    }

    /// Moves the oldest element out, waiting for one until `deadline` at most. Suspends the task.
    ///
    /// - Returns: `.popped`, `.timedOut` or `.closed`.
    /// - Throws: As ``pop(isolation:)``.
    @inlinable
    public mutating func pop(
        isolation: isolated (any Actor)? = #isolation,
        until deadline: ContinuousClock.Instant
    ) async throws -> sending PopResult<Element> {
        if let element = tryPop() { return .popped(element) }
        return try waiters.resultOrEnd(await waiters.pop(Element.self, isolation: isolation, until: deadline))
    }

    /// Moves the oldest element out, waiting for one for `timeout` at most. Suspends the task.
    ///
    /// - Returns: `.popped`, `.timedOut` or `.closed`.
    /// - Throws: As ``pop(isolation:)``.
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
