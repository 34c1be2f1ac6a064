// SPDX-License-Identifier: Apache-2.0
//
// Waiting at either end of an SPSC ring by suspending the task. While an end's task is suspended, the end is
// lent to whoever serves the line, under the line's lock: still one thread at a time.
//
// As with the shared ring, what does not wait is specialised in the caller.

extension SPSCRing.Producer where Element: ~Copyable {
    /// Moves `element` into the ring, waiting for room as long as it takes. Suspends the task.
    ///
    /// - Returns: `.pushed`, or the element with `.closed` or `.cancelled`.
    @inlinable
    public func push(
        isolation: isolated (any Actor)? = #isolation,
        _ element: consuming sending Element
    ) async -> sending PushResult<Element> {
        await push(isolation: isolation, element, orUntil: nil)
    }

    /// Moves `element` into the ring, waiting for room until `deadline` at most. Suspends the task.
    ///
    /// - Returns: `.pushed`, or the element with `.timedOut`, `.closed` or `.cancelled`.
    @inlinable
    public func push(
        isolation: isolated (any Actor)? = #isolation,
        _ element: consuming sending Element,
        until deadline: ContinuousClock.Instant
    ) async -> sending PushResult<Element> {
        await push(isolation: isolation, element, orUntil: deadline)
    }

    /// Moves `element` into the ring, waiting for room for `timeout` at most. Suspends the task.
    ///
    /// - Returns: `.pushed`, or the element with `.timedOut`, `.closed` or `.cancelled`.
    @inlinable
    public func push(
        isolation: isolated (any Actor)? = #isolation,
        _ element: consuming sending Element,
        timeout: Duration
    ) async -> sending PushResult<Element> {
        await push(isolation: isolation, element, orUntil: moment(in: timeout))
    }

    @inlinable
    func push(
        isolation: isolated (any Actor)?,
        _ element: consuming sending Element,
        orUntil deadline: ContinuousClock.Instant?
    ) async -> sending PushResult<Element> {
        let offered = offer(element)
        switch consume offered {
        case .full(let element):
            nonisolated(unsafe) let element = element
            return await shared.suspendToPush(element, until: deadline)
        case .pushed: return .pushed
        case .closed(let element): return .closed(element)
        case .timedOut(let element): return .timedOut(element)
        case .cancelled(let element): return .cancelled(element)
        }
    }
}

extension SPSCRing.Consumer where Element: ~Copyable {
    /// Moves the oldest element out, waiting for one as long as it takes. Suspends the task.
    ///
    /// ```swift
    /// while let frame = try await consumer.pop() { show(frame) }
    /// ```
    ///
    /// - Returns: The element, or `nil` once the ring is closed and drained.
    /// - Throws: `CancellationError` if the task is cancelled before it has been given an element; it has
    ///   taken none then. A cancelled task still takes an element that is there.
    @inlinable
    public func pop(
        isolation: isolated (any Actor)? = #isolation
    ) async throws(CancellationError) -> sending Element? {
        if let element = tryPop() { return element }
        return try await shared.suspendToPop(until: nil).element()
    }

    /// Moves the oldest element out, waiting for one until `deadline` at most. Suspends the task.
    ///
    /// - Returns: `.popped`, `.timedOut` or `.closed`.
    /// - Throws: `CancellationError` if the task is cancelled first.
    @inlinable
    public func pop(
        isolation: isolated (any Actor)? = #isolation,
        until deadline: ContinuousClock.Instant
    ) async throws(CancellationError) -> sending PopResult<Element> {
        if let element = tryPop() { return .popped(element) }
        return try await shared.suspendToPop(until: deadline)
    }

    /// Moves the oldest element out, waiting for one for `timeout` at most. Suspends the task.
    ///
    /// - Returns: `.popped`, `.timedOut` or `.closed`.
    /// - Throws: `CancellationError` if the task is cancelled first.
    @inlinable
    public func pop(
        isolation: isolated (any Actor)? = #isolation,
        timeout: Duration
    ) async throws(CancellationError) -> sending PopResult<Element> {
        if let element = tryPop() { return .popped(element) }
        return try await shared.suspendToPop(until: moment(in: timeout))
    }
}

extension SPSCShared where Element: ~Copyable {
    @usableFromInline
    func suspendToPush(
        _ element: consuming sending Element,
        until deadline: ContinuousClock.Instant?
    ) async -> sending PushResult<Element> {
        await lines.push(element, until: deadline)
    }

    @usableFromInline
    func suspendToPop(
        until deadline: ContinuousClock.Instant?
    ) async throws(CancellationError) -> sending PopResult<Element> {
        try await lines.pop(until: deadline)
    }
}
