// SPDX-License-Identifier: Apache-2.0
//
// The last of values that come in quick succession is delivered, when no further one has come for a while.

import Dispatch

/// Calls a closure with the last of values that come in quick succession: when none has come after it for the interval.
///
/// ```swift
/// let search = Debouncer<String>(for: .milliseconds(300), on: .main) { text in find(text) }
/// search.submit("in")
/// search.submit("interlock")  // find("interlock"), 300 ms later
/// ```
///
/// With ``DeliveryEdges/leading`` the first value of a succession is delivered at once and the others are not; with
/// ``DeliveryEdges/both`` the first at once and the last, if it is another, at the end.
///
/// May be used from any thread; no call blocks, and no thread is held by a wait. Values are delivered in the order in
/// which they were submitted, one at a time where the queue is serial, never early by the clock. The closure sees what
/// the submitting thread did before. Dropping the debouncer does not drop the value that is held back.
public final class Debouncer<Value: Sendable>: Sendable {
    private let pacer: Pacer<Value>

    /// Makes a debouncer.
    ///
    /// - Parameters:
    ///   - interval: how long no further value must come. Zero or less delivers every value.
    ///   - maximumDelay: how long a succession that does not pause may go on: then its last value is delivered, and the
    ///     next one begins another succession. By default for ever.
    ///   - edges: which values of a succession are delivered.
    ///   - queue: runs `handler`; by default the main queue, which needs a program that drains it.
    ///   - clock: measures the times.
    ///   - handler: called with each value that is delivered.
    public init(
        for interval: Duration,
        maximumDelay: Duration? = nil,
        edges: DeliveryEdges = .trailing,
        on queue: DispatchQueue = .main,
        clock: any Clock<Duration> = ContinuousClock(),
        _ handler: @escaping @Sendable (Value) -> Void
    ) {
        let wake = delivering(on: queue, handler)
        pacer = Pacer(for: interval, .debounce(limit: maximumDelay), edges, on: clock, wake: wake)
    }

    /// Whether no succession is under way; for tests.
    var isIdle: Bool { pacer.isIdle }

    /// Submits a value. One that is held back is freed, undelivered. O(1).
    public func submit(_ value: Value) { _ = pacer.submit(value) }

    /// Gives the value that is held back to the queue now. The succession has ended, also where none is held back.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    public func flush() -> Bool { pacer.flush() }

    /// Drops the value that is held back, and those that the queue was given but has not begun to deliver: they are
    /// freed before the call returns. The succession has ended. Where the queue is serial, nothing submitted before is
    /// delivered after a call on the queue.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    public func cancel() -> Bool { pacer.drop() }
}

extension Debouncer where Value == Void {
    /// Submits a call without a value.
    public func submit() { submit(()) }
}

/// What a pacer of values wakes: `handler`, on `queue`.
func delivering<Value: Sendable>(
    on queue: DispatchQueue,
    _ handler: @escaping @Sendable (Value) -> Void
) -> @Sendable (Pacer<Value>) -> Void {
    _ = QueueTag.of(queue)
    return { pacer in
        queue.async { if let value = pacer.takeReady() { handler(value) } }
    }
}
