// SPDX-License-Identifier: Apache-2.0
//
// Debounce and throttle: which of the operations run, when, and how the others end. Ten characters of a drawing are one
// second.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations
// contract: OperationDebouncer, OperationSuperseded, OperationThrottler, AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct DebounceTests {
    let queue = OperationQueue()
    let clock = ManualClock()
    let trace = Trace<Int>()

    func superseded(_ operation: AsyncOperation<Int>) -> Bool {
        guard case .failure(let error) = operation.result else { return false }
        return error as? OperationSuperseded == OperationSuperseded(operation: operation.bareName)
    }

    func operation(_ number: Int) -> AsyncOperation<Int> {
        AsyncOperation(name: "\(number)") { [trace] in
            trace.add(number)
            return number
        }
    }

    // submitted:  0--------1--------2--------3--------4----------
    // runs:       ----------------------------------------------4
    // superseded: ---------0--------1--------2--------3----------
    @Test func theLastOfAQuickSuccessionRuns() async throws {
        let debouncer = OperationDebouncer(for: .seconds(1), on: queue, clock: clock)
        let operations = (0..<5).map(operation)
        for (number, operation) in operations.enumerated() {
            #expect(debouncer.submit(operation) === operation)
            if number > 0 { #expect(superseded(operations[number - 1]), "at once") }
            await clock.untilSleeping()
            clock.advance(by: .milliseconds(900))
        }
        #expect(trace.events.isEmpty)
        clock.advance(by: .milliseconds(100))
        #expect(try await operations[4].value == 4)
        #expect(trace.events == [4])
        let next = debouncer.submit { 8 }
        await clock.advanceSleeper(by: .seconds(1))
        #expect(try await next.value == 8)
        #expect("\(OperationSuperseded(operation: "a"))".contains("a never ran: a later one took its place"))
    }

    @Test func whatIsSupersededEndsAlthoughItWaitsForADependency() {
        let debouncer = OperationDebouncer(for: .seconds(1), on: queue, clock: clock)
        let upstream = operation(0)
        let dependent = operation(1)
        dependent.addDependency(upstream)
        debouncer.submit(dependent)
        debouncer.submit(operation(2))
        #expect(superseded(dependent) && dependent.isFinished && !dependent.isCancelled)
    }

    @Test func flushRunsTheOperationThatWaits() async throws {
        let debouncer = OperationDebouncer(for: .seconds(1), on: queue, clock: clock)
        debouncer.flush()
        let waiting = debouncer.submit(name: "async") { () async in 3 }
        debouncer.flush()
        #expect(try await waiting.value == 3)
        await clock.untilSleeping(0)
    }

    @Test func aCancelledOperationThatIsHeldBackEndsAtOnce() async throws {
        let debouncer = OperationDebouncer(for: .seconds(1), on: queue, clock: clock)
        let throttler = OperationThrottler(for: .seconds(1), on: queue, edges: .trailing, clock: clock)
        for held in [debouncer.submit(operation(1)), throttler.submit(operation(2))] {
            held.cancel()
            #expect(held.isFinished)
            #expect(throws: OperationCancelled.self) { try held.result?.get() }
        }
        let early = operation(3)
        early.cancel()
        debouncer.submit(early)
        #expect(early.isFinished)
        await clock.untilSleeping(2)
        clock.advance(by: .seconds(1))
        let next = debouncer.submit(operation(4))
        await clock.untilSleeping()
        clock.advance(by: .seconds(1))
        #expect(try await next.value == 4)
        #expect(trace.events == [4])
    }

    @Test func aDroppedDebouncerRunsItsLastOperation() async throws {
        let freed = Counter()
        let last: AsyncOperation<Int>
        do {
            let captured = Tracked(freed: freed)
            let debouncer = OperationDebouncer(for: .seconds(1), on: queue, clock: clock)
            debouncer.submit { captured.touch() }
            last = debouncer.submit(operation(1))
            #expect(freed.value == 0 || freed.value == 1)
        }
        await eventually("what was superseded is freed") { freed.value == 1 }
        await clock.advanceSleeper(by: .seconds(1))
        #expect(try await last.value == 1)
    }

    // submitted:  012-------3----------
    // leading:    0---------3----------
    // trailing:   ----------2---------3
    // both:       0---------2---------3
    @Test func aThrottlerRunsOneAnInterval() async throws {
        for (edges, expected) in [
            (DeliveryEdges.leading, [0, 3]), (.trailing, [2, 3]), (.both, [0, 2, 3]),
        ] {
            let (clock, trace, queue) = (ManualClock(), Trace<Int>(), OperationQueue())
            let throttler = OperationThrottler(for: .seconds(1), on: queue, edges: edges, clock: clock)
            let operations = (0..<4).map { number in
                AsyncOperation<Int>(name: "\(number)") {
                    trace.add(number); return number
                }
            }
            for number in 0..<3 { throttler.submit(operations[number]) }
            let early = operations[..<3].filter(superseded).map { $0.bareName }
            #expect(early == (edges == .leading ? ["1", "2"] : edges == .both ? ["1"] : ["0", "1"]))
            if edges != .trailing {
                #expect(try await operations[0].value == 0)
            } else {
                #expect(trace.events.isEmpty)
            }
            await clock.advanceSleeper(by: .seconds(1))
            if edges != .leading { #expect(try await operations[2].value == 2) }
            if edges == .both {
                await clock.untilSleeping()
            } else {
                await eventually("the interval has ended") { throttler.isIdle }
            }
            throttler.submit(operations[3])
            if edges != .leading { await clock.advanceSleeper(by: .seconds(1)) }
            #expect(try await operations[3].value == 3)
            #expect(trace.events == expected)
        }
    }

    @Test func withoutAnIntervalEveryOperationRuns() async throws {
        let throttler = OperationThrottler(for: .zero, on: queue, clock: clock)
        let operations = (0..<10).map { number in throttler.submit { number } }
        for (number, operation) in operations.enumerated() { #expect(try await operation.value == number) }
        let task = throttler.submit { () async in 5 }
        #expect(try await task.value == 5)
    }

    @Test func afterAQuietIntervalTheNextOneRunsAtOnce() async throws {
        let throttler = OperationThrottler(for: .seconds(1), on: queue, clock: clock)
        #expect(try await throttler.submit(operation(1)).value == 1)
        await clock.advanceSleeper(by: .seconds(1))
        await eventually("the interval has ended") { throttler.isIdle }
        #expect(try await throttler.submit(operation(2)).value == 2)
    }

    /// Submissions, the alarm and cancellations race; every operation ends, and none is started twice.
    @Test func everySubmittedOperationEndsHoweverItsFateIsRaced() async throws {
        let debouncer = OperationDebouncer(for: .seconds(1), on: queue, clock: clock)
        let throttler = OperationThrottler(for: .seconds(1), on: queue, clock: clock)
        let done = VisibleMutex(false)
        async let moving: Void = blocking { [clock] in
            while !done.withLock({ $0 }) {
                clock.advance(by: .seconds(1))
                sched_yield()
            }
        }
        let operations = Trace<AsyncOperation<Int>>()
        await blocking {
            onThreads(2) { thread in
                for number in 0..<5_000 {
                    let operation = AsyncOperation<Int> { number }
                    operations.add(operation)
                    if thread == 0 { debouncer.submit(operation) } else { throttler.submit(operation) }
                    if number.isMultiple(of: 3) { operation.cancel() }
                }
            }
        }
        debouncer.flush()
        for operation in operations.events {
            _ = try #require(try await operation.wait(timeout: .seconds(Handshake.limit)))
        }
        done.withLock { $0 = true }
        await moving
        #expect(operations.events.count == 10_000)
    }
    /// Both kinds of queue.
    @Test func anInterlockQueueRunsWhatItsDebouncerAndThrottlerLetThrough() async throws {
        let queue = InterlockQueue(name: "own")
        let debouncer = OperationDebouncer(for: .seconds(1), on: queue, clock: clock)
        let throttler = OperationThrottler(for: .seconds(1), on: queue, edges: .leading, clock: clock)
        let (early, late) = (operation(1), operation(2))
        debouncer.submit(early)
        debouncer.submit(late)
        #expect(superseded(early))
        #expect(try await throttler.submit(operation(3)).value == 3)
        #expect(superseded(throttler.submit(operation(4))))
        debouncer.flush()
        #expect(try await late.value == 2)
        #expect(trace.events == [3, 2])
    }

    @Test(.ownThreads, arguments: ["twice", "queued", "executing", "finished"]) func anOldOperationIsReported(
        how: String
    )
        async
    {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            [how] in
            let queue = InterlockQueue(name: "queue", isSuspended: true)
            let debouncer = OperationDebouncer(for: .seconds(600), on: queue)
            let kept = VisibleMutex<Completion<Int>?>(nil)
            let operation = AsyncOperation<Int>(name: "page") { (completion: Completion<Int>) in
                if how == "executing" { kept.withLock { $0 = completion } } else { completion.succeed(1) }
            }
            switch how {
            case "twice": debouncer.submit(operation)
            case "queued": queue.enqueue(operation)
            default: operation.start()
            }
            debouncer.submit(operation)
        }
        let seen =
            switch how {
            case "twice": "it was submitted already; an operation is submitted once"
            case "queued": "it is in a queue already; an operation is added once"
            case "executing": "it is executing already; an operation runs once"
            default: "it has finished already; an operation runs once"
            }
        #expect(sentence(result).contains("OperationDebouncer.submit(\"page\"): \(seen)"))
    }
}
