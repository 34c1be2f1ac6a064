// SPDX-License-Identifier: Apache-2.0
//
// The firings of a timer as a sequence. Six characters of a drawing are one interval.

import Dispatch
import Testing

import Interlock
@testable import InterlockOperations
// contract: GCD, TimerTicks
@Suite(.timeLimit(.minutes(10))) struct TimerTicksTests {
    let port = ManualTimers()
    var ticks: TimerTicks {
        TimerTicks(interval: .milliseconds(10), delay: .milliseconds(10), leeway: .zero, port: port)
    }

    // due:      ------1-----2-----3-----4
    // body:     [     runs        ]
    // ticks:    ------------------123---4            one tick for three
    @Test func noMoreThanOneTickWaits() async {
        let iterator = ticks.makeAsyncIterator()
        port.walk(.milliseconds(30))
        let merged = await iterator.next()
        #expect(merged?.count == 3 && merged?.number == 3)
        port.walk(.milliseconds(10))
        let next = await iterator.next()
        #expect(next?.count == 1 && next?.number == 4)
    }

    @Test func aWaitForATickEndsWithTheTick() async {
        let ticks = ticks
        let task = Task { await ticks.makeAsyncIterator().next() }
        await eventually("the timer is there") { [port] in port.timers.count == 1 }
        port.walk(.milliseconds(10))
        #expect(await task.value?.number == 1)
        #expect(port.timers.isEmpty, "it ends with its iterator")
    }

    @Test func aCancelledLoopHasEndedItsTimer() async {
        let (port, ticks) = (port, ticks)
        let task = Task {
            var count = 0
            for await _ in ticks { count += 1 }
            return (count, port.timers.count)
        }
        await eventually("the timer is there") { port.timers.count == 1 }
        task.cancel()
        let (count, left) = await task.value
        #expect(count == 0 && left == 0)
        let cancelled = Task {
            let iterator = ticks.makeAsyncIterator()
            port.walk(.milliseconds(10))
            await untilCancelled()
            let tick = await iterator.next()
            let left = port.timers.count
            withExtendedLifetime(iterator) {}
            return (tick, left)
        }
        cancelled.cancel()
        let (tick, running) = await cancelled.value
        #expect(tick == nil && running == 0, "although a tick waits")
    }

    @Test func ticksOfLibdispatchComeInOrderAndNotEarly() async {
        var counted = 0
        for await tick in GCD.ticks(every: .milliseconds(2), after: .zero) {
            counted += tick.count
            #expect(tick.number == counted && DispatchTime.now() >= tick.due)
            if counted >= 10 { break }
        }
        #expect(counted >= 10)
    }
}
