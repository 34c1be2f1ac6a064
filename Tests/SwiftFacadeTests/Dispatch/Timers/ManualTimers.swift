// SPDX-License-Identifier: Apache-2.0
//
// The port of timers that a test moves by hand: handlers run on the thread that moves the clock.

import Dispatch
import Testing

import Interlock
@testable import InterlockOperations

/// A clock that stands still until it is moved, and the timers on it.
final class ManualTimers: TimerPort {
    private struct State {
        // Far from zero, so that a moment that is not added to the clock shows.
        var now: TimerInstant = 1_000_000_000_000
        var timers: [ManualTimer] = []
    }

    private let state = VisibleMutex(State())

    var now: TimerInstant { state.withLock { $0.now } }
    /// The timers that have not been cancelled.
    var timers: [ManualTimer] { state.withLock { $0.timers }.filter { !$0.isCancelled } }

    func makeTimer(
        on queue: DispatchQueue,
        fire: @escaping @Sendable () -> Void,
        ended: @escaping @Sendable () -> Void
    ) -> any PortTimer {
        let timer = ManualTimer(fire, ended)
        state.withLock { $0.timers.append(timer) }
        return timer
    }

    /// Moves the clock from moment to moment; each fires.
    func walk(_ duration: Duration) {
        let end = now + nanoseconds(duration)
        while let next = timers.map(\.moment).min(), next <= end {
            state.withLock { $0.now = max($0.now, next) }
            fireWhatIsDue()
        }
        state.withLock { $0.now = max($0.now, end) }
    }

    /// Moves the clock at once: a timer fires once for all that it missed, as libdispatch's do.
    func jump(_ duration: Duration) {
        state.withLock { $0.now += nanoseconds(duration) }
        fireWhatIsDue()
    }

    private func fireWhatIsDue() {
        for timer in timers { timer.fire(ifDueAt: now) }
    }
}

final class ManualTimer: PortTimer {
    private struct State {
        var moment = forever
        var interval = forever
        var leeway: UInt64 = 0
        var fire: (@Sendable () -> Void)?
        var ended: (@Sendable () -> Void)?
        var isFiring = false
        var sets = 0
    }

    private let state: VisibleMutex<State>

    init(_ fire: @escaping @Sendable () -> Void, _ ended: @escaping @Sendable () -> Void) {
        state = VisibleMutex(State(fire: fire, ended: ended))
    }

    var moment: TimerInstant { state.withLock { $0.moment } }
    var leeway: UInt64 { state.withLock { $0.leeway } }
    var isCancelled: Bool { state.withLock { $0.fire == nil } }
    /// How often it was set.
    var sets: Int { state.withLock { $0.sets } }

    func set(at moment: TimerInstant, every interval: UInt64, leeway: UInt64) {
        state.withLock { state in
            state.moment = moment
            state.interval = interval
            state.leeway = leeway
            state.sets += 1
        }
    }

    func cancel() {
        let (fire, ended) = state.withLock { state in
            (state.fire.take(), state.isFiring ? nil : state.ended.take())
        }
        withExtendedLifetime(fire) {}
        ended?()
    }

    /// One call at a time, as libdispatch's sources.
    func fire(ifDueAt now: TimerInstant) {
        let isDue = state.withLock { state in
            guard state.moment <= now, !state.isFiring else { return false }
            state.moment = state.interval == forever ? forever : now - (now - state.moment) % state.interval
            if state.interval != forever { state.moment += state.interval }
            return true
        }
        if isDue { fire() }
    }

    /// Fires, due or not.
    func fire() {
        let fire = state.withLock { state in
            state.isFiring = true
            return state.fire
        }
        fire?()
        let ended = state.withLock { state in
            state.isFiring = false
            return state.fire == nil ? state.ended.take() : nil
        }
        ended?()
    }
}
