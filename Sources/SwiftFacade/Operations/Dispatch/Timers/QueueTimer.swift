// SPDX-License-Identifier: Apache-2.0
//
// A timer on a dispatch queue, as its users see it: the handle of a TimerCore, which ends it when it is dropped.

import Dispatch
import InterlockSync

/// A timer that calls a handler on a dispatch queue, once or again and again; made by
/// ``GCD/timer(every:after:leeway:on:_:)`` and ``GCD/timer(after:leeway:on:_:)``.
///
/// The *n*-th moment of a repeating timer is due at its start and *n* - 1 intervals, whatever the handlers took. The
/// handler is not called before its moment by the monotonic clock, on Linux `CLOCK_MONOTONIC`, and one call at a time.
/// A moment that passes while the queue is busy or the handler runs is not lost: the next call tells how many it stands
/// for.
///
/// The timer ends when it is cancelled, when it is dropped, suspended or not, or when it has fired once. Its handler is
/// then released with what it captures: before ``cancel()`` returns, or when the handler returns, if it is running.
///
/// May be used from any thread, and from the handler. No call waits for the handler.
public final class QueueTimer: Sendable {
    /// What a timer is doing.
    public enum State: Sendable, Hashable {
        /// It waits for its next moment, or calls its handler.
        case scheduled
        /// ``QueueTimer/suspend()`` was called.
        case suspended
        /// A timer that fires once has called its handler, or is about to.
        case fired
        /// ``QueueTimer/cancel()`` was called.
        case cancelled
    }

    private let core: TimerCore

    init(_ core: TimerCore) { self.core = core }

    deinit { core.cancel() }

    /// What the timer is doing.
    public var state: State { core.state }

    /// The next moment at which the handler is to be called; nil while the timer is suspended, and when it has ended.
    public var deadline: DispatchTime? { core.deadline }

    /// Ends the timer. The handler is not called any more; if it is running, it goes on. What it captures is freed as
    /// the type says.
    ///
    /// - Returns: whether this call ended the timer.
    @discardableResult
    public func cancel() -> Bool { core.cancel() }

    /// Calls the handler no more until ``resume()``. Suspensions are not counted: one ``resume()`` ends any number.
    /// Does nothing where the timer has ended.
    public func suspend() { core.suspend() }

    /// Lets a suspended timer go on, on its grid. Moments that passed meanwhile are not made up for;
    /// ``TimerTick/count`` leaves them out. A timer that fires once, whose moment has passed, fires as soon as
    /// possible.
    public func resume() { core.resume() }

    /// Gives the timer another start and interval. The moments count from 1 again, and those of before that were not
    /// delivered are dropped. A suspended timer stays suspended.
    ///
    /// - Parameters:
    ///   - interval: from each moment to the next; zero or less is misuse.
    ///   - delay: from now to the first moment; by default the interval.
    ///   - leeway: how much later the system may fire to save power. libdispatch for Linux makes no use of it.
    /// - Returns: false where the timer has ended; nothing has changed then.
    @discardableResult
    public func reschedule(every interval: Duration, after delay: Duration? = nil, leeway: Duration = .zero)
        -> Bool
    {
        checkTimer("QueueTimer.reschedule", every: interval, leeway: leeway)
        return core.reschedule(every: interval, after: delay ?? interval, leeway: leeway)
    }

    /// Has the timer fire once, `delay` from now; otherwise as ``reschedule(every:after:leeway:)``.
    @discardableResult
    public func reschedule(after delay: Duration, leeway: Duration = .zero) -> Bool {
        checkTimer("QueueTimer.reschedule", every: nil, leeway: leeway)
        return core.reschedule(every: nil, after: delay, leeway: leeway)
    }

    /// Suspends the task until the timer has ended and no handler runs. What the handler did is visible. The queue must
    /// run its work for that.
    ///
    /// - Returns: true if the timer has fired once, false if it was cancelled or dropped.
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the timer is not touched.
    public func finished() async throws(CancellationError) -> Bool { try await core.finished(until: nil)! }

    /// Suspends the task until the timer has ended and no handler runs, for `timeout` at most. What the handler did is
    /// visible.
    ///
    /// - Returns: true if the timer has fired once, false if it was cancelled or dropped, `nil` if it had not ended in
    ///   time; it goes on.
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the timer is not touched.
    public func finished(timeout: Duration) async throws(CancellationError) -> Bool? {
        try await core.finished(until: moment(in: timeout))
    }
}

extension GCD {
    /// Calls `handler` on `queue` each `interval`, until the timer that is returned is cancelled or dropped.
    ///
    /// An interval of zero or less, and a negative leeway, is misuse. Times are rounded up to whole nanoseconds; an
    /// interval or delay that does not fit the clock never ends.
    ///
    /// - Parameters:
    ///   - interval: from each moment to the next.
    ///   - delay: from now to the first moment; by default the interval. Zero or less means as soon as possible.
    ///   - leeway: how much later the system may fire to save power. libdispatch for Linux makes no use of it.
    ///   - queue: by default the main queue, which needs a program that drains it.
    ///   - handler: gets the number of moments that a call stands for.
    public static func timer(
        every interval: Duration,
        after delay: Duration? = nil,
        leeway: Duration = .zero,
        on queue: DispatchQueue = .main,
        _ handler: @escaping @Sendable (TimerTick) -> Void
    ) -> QueueTimer {
        checkTimer("GCD.timer", every: interval, leeway: leeway)
        let port = DispatchTimers.shared
        let schedule = TimerSchedule(now: port.now, delay: delay ?? interval, every: interval, leeway: leeway)
        return QueueTimer(TimerCore(schedule, on: queue, of: port, handler))
    }

    /// Calls `handler` on `queue` once, `delay` from now, unless the timer that is returned is cancelled or dropped
    /// before. ``after(_:on:_:)`` is for work that need not be kept.
    ///
    /// - Parameters:
    ///   - delay: zero or less means as soon as possible.
    ///   - leeway: how much later the system may fire to save power. libdispatch for Linux makes no use of it.
    ///   - queue: by default the main queue, which needs a program that drains it.
    ///   - handler: called once.
    public static func timer(
        after delay: Duration,
        leeway: Duration = .zero,
        on queue: DispatchQueue = .main,
        _ handler: @escaping @Sendable (TimerTick) -> Void
    ) -> QueueTimer {
        checkTimer("GCD.timer", every: nil, leeway: leeway)
        let schedule = TimerSchedule(now: DispatchTimers.shared.now, delay: delay, every: nil, leeway: leeway)
        return QueueTimer(TimerCore(schedule, on: queue, of: DispatchTimers.shared, handler))
    }
}

/// Reports times that no timer can have.
func checkTimer(_ call: String, every interval: Duration?, leeway: Duration) {
    if let interval, interval <= .zero {
        misuse(call, "every: \(interval)", "a timer that repeats needs an interval above zero")
    }
    if leeway < .zero {
        misuse(call, "leeway: \(leeway)", "a timer may fire late, not early: no leeway is below zero")
    }
}
