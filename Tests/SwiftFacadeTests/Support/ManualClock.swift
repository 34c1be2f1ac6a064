// SPDX-License-Identifier: Apache-2.0
//
// A clock that stands still until a test moves it: what waits on it goes on when the test says so, and at no other
// time.

import Foundation
import Testing

import Interlock

/// A clock for policies, moved by hand. May be used from any thread.
final class ManualClock: Clock, Sendable {
    struct Instant: InstantProtocol {
        var sinceStart = Duration.zero
        func advanced(by duration: Duration) -> Instant { Instant(sinceStart: sinceStart + duration) }
        func duration(to other: Instant) -> Duration { other.sinceStart - sinceStart }
        static func < (one: Instant, other: Instant) -> Bool { one.sinceStart < other.sinceStart }
    }

    private struct Sleeper {
        var deadline: Instant
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var now = Instant()
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var last = 0
        /// How long each sleep was to be, in the order they began.
        var asked: [Duration] = []
    }

    private let state = VisibleMutex(State())

    var now: Instant { state.withLock { $0.now } }
    var minimumResolution: Duration { .nanoseconds(1) }

    /// The tasks that sleep on it.
    var sleeping: Int { state.withLock { $0.sleepers.count } }
    /// How long each sleep was to be, in the order they began.
    var asked: [Duration] { state.withLock { $0.asked } }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let number = state.withLock { state in
            state.last += 1
            state.asked.append(state.now.duration(to: deadline))
            return state.last
        }
        let wasCancelled = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    if state.cancelled.remove(number) != nil { return true }
                    if deadline <= state.now { return false }
                    state.sleepers[number] = Sleeper(deadline: deadline, continuation: continuation)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                if state.sleepers[number] == nil { state.cancelled.insert(number) }
                return state.sleepers.removeValue(forKey: number)
            }
            sleeper?.continuation.resume(returning: true)
        }
        if wasCancelled { throw CancellationError() }
    }

    /// Moves the clock; whatever is due goes on.
    func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let now = state.now
            let due = state.sleepers.filter { $0.value.deadline <= now }
            for key in due.keys { state.sleepers[key] = nil }
            return due.sorted { $0.value.deadline < $1.value.deadline }.map(\.value)
        }
        for sleeper in due { sleeper.continuation.resume(returning: false) }
    }

    /// Returns when `count` tasks sleep on the clock.
    func untilSleeping(_ count: Int = 1) async {
        await eventually("\(count) sleep on the clock") { [self] in sleeping == count }
    }

    /// As ``advance(by:)``, once a task sleeps on the clock.
    func advanceSleeper(by duration: Duration) async {
        await untilSleeping()
        advance(by: duration)
    }
}
