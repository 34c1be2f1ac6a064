// SPDX-License-Identifier: Apache-2.0
//
// The state of one timer. Its port may fire too often (the queue had a firing when the timer was set anew) and is
// believed in nothing: each firing asks the clock, under the lock, what is due.
//
//              suspend                  set anew under the lock, so that the port has the schedule
//   scheduled ◀────────▶ suspended      that the state has
//       │  resume           │
//       ├──────▶ fired      │           once; the handler is taken out
//       └──────▶ cancelled ◀┘           the handler is taken out
//
// Lifetime: the port's timer keeps the core until it is cancelled and `ended` has been called. The handle cancels it.

import Dispatch
import InterlockSync

final class TimerCore: Sendable {
    typealias Handler = @Sendable (TimerTick) -> Void

    /// In an object, which is handed out of the lock without an allocation; a closure is not.
    private final class Work: Sendable {
        let handler: Handler
        init(_ handler: @escaping Handler) { self.handler = handler }
    }

    private struct State {
        var phase = QueueTimer.State.scheduled
        var schedule: TimerSchedule
        var work: Work?
        var timer: (any PortTimer)?

        func set() { timer?.set(at: schedule.next, every: schedule.interval, leeway: schedule.leeway) }
    }

    private let port: any TimerPort
    private let locked: VisibleMutex<State>
    /// Whether it fired, when no handler runs any more.
    private let ended = Promise<Bool>()
    private let atEnd: @Sendable () -> Void

    /// - Parameter atEnd: called when no handler runs any more.
    init(
        _ schedule: TimerSchedule,
        on queue: DispatchQueue,
        of port: any TimerPort,
        atEnd: @escaping @Sendable () -> Void = {},
        _ handler: @escaping Handler
    ) {
        _ = QueueTag.of(queue)
        self.port = port
        self.atEnd = atEnd
        locked = VisibleMutex(State(schedule: schedule, work: Work(handler)))
        let fire: @Sendable () -> Void = { QueueTag.running(on: queue) { self.fire() } }
        let timer = port.makeTimer(on: queue, fire: fire, ended: tellEnd)
        locked.withLock { state in
            state.timer = timer
            state.set()
        }
    }

    var state: QueueTimer.State { locked.withLock { $0.phase } }

    var deadline: DispatchTime? {
        locked.withLock { state in
            guard state.phase == .scheduled else { return nil }
            let next = state.schedule.next
            return next > UInt64(Int64.max) ? .distantFuture : DispatchTime(uptimeNanoseconds: next)
        }
    }

    @discardableResult
    func cancel() -> Bool {
        // Frees the handler outside the lock: what it captures may call the timer.
        let (work, timer) = locked.withLock { state in end(&state, as: .cancelled) }
        timer?.cancel()
        return work != nil
    }

    func suspend() {
        locked.withLock { state in
            guard state.phase == .scheduled else { return }
            state.phase = .suspended
            state.timer?.set(at: forever, every: forever, leeway: 0)
        }
    }

    func resume() {
        locked.withLock { state in
            guard state.phase == .suspended else { return }
            state.phase = .scheduled
            state.schedule.skip(to: port.now)
            state.set()
        }
    }

    func reschedule(every interval: Duration?, after delay: Duration, leeway: Duration) -> Bool {
        let schedule = TimerSchedule(now: port.now, delay: delay, every: interval, leeway: leeway)
        return locked.withLock { state in
            guard state.work != nil else { return false }
            state.schedule = schedule
            if state.phase == .scheduled { state.set() }
            return true
        }
    }

    func finished(until deadline: ContinuousClock.Instant?) async throws(CancellationError) -> Bool? {
        try await ended.value(until: deadline)
    }

    // MARK: On the queue

    private func fire() {
        let now = port.now
        var tick: TimerTick?
        var over: (any PortTimer)?
        let work: Work? = locked.withLock { state in
            guard state.phase == .scheduled else { return nil }
            tick = state.schedule.deliver(at: now)
            if tick == nil {
                // Early, or left from before it was set anew.
                state.set()
                return nil
            }
            guard state.schedule.isOnce else { return state.work }
            let (work, timer) = end(&state, as: .fired)
            over = timer
            return work
        }
        over?.cancel()
        if let work, let tick { work.handler(tick) }
    }

    private func tellEnd() {
        ended.fulfil(state == .fired)
        atEnd()
    }

    /// Takes out what the end frees; nothing where the timer has ended.
    private func end(_ state: inout State, as phase: QueueTimer.State) -> (Work?, (any PortTimer)?) {
        guard state.work != nil else { return (nil, nil) }
        state.phase = phase
        return (state.work.take(), state.timer.take())
    }
}
