// SPDX-License-Identifier: Apache-2.0
//
// The grid of a timer's moments, and how many of them have been told: the n-th is due at start + (n - 1) × interval,
// whatever the handlers took. Moments are counted from the clock, not from what fires, so a firing too many tells
// nothing, and one too few is told by the next.

import Dispatch

/// A firing of a timer, for as many moments as have become due since the last one.
public struct TimerTick: Sendable, Equatable {
    /// How many moments it stands for: more than one where the queue or the handler was late.
    public var count: Int
    /// The number of the last of these moments. The first moment has the number 1.
    public var number: Int
    /// The last of these moments, on the monotonic clock.
    public var due: DispatchTime
}

struct TimerSchedule {
    /// The first moment; `forever` where none comes.
    var start: TimerInstant
    /// `forever` for a timer that fires once.
    var interval: UInt64
    var leeway: UInt64
    /// The moments that were told, or passed while the timer was suspended.
    var told: UInt64 = 0

    /// From durations, of whole nanoseconds, rounded up.
    init(now: TimerInstant, delay: Duration, every interval: Duration?, leeway: Duration) {
        let (start, overflow) = now.addingReportingOverflow(nanoseconds(delay))
        self.start = overflow ? forever : start
        self.interval = interval.map(nanoseconds) ?? forever
        self.leeway = nanoseconds(leeway)
    }

    var isOnce: Bool { interval == forever }

    /// The next moment that is not told.
    var next: TimerInstant {
        if told == 0 { return start }
        let (way, isTooLong) = told.multipliedReportingOverflow(by: interval)
        let (moment, overflow) = start.addingReportingOverflow(way)
        return isTooLong || overflow ? forever : moment
    }

    /// The moments that are due, told or not.
    private func due(at now: TimerInstant) -> UInt64 {
        if start == forever || now < start { return 0 }
        return isOnce ? 1 : (now - start) / interval + 1
    }

    /// The firing for what is due and not told; nil where there is nothing.
    mutating func tell(at now: TimerInstant) -> TimerTick? {
        let due = due(at: now)
        guard due > told else { return nil }
        defer { told = due }
        let moment = due == 1 ? start : start + (due - 1) * interval
        return TimerTick(
            count: Int(clamping: due - told),
            number: Int(clamping: due),
            due: DispatchTime(uptimeNanoseconds: moment)
        )
    }

    /// Passes over what is due. The moment of a timer that fires once stays.
    mutating func skip(to now: TimerInstant) {
        if !isOnce { told = max(told, due(at: now)) }
    }
}
