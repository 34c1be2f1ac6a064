// SPDX-License-Identifier: Apache-2.0
//
// Waiting at either end of an SPSC ring by suspending the task, in the isolation of the end's caller only
// (Internal/SPSCWaiters.swift). The verbs are `mutating`: re-entering an actor that holds an end while a verb is
// suspended does not compile. Take the end out of the actor for the wait, or keep it in the task that uses it.

extension SPSCRing.Producer where Element: ~Copyable {
    /// As the suspending `MPMCRing.push(_:)`.
    @inlinable
    public mutating func push(
        isolation: isolated (any Actor)? = #isolation,
        _ element: consuming sending Element
    ) async -> sending TaskPushResult<Element> {
        TaskPushResult(await give(isolation: isolation, element, until: nil))
    }

    /// As ``push(isolation:_:)``, until `deadline` at most.
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

    /// As ``push(isolation:_:until:)``, for `timeout` at most.
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
    /// As the suspending `MPMCRing.pop()`.
    ///
    /// ```swift
    /// var consumer = consumer
    /// while let frame = try await consumer.pop() { show(frame) }
    /// ```
    @inlinable
    public mutating func pop(
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> sending Element? {
        if let element = tryPop() { return element }
        return try waiters.elementOrEnd(await waiters.pop(Element.self, isolation: isolation, until: nil))
    }

    /// As ``pop(isolation:)``, until `deadline` at most.
    ///
    /// - Returns: `.popped`, `.timedOut` or `.closed`.
    @inlinable
    public mutating func pop(
        isolation: isolated (any Actor)? = #isolation,
        until deadline: ContinuousClock.Instant
    ) async throws -> sending PopResult<Element> {
        if let element = tryPop() { return .popped(element) }
        return try waiters.resultOrEnd(await waiters.pop(Element.self, isolation: isolation, until: deadline))
    }

    /// As ``pop(isolation:until:)``, for `timeout` at most.
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
