// SPDX-License-Identifier: Apache-2.0
//
// Timers on a clock moved by hand: which moments are announced, and what ends a timer. Six characters of a
// drawing are one interval.

import Dispatch
import Testing

import Interlock
@testable import InterlockOperations
// contract: GCD, QueueTimer, TimerTick
@Suite(.timeLimit(.minutes(10))) struct QueueTimerTests {
    let port = ManualTimers()
    let trace = Trace<TimerTick>()

    /// A timer on the manual clock that records its ticks.
    func makeTimer(
        every interval: Duration?,
        after delay: Duration,
        leeway: Duration = .zero,
        _ handler: @escaping @Sendable (TimerTick) -> Void = { _ in }
    ) -> QueueTimer {
        let schedule = TimerSchedule(now: port.now, delay: delay, every: interval, leeway: leeway)
        return QueueTimer(
            TimerCore(schedule, on: .global(), of: port) { [trace] tick in
                trace.add(tick)
                handler(tick)
            }
        )
    }

    func tick(_ count: Int, _ number: Int, _ milliseconds: UInt64, since start: UInt64) -> TimerTick {
        TimerTick(
            count: count,
            number: number,
            due: DispatchTime(uptimeNanoseconds: start + milliseconds * 1_000_000)
        )
    }

    // due:      ------1-----2-----3-----4-----5
    // queue:          [    busy    ]
    // calls:    ------1--------------23-4-----5      one call for 2 and 3
    @Test func momentsAreOnTheGridAndMissedOnesShareACall() {
        let start = port.now
        let timer = makeTimer(every: .milliseconds(10), after: .milliseconds(10), leeway: .milliseconds(2))
        #expect(timer.deadline == DispatchTime(uptimeNanoseconds: start + 10_000_000))
        #expect(port.timers[0].leeway == 2_000_000)
        port.walk(.milliseconds(10))
        port.jump(.milliseconds(25))
        #expect(timer.deadline == DispatchTime(uptimeNanoseconds: start + 40_000_000))
        port.walk(.milliseconds(15))
        #expect(
            trace.events == [
                tick(1, 1, 10, since: start), tick(2, 3, 30, since: start), tick(1, 4, 40, since: start),
                tick(1, 5, 50, since: start),
            ]
        )
        #expect(port.timers[0].sets == 1, "it is not set anew by its firings")
    }

    @Test func aHandlerThatTakesLongDoesNotMoveTheGrid() {
        let start = port.now
        let timer = makeTimer(every: .milliseconds(10), after: .zero) { [port] tick in
            if tick.number == 2 { port.jump(.milliseconds(13)) }
        }
        port.walk(.milliseconds(10))
        port.walk(.milliseconds(20))
        #expect(trace.events.map(\.number) == [1, 2, 3, 4, 5])
        #expect(trace.events.last == tick(1, 5, 40, since: start))
        timer.cancel()
    }

    // A port that fires early, or for a time that the timer was set to before.
    @Test func aFiringBeforeItsMomentCallsNothingAndSetsTheTimerAgain() {
        let timer = makeTimer(every: .milliseconds(10), after: .milliseconds(10))
        let set = port.timers[0].moment
        port.timers[0].set(at: forever, every: forever, leeway: 0)
        port.timers[0].fire()
        #expect(trace.events.isEmpty && port.timers[0].moment == set)
        port.walk(.milliseconds(10))
        #expect(trace.events.count == 1 && timer.state == .scheduled)
    }

    // due:      ------1
    // calls:    ------1|
    @Test func aTimerWithoutAnIntervalFiresOnceAndFreesItsHandler() async throws {
        let freed = Counter()
        let timer = {
            let captured = Tracked(freed: freed)
            return makeTimer(every: nil, after: .milliseconds(10)) { _ in captured.touch() }
        }()
        port.walk(.milliseconds(9))
        #expect(timer.state == .scheduled && trace.events.isEmpty)
        port.walk(.milliseconds(1))
        #expect(trace.events.map(\.count) == [1] && freed.value == 1)
        #expect(timer.state == .fired && timer.deadline == nil && port.timers.isEmpty)
        #expect(!timer.cancel() && timer.state == .fired)
        #expect(try await timer.finished())
    }

    // MARK: Suspension

    // due:      ------1-----2-----3-----4-----5
    // timer:           [  suspended  ]
    // calls:    ------1-----------------4-----5
    @Test func momentsOfASuspendedTimerAreNotMadeUpFor() {
        let start = port.now
        let timer = makeTimer(every: .milliseconds(10), after: .milliseconds(10))
        port.walk(.milliseconds(10))
        timer.suspend()
        timer.suspend()
        #expect(timer.state == .suspended && timer.deadline == nil)
        port.walk(.milliseconds(27))
        #expect(trace.events.count == 1)
        timer.resume()
        timer.resume()
        #expect(timer.state == .scheduled, "suspensions are not counted")
        #expect(timer.deadline == DispatchTime(uptimeNanoseconds: start + 40_000_000))
        port.walk(.milliseconds(13))
        #expect(trace.events.dropFirst() == [tick(1, 4, 40, since: start), tick(1, 5, 50, since: start)])
    }

    // The queue had the firing already.
    @Test func whatFiresAfterTheSuspensionCallsNothing() {
        let timer = makeTimer(every: .milliseconds(10), after: .milliseconds(10))
        timer.suspend()
        port.walk(.milliseconds(10))
        port.timers[0].fire()
        #expect(trace.events.isEmpty && timer.state == .suspended)
    }

    // due:      ------1
    // timer:    [    suspended   ]
    // calls:    ------------------1|
    @Test func theMomentOfATimerThatFiresOnceStaysWhileItIsSuspended() {
        let timer = makeTimer(every: nil, after: .milliseconds(10))
        timer.suspend()
        port.walk(.milliseconds(30))
        #expect(trace.events.isEmpty)
        timer.resume()
        port.walk(.zero)
        #expect(trace.events.count == 1 && timer.state == .fired)
        timer.suspend()
        timer.resume()
        #expect(timer.state == .fired)
    }

    // MARK: Another schedule

    @Test func aNewScheduleCountsFromOne() {
        let start = port.now
        let timer = makeTimer(every: .milliseconds(10), after: .milliseconds(10))
        port.walk(.milliseconds(20))
        #expect(timer.reschedule(every: .milliseconds(4), after: .milliseconds(1)))
        port.walk(.milliseconds(5))
        #expect(trace.events.dropFirst(2) == [tick(1, 1, 21, since: start), tick(1, 2, 25, since: start)])
        #expect(timer.reschedule(every: .milliseconds(100)))
        #expect(timer.deadline == DispatchTime(uptimeNanoseconds: start + 125_000_000))
        timer.suspend()
        #expect(timer.reschedule(after: .milliseconds(1)))
        port.walk(.milliseconds(1))
        #expect(timer.state == .suspended && trace.events.count == 4)
        timer.resume()
        port.walk(.zero)
        #expect(timer.state == .fired && trace.events.last == tick(1, 1, 26, since: start))
        #expect(!timer.reschedule(every: .seconds(1)) && !timer.reschedule(after: .seconds(1)))
        #expect(timer.state == .fired && port.timers.isEmpty)
    }

    @Test func timesThatDoNotFitTheClockNeverCome() {
        for (interval, delay) in [
            (Duration.seconds(Int64.max), Duration.seconds(1)), (.seconds(1), .seconds(Int64.max)),
            (.nanoseconds(Int64.max), .seconds(1)),
        ] {
            let before = trace.events.count
            let timer = makeTimer(every: interval, after: delay)
            port.jump(.seconds(2))
            port.jump(.seconds(10 * 365 * 86_400))
            #expect(trace.events.count - before == (delay == .seconds(1) ? 1 : 0))
            #expect(timer.deadline.map { $0 > .now() + 1e9 } ?? (timer.state == .fired))
        }
        let short = makeTimer(every: .init(secondsComponent: 0, attosecondsComponent: 1), after: .zero)
        port.jump(.nanoseconds(1))
        #expect(trace.events.last?.count == 2 && short.state == .scheduled, "rounded up to a nanosecond")
    }

    // MARK: The end

    @Test func cancellingFreesTheHandlerBeforeItReturns() async throws {
        let freed = Counter()
        let timer = {
            let captured = Tracked(freed: freed)
            return makeTimer(every: .milliseconds(10), after: .milliseconds(10)) { _ in captured.touch() }
        }()
        port.walk(.milliseconds(10))
        #expect(freed.value == 0)
        #expect(timer.cancel())
        #expect(freed.value == 1 && timer.state == .cancelled && timer.deadline == nil)
        #expect(!timer.cancel() && !timer.reschedule(every: .seconds(1)))
        timer.suspend()
        timer.resume()
        #expect(timer.state == .cancelled)
        port.walk(.milliseconds(50))
        #expect(trace.events.count == 1)
        #expect(try await timer.finished() == false)
    }

    @Test func aHandlerThatCancelsItsTimerIsFreedWhenItReturns() {
        let freed = Counter()
        let kept = VisibleMutex<QueueTimer?>(nil)
        do {
            let captured = Tracked(freed: freed)
            let made = makeTimer(every: .milliseconds(10), after: .milliseconds(10)) { _ in
                #expect(kept.withLock { $0 }?.cancel() == true)
                #expect(freed.value == 0, "it is running")
                captured.touch()
            }
            kept.withLock { $0 = made }
        }
        port.walk(.milliseconds(10))
        #expect(freed.value == 1)
        #expect(kept.withLock { $0 }?.state == .cancelled && port.timers.isEmpty)
    }

    @Test(arguments: [false, true])
    func aTimerThatIsDroppedEnds(isSuspended: Bool) {
        let freed = Counter()
        do {
            let captured = Tracked(freed: freed)
            let timer = makeTimer(every: .milliseconds(10), after: .milliseconds(10)) { _ in captured.touch()
            }
            if isSuspended { timer.suspend() }
            #expect(port.timers.count == 1)
        }
        #expect(freed.value == 1 && port.timers.isEmpty)
    }
}
