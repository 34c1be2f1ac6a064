// SPDX-License-Identifier: Apache-2.0
//
// Timers of libdispatch: on their queue, not early, and their ends. And the misuse of timers.

import Dispatch
import Foundation
import Testing

import Interlock
// contract: GCD, QueueTimer, TimerTick
@Suite(.timeLimit(.minutes(10))) struct QueueTimerRealTests {
    private let key = DispatchSpecificKey<String>()

    private func named(_ name: String) -> DispatchQueue {
        let queue = GCD.serialQueue(label: name)
        queue.setSpecific(key: key, value: name)
        return queue
    }

    @Test func aTimerFiresOnItsQueueAndNeverEarly() async throws {
        let (queue, key, done) = (named("ticks"), key, Handshake())
        for interval in [Duration.microseconds(50), .milliseconds(1), .milliseconds(7)] {
            let before = DispatchTime.now()
            let moments = Trace<(tick: TimerTick, at: DispatchTime, on: String?)>()
            let timer = GCD.timer(every: interval, leeway: .microseconds(10), on: queue) { tick in
                moments.add((tick, .now(), DispatchQueue.getSpecific(key: key)))
                if moments.events.count == 20 { done.give() }
            }
            await done.taken()
            timer.cancel()
            #expect(try await timer.finished() == false)
            var counted = 0
            for (tick, at, on) in moments.events {
                counted += tick.count
                #expect(tick.number == counted && on == "ticks")
                #expect(at >= tick.due)
                let due = before.uptimeNanoseconds + UInt64(counted) * nanoseconds(interval)
                #expect(tick.due.uptimeNanoseconds >= due, "the grid begins an interval after the call")
            }
        }
    }

    // due:      ------1-----2-----3-----4-----5
    // queue:    [             busy             ]
    // calls:    --------------------------------12345      one call for all of them
    @Test func whatABusyQueueMissesSharesACall() async throws {
        let (queue, goOn, called) = (named("busy"), Handshake(), Promise<TimerTick>())
        queue.async { goOn.take() }
        let timer = GCD.timer(every: .milliseconds(1), on: queue) { tick in called.fulfil(tick) }
        let fifth = try #require(timer.deadline).uptimeNanoseconds + 4_000_000
        await eventually("the fifth moment passes") { DispatchTime.now().uptimeNanoseconds > fifth }
        goOn.give()
        let tick = await called.take()
        #expect(tick.count >= 5 && tick.number == tick.count)
        timer.cancel()
    }

    @Test func aTimerFiresOnceOnTheMainQueueByDefault() async throws {
        let key = key
        DispatchQueue.main.setSpecific(key: key, value: "main")
        let ran = Promise<String?>()
        let before = DispatchTime.now().uptimeNanoseconds
        let timer = GCD.timer(after: .milliseconds(3)) { _ in ran.fulfil(DispatchQueue.getSpecific(key: key))
        }
        #expect(await ran.take() == "main")
        #expect(try await timer.finished(timeout: .seconds(600)) == true)
        #expect(DispatchTime.now().uptimeNanoseconds >= before + 3_000_000)
    }

    // libdispatch traps where a suspended source is released.
    @Test func aSuspendedTimerMayBeDropped() async {
        let freed = Counter()
        for _ in 0..<50 {
            let captured = Tracked(freed: freed)
            let timer = GCD.timer(every: .microseconds(10), on: .global()) { _ in captured.touch() }
            timer.suspend()
            timer.suspend()
        }
        await eventually("a handler that was running has returned") { freed.value == 50 }
    }

    // handler:  [begun............] freed, finished
    // caller:      cancel
    @Test func aRunningHandlerIsFreedWhenItReturnsAndTheEndWaitsForIt() async throws {
        let (begun, goOn, freed) = (Handshake(), Handshake(), Counter())
        let timer = {
            let captured = Tracked(freed: freed)
            return GCD.timer(every: .milliseconds(1), on: GCD.serialQueue(label: "running")) { _ in
                begun.give()
                goOn.take()
                captured.touch()
            }
        }()
        await begun.taken()
        #expect(timer.cancel() && freed.value == 0)
        let waiter = Task { try await timer.finished() }
        let gaveUp = Task { try await timer.finished() }
        gaveUp.cancel()
        await #expect(throws: CancellationError.self) { try await gaveUp.value }
        #expect(try await timer.finished(timeout: .milliseconds(2)) == nil)
        #expect(try await timer.finished(timeout: .zero) == nil)
        #expect(freed.value == 0)
        goOn.give(100)
        #expect(try await waiter.value == false)
        #expect(try await timer.finished(timeout: .zero) == false)
        await eventually("the handler has returned") { freed.value == 1 }
    }

    /// The firing, a suspension and the cancellation race; the handler is freed once, and never called after the end.
    @Test func racingEndsAreDecidedOnce() async throws {
        for round in 0..<500 {
            let ended = VisibleMutex(false)
            let (late, freed) = (Counter(), Counter())
            let timer = {
                let captured = Tracked(freed: freed)
                let handler: @Sendable (TimerTick) -> Void = { _ in
                    captured.touch()
                    if ended.withLock({ $0 }) { late.increment() }
                }
                return round.isMultiple(of: 2)
                    ? GCD.timer(every: .microseconds(20), on: .global(), handler)
                    : GCD.timer(after: .microseconds(20), on: .global(), handler)
            }()
            let answers = Trace<Bool>()
            await blocking {
                onThreads(2) { thread in
                    if thread == 0 {
                        timer.suspend()
                        timer.resume()
                    }
                    answers.add(timer.cancel())
                }
            }
            let fired = try await timer.finished()
            ended.withLock { $0 = true }
            await eventually("the handler is freed") { freed.value == 1 }
            #expect(answers.events.count { $0 } == (fired ? 0 : 1))
            #expect(late.value == 0)
        }
    }

    // MARK: Misuse

    @Test(.ownThreads) func anIntervalThatIsNotAboveZeroIsReported() async {
        for result in [
            await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
                _ = GCD.timer(every: .zero) { _ in }
            },
            await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
                _ = GCD.timer(every: .seconds(1)) { _ in }.reschedule(every: .zero)
            },
            await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
                _ = GCD.ticks(every: .zero)
            },
        ] {
            let report = sentence(result)
            #expect(report.hasPrefix("interlock: "))
            #expect(
                report.hasSuffix("(every: 0.0 seconds): a timer that repeats needs an interval above zero\n")
            )
        }
    }

    @Test(.ownThreads) func aNegativeLeewayIsReported() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            _ = GCD.timer(after: .zero, leeway: .seconds(-1)) { _ in }
        }
        #expect(
            sentence(result)
                == "interlock: GCD.timer(leeway: -1.0 seconds): a timer may fire late, not early: "
                + "no leeway is below zero\n"
        )
    }
}
