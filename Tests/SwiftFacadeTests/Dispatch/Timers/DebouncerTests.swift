// SPDX-License-Identifier: Apache-2.0
//
// Debounce and throttle for closures: which values are delivered, where and when, and how the others are freed. Ten
// characters of a drawing are one second.

import Dispatch
import Foundation
import Testing

import Interlock
@testable import InterlockOperations
// contract: Debouncer, DeliveryEdges, Throttler
@Suite(.timeLimit(.minutes(10))) struct DebouncerTests {
    let clock = ManualClock()
    let trace = Trace<Int>()
    let queue = GCD.serialQueue(label: "delivery")

    func debouncer(limit: Duration? = nil, _ edges: DeliveryEdges = .trailing) -> Debouncer<Int> {
        Debouncer(for: .seconds(1), maximumDelay: limit, edges: edges, on: queue, clock: clock) { [trace] in
            trace.add($0)
        }
    }

    func throttler(_ edges: DeliveryEdges) -> Throttler<Int> {
        Throttler(for: .seconds(1), edges: edges, on: queue, clock: clock) { [trace] in trace.add($0) }
    }

    /// Everything the queue was given has run.
    func drain() async { await blocking { [queue] in queue.sync {} } }

    // MARK: Debounce

    // submitted:  0--------1--------2---------3----------
    // leading:    0---------------------------3----------
    // trailing:   ----------------------------2---------3
    // both:       0---------------------------23---------
    @Test(arguments: [(DeliveryEdges.leading, [0, 3]), (.trailing, [2, 3]), (.both, [0, 2, 3])])
    func theLastOfAQuickSuccessionIsDelivered(edges: DeliveryEdges, expected: [Int]) async {
        let debouncer = debouncer(edges)
        for value in 0..<3 {
            debouncer.submit(value)
            await clock.untilSleeping()
            if value < 2 { clock.advance(by: .milliseconds(900)) }
        }
        clock.advance(by: .milliseconds(999))
        await drain()
        #expect(trace.events == (edges == .trailing ? [] : [0]))
        clock.advance(by: .milliseconds(1))
        await eventually("the succession has ended") { [trace] in
            edges == .leading || trace.events.count == expected.count - 1
        }
        await clock.untilSleeping(0)
        if edges == .leading { await eventually("the succession has ended") { debouncer.isIdle } }
        debouncer.submit(3)
        await clock.advanceSleeper(by: .seconds(1))
        await eventually("the next succession") { [trace] in trace.events == expected }
    }

    /// Alarms that had gone off before they were stopped, and come to the lock late.
    @Test func alarmsOfAnEarlierSuccessionDoNotEndALaterOne() {
        let pacer = Pacer<Int>(for: .seconds(1), .debounce(limit: .seconds(2)), .trailing, on: clock) {
            [trace] in
            if let item = $0.takeReady() { trace.add(item) }
        }
        #expect(pacer.submit(1) == nil)
        let (round, series) = pacer.counts
        #expect(pacer.flush())
        #expect(pacer.submit(2) == nil)
        pacer.intervalPassed(round)
        pacer.limitPassed(series)
        #expect(trace.events == [1])
        pacer.limitPassed(pacer.counts.series)
        #expect(trace.events == [1, 2])
        pacer.intervalPassed(pacer.counts.round)
        #expect(!pacer.flush())
    }

    // submitted:  0-----1-----2-----3-4----------
    // trailing:   --------------------3---------4
    @Test func aSuccessionThatDoesNotPauseIsDeliveredAtItsMaximumDelay() async {
        let debouncer = debouncer(limit: .seconds(2))
        for value in 0..<4 {
            debouncer.submit(value)
            await clock.untilSleeping(2)
            if value < 3 { clock.advance(by: .milliseconds(600)) }
        }
        clock.advance(by: .milliseconds(199))
        await drain()
        #expect(trace.events.isEmpty)
        clock.advance(by: .milliseconds(1))
        await eventually("2 s after the first") { [trace] in trace.events == [3] }
        await clock.untilSleeping(0)
        debouncer.submit(4)
        await clock.untilSleeping(2)
        clock.advance(by: .seconds(1))
        await eventually("another succession") { [trace] in trace.events == [3, 4] }
        await clock.untilSleeping(0)
    }

    @Test func flushDeliversWhatIsHeldBack() async {
        let debouncer = debouncer()
        #expect(!debouncer.flush())
        debouncer.submit(1)
        #expect(debouncer.flush() && !debouncer.flush())
        await drain()
        #expect(trace.events == [1])
        await clock.untilSleeping(0)
        let throttler = throttler(.both)
        throttler.submit(2)
        #expect(!throttler.flush())
        throttler.submit(3)
        #expect(throttler.flush())
        throttler.submit(4)
        await drain()
        #expect(trace.events == [1, 2, 3], "3 has begun the next interval")
        await clock.advanceSleeper(by: .seconds(1))
        await eventually("its end") { [trace] in trace.events == [1, 2, 3, 4] }
    }

    // submitted:  1--------2
    // call:       ---flush--
    // leading:    1--------2           a further value of the succession would not be delivered
    @Test(arguments: [DeliveryEdges.leading, .both])
    func flushEndsASuccessionAlsoWhereNothingIsHeldBack(edges: DeliveryEdges) async {
        let debouncer = debouncer(edges)
        debouncer.submit(1)
        #expect(!debouncer.flush() && debouncer.isIdle)
        debouncer.submit(2)
        await drain()
        #expect(trace.events == [1, 2])
        let throttler = throttler(edges)
        throttler.submit(3)
        #expect(!throttler.flush() && !throttler.isIdle, "an interval goes on")
        throttler.submit(4)
        await drain()
        #expect(trace.events == [1, 2, 3])
    }

    @Test func flushEndsAnIntervalThatHoldsAValue() async {
        let throttler = throttler(.trailing)
        throttler.submit(1)
        #expect(throttler.flush() && throttler.isIdle)
        await drain()
        #expect(trace.events == [1])
    }

    // submitted:  --01234---------
    // queue:      [    busy    ]
    // delivered:  --------------01234
    @Test func manyValuesBehindABusyQueueKeepTheirOrder() async {
        let throttler = Throttler<Int>(for: .zero, on: queue) { [trace] in trace.add($0) }
        let goOn = await hold(queue)
        for value in 0..<1_000 { throttler.submit(value) }
        goOn.give()
        await drain()
        #expect(trace.events == Array(0..<1_000))
        let again = await hold(queue)
        for value in 0..<5 { throttler.submit(value) }
        queue.async { [trace] in
            #expect(trace.events.count == 1_005)
            for value in 5..<10 { throttler.submit(value) }
            throttler.cancel()
        }
        again.give()
        await drain()
        #expect(trace.events == Array(0..<1_000) + Array(0..<5))
    }

    /// No interval and no maximum delay is too long or too short.
    @Test(
        arguments: [Duration.seconds(Int64.max), .nanoseconds(Int64.max), .seconds(Int64.min)],
        [ContinuousClock(), SuspendingClock()] as [any Clock<Duration>]
    )
    func timesThatDoNotFitTheClockNeverComeOrHaveCome(far: Duration, clock: any Clock<Duration>) async {
        let debouncer = Debouncer<Int>(for: .seconds(Int64.max), maximumDelay: far, on: queue, clock: clock) {
            [trace] in trace.add($0)
        }
        let throttler = Throttler<Int>(for: far, on: queue, clock: clock) { [trace] in trace.add($0) }
        debouncer.submit(1)
        for value in 2...3 { throttler.submit(value) }
        let later = Handshake()
        GCD.after(.milliseconds(5), on: .global()) { later.give() }
        await later.taken()
        await drain()
        if far > .zero {
            #expect(trace.events == [2], "the others are held back")
            #expect(debouncer.flush() && throttler.flush())
        }
        await eventually("all are delivered") { [trace] in trace.events.sorted() == [1, 2, 3] }
    }

    @Test func withoutAnIntervalEveryValueIsDelivered() async {
        let debouncer = Debouncer<Int>(for: .zero, on: queue, clock: clock) { [trace] in trace.add($0) }
        let throttler = Throttler<Int>(for: .seconds(-1), on: queue, clock: clock) { [trace] in trace.add($0)
        }
        for value in 0..<5 { debouncer.submit(value) }
        for value in 5..<10 { throttler.submit(value) }
        await drain()
        #expect(trace.events == Array(0..<10) && clock.asked.isEmpty)
    }

    // MARK: Throttle

    // submitted:  012-------3----------
    // leading:    0---------3----------
    // trailing:   ----------2---------3
    // both:       0---------2---------3
    @Test(arguments: [(DeliveryEdges.leading, [0, 3]), (.trailing, [2, 3]), (.both, [0, 2, 3])])
    func aThrottlerDeliversOneAnInterval(edges: DeliveryEdges, expected: [Int]) async {
        let throttler = throttler(edges)
        for value in 0..<3 { throttler.submit(value) }
        await drain()
        #expect(trace.events == (edges == .trailing ? [] : [0]))
        await clock.advanceSleeper(by: .seconds(1))
        if edges == .both {
            await eventually("the second interval") { [trace] in trace.events == [0, 2] }
        } else {
            await eventually("the interval has ended") { throttler.isIdle }
        }
        throttler.submit(3)
        await drain()
        #expect(trace.events.contains(3) == (edges == .leading))
        if edges != .leading { await clock.advanceSleeper(by: .seconds(1)) }
        await eventually("the last") { [trace] in trace.events == expected }
    }

    // MARK: Values that are not delivered

    @Test func aCancelledValueIsFreedAtOnce() async {
        let freed = Counter()
        let debouncer = Debouncer<Tracked>(for: .seconds(1), on: queue, clock: clock) { $0.touch() }
        let throttler = Throttler<Tracked>(for: .seconds(1), edges: .trailing, on: queue, clock: clock) {
            $0.touch()
        }
        #expect(!debouncer.cancel() && !throttler.cancel())
        debouncer.submit(Tracked(freed: freed))
        debouncer.submit(Tracked(freed: freed))
        #expect(freed.value == 1, "one that another takes the place of, too")
        #expect(debouncer.cancel() && freed.value == 2)
        throttler.submit(Tracked(freed: freed))
        #expect(throttler.cancel() && freed.value == 3)
        await clock.untilSleeping()
        #expect(!throttler.isIdle, "the interval goes on")
        clock.advance(by: .seconds(1))
        await eventually("it ends") { throttler.isIdle }
        #expect(debouncer.isIdle)
    }

    // submitted:  1-----------------
    // call:       ---flush---cancel-
    // queue:      [      busy      ]
    // delivered:  -----------------------      the queue had been given 1
    @Test func aValueThatTheQueueHasNotBegunIsDroppedToo() async {
        let (freed, ran) = (Counter(), Counter())
        let debouncer = Debouncer<Tracked>(for: .seconds(1), on: queue, clock: clock) { _ in ran.increment() }
        let goOn = await hold(queue)
        debouncer.submit(Tracked(freed: freed))
        debouncer.flush()
        #expect(freed.value == 0)
        #expect(debouncer.cancel() && freed.value == 1)
        debouncer.submit(Tracked(freed: freed))
        debouncer.flush()
        goOn.give()
        await drain()
        #expect(ran.value == 1, "the one that came after the cancellation")
    }

    @Test func aDroppedDebouncerDeliversItsLastValueAndFreesItsClosure() async {
        let freed = Counter()
        do {
            let captured = Tracked(freed: freed)
            let debouncer = Debouncer<Int>(for: .seconds(1), on: queue, clock: clock) { [trace] value in
                captured.touch()
                trace.add(value)
            }
            debouncer.submit(1)
            let throttler = Throttler<Int>(for: .seconds(1), edges: .trailing, on: queue, clock: clock) {
                [trace] value in
                captured.touch()
                trace.add(value)
            }
            throttler.submit(2)
        }
        await clock.untilSleeping(2)
        #expect(freed.value == 0)
        clock.advance(by: .seconds(1))
        await eventually("both") { [trace] in trace.events.sorted() == [1, 2] }
        await eventually("the closures are freed") { freed.value == 1 }
    }

    /// Calls when it is freed.
    private final class Calling: Sendable {
        let call: @Sendable () -> Void
        init(_ call: @escaping @Sendable () -> Void) { self.call = call }
        deinit { call() }
    }

    // Under the lock the thread would wait for itself.
    @Test func whatIsFreedMayCallBack() async {
        let freed = Counter()
        do {
            let debouncer = Debouncer<Calling>(for: .seconds(1), on: queue, clock: clock) { _ in }
            let throttler = Throttler<Calling>(for: .seconds(1), on: queue, clock: clock) { _ in }
            let call: @Sendable () -> Void = {
                debouncer.flush()
                throttler.cancel()
                freed.increment()
            }
            for _ in 0..<3 {
                debouncer.submit(Calling(call))
                throttler.submit(Calling(call))
            }
            debouncer.cancel()
            throttler.cancel()
            throttler.submit(Calling(call))
            throttler.flush()
        }
        await eventually("each of seven is freed") { freed.value == 7 }
    }

    @Test func aCallWithoutAValueIsOneOfMany() async {
        let debouncer = Debouncer<Void>(for: .seconds(1), on: queue, clock: clock) { [trace] in trace.add(7) }
        let throttler = Throttler<Void>(for: .seconds(1), on: queue, clock: clock) { [trace] in trace.add(8) }
        for _ in 0..<3 { debouncer.submit() }
        throttler.submit()
        debouncer.flush()
        await drain()
        #expect(trace.events.sorted() == [7, 8])
    }

    /// Submissions of one thread, the alarm and flushes race; what is delivered keeps the order of the submissions, and
    /// the last is delivered.
    @Test(arguments: [DeliveryEdges.trailing, .both])
    func valuesAreDeliveredInTheirOrderHoweverTheAlarmsRace(edges: DeliveryEdges) async {
        let debouncer = Debouncer<Int>(for: .microseconds(20), edges: edges, on: queue) { [trace] in
            trace.add($0)
        }
        let throttled = Trace<Int>()
        let throttler = Throttler<Int>(for: .microseconds(20), edges: edges, on: queue) { throttled.add($0) }
        let done = VisibleMutex(false)
        async let flushing: Void = blocking {
            while !done.withLock({ $0 }) {
                debouncer.flush()
                throttler.flush()
            }
        }
        await blocking {
            for value in 0..<5_000 {
                debouncer.submit(value)
                throttler.submit(value)
            }
        }
        await eventually("the last") { [trace] in
            trace.events.last == 4_999 && throttled.events.last == 4_999
        }
        done.withLock { $0 = true }
        await flushing
        for values in [trace.events, throttled.events] {
            #expect(zip(values, values.dropFirst()).allSatisfy { $0 < $1 })
        }
    }

    // lock:    [held...............]
    // alarm:     claimed, at the lock
    // caller:       submits, at the lock    the next wait: its value is not delivered by the alarm of before
    @Test func anAlarmThatIsLateDoesNotEndTheNextWait() async {
        let pacer = Pacer<Int>(for: .seconds(1), .debounce(limit: nil), .trailing, on: clock) {
            [trace] pacer in
            if let value = pacer.takeReady() { trace.add(value) }
        }
        for round in 0..<100 {
            let (old, new, inside) = (2 * round, 2 * round + 1, Handshake())
            _ = pacer.submit(old)
            await clock.untilSleeping()
            await blocking { [clock] in
                onThreads(2) { thread in
                    if thread == 0 {
                        inside.take()
                        _ = pacer.submit(new)
                    } else {
                        _ = pacer.take { _ in
                            inside.give()
                            clock.advance(by: .seconds(1))
                            for _ in 0..<200 { sched_yield() }
                            return false
                        }
                    }
                }
            }
            await clock.untilSleeping()
            for _ in 0..<20 { await Task.yield() }
            #expect(!trace.events.contains(new))
            clock.advance(by: .seconds(1))
            await eventually("its own alarm") { [trace] in trace.events.contains(new) }
        }
    }
}
