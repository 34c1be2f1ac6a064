// SPDX-License-Identifier: Apache-2.0
//
// Timers get their moments from a port: libdispatch's timer sources, or a test that moves the clock by hand.
//
// Why libdispatch and not the pool's timers: it fires on the queue that was asked for without a thread in between, its
// repeating source stays on its grid and needs no system call for a firing but those of its manager thread, and it
// holds no second thread. Its port for Linux sets one timerfd to the earliest moment of all timers. It does not use the
// leeway there: a timer fires at its moment, and nothing is gathered.

import Dispatch
import InterlockSync

/// Nanoseconds of the monotonic clock that libdispatch's deadlines are on.
typealias TimerInstant = UInt64

protocol TimerPort: AnyObject, Sendable {
    var now: TimerInstant { get }
    /// A timer that is not set. `fire` is called on `queue`, one call at a time; `ended` once, after the last of them.
    func makeTimer(
        on queue: DispatchQueue,
        fire: @escaping @Sendable () -> Void,
        ended: @escaping @Sendable () -> Void
    ) -> any PortTimer
}

protocol PortTimer: AnyObject, Sendable {
    /// Sets the timer anew: at `moment`, and after it each `interval`, unless that is `forever`. Runs nothing of
    /// others.
    func set(at moment: TimerInstant, every interval: UInt64, leeway: UInt64)
    /// Frees `fire`, and has `ended` called. Once.
    func cancel()
}

final class DispatchTimers: TimerPort {
    static let shared = DispatchTimers()

    var now: TimerInstant { DispatchTime.now().uptimeNanoseconds }

    func makeTimer(
        on queue: DispatchQueue,
        fire: @escaping @Sendable () -> Void,
        ended: @escaping @Sendable () -> Void
    ) -> any PortTimer {
        DispatchPortTimer(DispatchSource.makeTimerSource(flags: .strict, queue: queue), fire, ended)
    }
}

// libdispatch's sources may be used from any thread.
private final class DispatchPortTimer: PortTimer, @unchecked Sendable {
    private let source: any DispatchSourceTimer

    init(
        _ source: any DispatchSourceTimer,
        _ fire: @escaping @Sendable () -> Void,
        _ ended: @escaping @Sendable () -> Void
    ) {
        self.source = source
        source.setEventHandler(handler: fire)
        source.setCancelHandler(handler: ended)
        source.schedule(deadline: .distantFuture)
        // It is never suspended: releasing a suspended source traps.
        source.activate()
    }

    func set(at moment: TimerInstant, every interval: UInt64, leeway: UInt64) {
        let leeway = DispatchTimeInterval.nanoseconds(Int(min(leeway, UInt64(Int64.max))))
        // libdispatch keeps the top bit for wall times: anything from there on is "for ever" to it.
        guard moment <= UInt64(Int64.max) else { return source.schedule(deadline: .distantFuture) }
        let deadline = DispatchTime(uptimeNanoseconds: moment)
        if interval <= UInt64(Int64.max) {
            source.schedule(deadline: deadline, repeating: .nanoseconds(Int(interval)), leeway: leeway)
        } else {
            source.schedule(deadline: deadline, leeway: leeway)
        }
    }

    func cancel() { source.cancel() }
}
