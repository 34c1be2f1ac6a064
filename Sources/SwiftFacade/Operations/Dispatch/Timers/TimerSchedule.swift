// SPDX-License-Identifier: Apache-2.0
//
// The grid of a timer's moments, and how many of them have been delivered: the n-th is due at start + (n - 1) ×
// interval, whatever the handlers took. Moments are counted from the clock, not from what fires, so a firing too many
// delivers nothing, and what one too few leaves, the next delivers.

import Dispatch
import InterlockSync

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
    /// The next moment; `forever` where none comes.
    private(set) var next: TimerInstant
    /// `forever` for a timer that fires once.
    let interval: UInt64
    let leeway: UInt64
    /// The moments that were delivered, or passed while the timer was suspended.
    private var passed = 0

    /// From durations, of whole nanoseconds, rounded up.
    init(now: TimerInstant, delay: Duration, every interval: Duration?, leeway: Duration) {
        let (start, overflow) = now.addingReportingOverflow(nanoseconds(delay))
        self.next = overflow ? forever : start
        self.interval = interval.map(nanoseconds) ?? forever
        self.leeway = nanoseconds(leeway)
    }

    var isOnce: Bool { interval == forever }

    /// The firing for what is due and not delivered; nil where there is nothing.
    @inline(__always)
    mutating func deliver(at now: TimerInstant) -> TimerTick? {
        guard now >= next, next != forever else { return nil }
        // None for a timer that fires once.
        let late = (now - next) / interval
        let moment = next + late * interval
        let count = Int(truncatingIfNeeded: late) &+ 1
        passed &+= count
        let (after, overflow) = moment.addingReportingOverflow(interval)
        next = overflow ? forever : after
        return TimerTick(count: count, number: passed, due: DispatchTime(uptimeNanoseconds: moment))
    }

    /// Passes over what is due. The moment of a timer that fires once stays.
    mutating func skip(to now: TimerInstant) { if !isOnce { _ = deliver(at: now) } }
}
