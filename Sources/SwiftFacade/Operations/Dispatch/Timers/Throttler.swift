// SPDX-License-Identifier: Apache-2.0
//
// At most one value an interval is delivered of those that come in quick succession: the first, the last, or both.

import Dispatch

/// Calls a closure with at most one value an interval of those that come in quick succession.
///
/// ```swift
/// let progress = Throttler<Double>(for: .milliseconds(100), on: .main) { part in print(part) }
/// for part in [0.25, 0.5, 0.75, 1] { progress.submit(part) }
/// ```
///
/// An interval begins with a value that comes when none is under way. In ``DeliveryEdges/leading`` mode that value is
/// delivered at once and the others of the interval are not. In ``DeliveryEdges/trailing`` mode the last one of the
/// interval is delivered at its end. With ``DeliveryEdges/both`` the first is delivered at once and the last, if it is
/// another, at the end, where it begins the next interval.
///
/// May be used from any thread; no call blocks, and no thread is held by a wait. Values are delivered in the order in
/// which they were submitted, one at a time where the queue is serial, never early by the clock. The closure sees what
/// the submitting thread did before. Dropping the throttler does not drop the value that is held back.
public final class Throttler<Value: Sendable>: Sendable {
    private let pacer: Pacer<Value>

    /// Makes a throttler.
    ///
    /// - Parameters:
    ///   - interval: in which one value is delivered at most. Zero or less delivers every value.
    ///   - edges: which values of an interval are delivered.
    ///   - queue: runs `handler`; by default the main queue, which needs a program that drains it.
    ///   - clock: measures the interval.
    ///   - handler: called with each value that is delivered.
    public init(
        for interval: Duration,
        edges: DeliveryEdges = .both,
        on queue: DispatchQueue = .main,
        clock: any Clock<Duration> = ContinuousClock(),
        _ handler: @escaping @Sendable (Value) -> Void
    ) {
        pacer = Pacer(for: interval, .throttle, edges, on: clock, wake: delivering(on: queue, handler))
    }

    /// Whether no interval is under way; for tests.
    var isIdle: Bool { pacer.isIdle }

    /// Submits a value. One that is held back is freed, undelivered. O(1).
    public func submit(_ value: Value) { _ = pacer.submit(value) }

    /// Gives the value that is held back to the queue now, before its interval ends. With ``DeliveryEdges/both`` it
    /// begins the next interval; otherwise the interval has ended. Where none is held back, the interval goes on.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    public func flush() -> Bool { pacer.flush() }

    /// Drops the value that is held back, and those that the queue was given but has not begun to deliver: they are
    /// freed before the call returns. The interval goes on. Where the queue is serial, nothing submitted before is
    /// delivered after a call on the queue.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    public func cancel() -> Bool { pacer.drop() }
}

extension Throttler where Value == Void {
    /// Submits a call without a value.
    public func submit() { submit(()) }
}
