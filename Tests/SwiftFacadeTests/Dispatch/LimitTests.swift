// SPDX-License-Identifier: Apache-2.0
//
// Limits of the helpers that wait: on the time until work begins.

import CInterlock
import Dispatch
import Foundation
import Testing

import Interlock
@testable import InterlockOperations
@testable import InterlockPool
@testable import InterlockSync
// contract: DelayedWork, GCD
@Suite(.timeLimit(.minutes(10))) struct LimitTests {
    // queue:  [held................]   (the work would be here)
    // task:            gives up
    @Test func workThatTheQueueDoesNotBeginInTimeNeverRuns() async throws {
        let queue = GCD.serialQueue(label: "held")
        let (ran, freed) = (Counter(), Counter())
        let goOn = await hold(queue)
        do {
            let captured = Tracked(freed: freed)
            let late = try await GCD.run(on: queue, timeout: .milliseconds(5)) { [captured] in
                captured.touch()
                return ran.increment()
            }
            #expect(late == nil)
        }
        await eventually("the captures go while the queue is still held") { freed.value == 1 }
        #expect(try await GCD.run(on: queue, timeout: .seconds(-1)) { ran.increment() } == nil)
        goOn.give()
        #expect(try await GCD.run(on: queue, timeout: .seconds(600)) { ran.value } == 0)
        await #expect(throws: JobFailure()) {
            _ = try await GCD.run(on: queue, timeout: .seconds(600)) { () throws -> Int in
                throw JobFailure()
            }
        }
    }

    // queue:  [held until the limit](the work would be here)
    // waiter:                         its timer comes a little later
    @Test func workWhoseTurnComesAtItsLimitDoesNotBegin() async throws {
        let (ran, begun) = (Counter(), Handshake())
        let pool = try WorkerPool(name: "one", threads: 1, maximumThreads: 1)
        let (queue, runner) = (GCD.serialQueue(label: "late"), BoundedRunner(limit: 1))
        /// A moment, and work that holds its thread until then.
        func limit() -> (ContinuousClock.Instant, @Sendable () -> Void) {
            let end = ContinuousClock.now + .milliseconds(2)
            return (
                end,
                {
                    begun.give()
                    while ContinuousClock.now < end {}
                }
            )
        }
        for _ in 0..<50 {
            var (end, hold) = limit()
            queue.async(execute: hold)
            await begun.taken()
            #expect(try await GCD.begun(on: queue, until: end) { ran.increment() } == nil)
            (end, hold) = limit()
            #expect(pool.submit(hold))
            await begun.taken()
            #expect(try await pool.value(.normal, end) { ran.increment() } == nil)
            (end, hold) = limit()
            runner.submit(hold)
            await begun.taken()
            #expect(try await runner.begun(until: end) { ran.increment() } == nil)
            (end, hold) = limit()
            runner.submit(hold)
            await begun.taken()
            let wrapped = try await runner.wrapped("", "", until: end) { (completion: Completion<Int>) in
                completion.succeed(ran.increment())
            }
            #expect(wrapped == nil)
            let blocked = await blocking {
                let end = deadline(in: .milliseconds(2))
                let isHeld = pool.submit {
                    begun.give()
                    while !hasPassed(end) {}
                }
                begun.take()
                return (isHeld, pool.outcome(.normal, end) { ran.increment() } == nil)
            }
            #expect(blocked.0 && blocked.1)
        }
        #expect(ran.value == 0)
        #expect(try await runner.run { runner.runningCount } == 1, "what was late has its permit")
        try await runner.waitUntilIdle()
    }

    /// The queue, the pool and the runner are free.
    @Test func noWorkBeginsWhoseLimitHadPassed() async throws {
        let ran = Counter()
        let pool = try WorkerPool(name: "free", threads: 1)
        let (queue, runner) = (GCD.serialQueue(label: "free"), BoundedRunner(limit: 1))
        for _ in 0..<200 {
            #expect(try await GCD.run(on: queue, timeout: .zero) { ran.increment() } == nil)
            #expect(try await GCD.run(on: queue, timeout: .seconds(-5)) { ran.increment() } == nil)
            #expect(try await pool.run(timeout: .seconds(-1)) { ran.increment() } == nil)
            #expect(try await runner.run(timeout: .seconds(-1)) { ran.increment() } == nil)
            let wrapped = try await runner.wrap(timeout: .seconds(-1)) { (completion: Completion<Int>) in
                completion.succeed(ran.increment())
            }
            #expect(wrapped == nil)
            let blocked = await blocking {
                (
                    GCD.sync(on: queue, timeout: .seconds(-1)) { ran.increment() },
                    try? pool.run(timeout: .seconds(-1)) { ran.increment() }
                )
            }
            #expect(blocked.0 == nil && blocked.1 == nil)
        }
        #expect(ran.value == 0 && runner.runningCount == 0)
        // A permit that is free is taken, as of a semaphore.
        #expect(try await runner.withPermit(timeout: .seconds(-1)) { 1 } == 1)
    }

    @Test func aCancelledTaskLearnsSoThoughTheLimitHasPassed() async throws {
        let pool = try WorkerPool(name: "free", threads: 1)
        let (queue, runner) = (GCD.serialQueue(label: "free"), BoundedRunner(limit: 1))
        let runs: [@Sendable () async throws -> Int?] = [
            { try await GCD.run(on: queue, timeout: .zero) { 1 } },
            { try await pool.run(timeout: .zero) { 1 } },
            { try await runner.run(timeout: .zero) { 1 } },
        ]
        for run in runs {
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await run()
            }
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test func aMapThatIsDoneInTimeGivesItsResults() async throws {
        #expect(await blocking { (0..<9).concurrentMap(timeout: .seconds(600)) { $0 } } == Array(0..<9))
        #expect(await blocking { (0..<9).concurrentForEach(timeout: .seconds(600)) { _ in } })
        #expect(try await (0..<9).concurrentMap(timeout: .seconds(600)) { $0 } == Array(0..<9))
        #expect(try await (0..<9).concurrentForEach(timeout: .seconds(600)) { _ in })
    }

    @Test func noElementIsBegunAfterTheLimit() async throws {
        let begun = Counter()
        #expect(
            await blocking { (0..<9).concurrentMap(timeout: .seconds(-1)) { _ in begun.increment() } } == nil
        )
        #expect(
            await blocking { (0..<9).concurrentForEach(timeout: .zero) { _ in begun.increment() } } == false
        )
        #expect(try await (0..<9).concurrentMap(timeout: .seconds(-1)) { _ in begun.increment() } == nil)
        #expect(try await (0..<9).concurrentForEach(timeout: .zero) { _ in begun.increment() } == false)
        #expect(begun.value == 0)
        #expect(await blocking { [Int]().concurrentMap(timeout: .seconds(-1)) { $0 } } == [])
        #expect(try await [Int]().concurrentMap(timeout: .seconds(-1)) { $0 } == [])
    }

    // The limit is counted from before the first element, which takes as long; the second is not begun.
    @Test func anElementInProgressIsWaitedForPastTheLimit() async throws {
        let (ended, limit) = (Counter(), Duration.milliseconds(100))
        let blockingResult = await blocking {
            (0..<2).concurrentMap(maxConcurrency: 1, timeout: limit) { number in
                let begin = ContinuousClock.now
                while begin.duration(to: .now) < limit { sched_yield() }
                return ended.increment()
            }
        }
        #expect(blockingResult == nil && ended.value <= 1)
        let result = try await (0..<2).concurrentMap(maxConcurrency: 1, timeout: limit) { number in
            let begin = ContinuousClock.now
            while begin.duration(to: .now) < limit { await Task.yield() }
            return ended.increment()
        }
        #expect(result == nil && ended.value <= 2)
    }

    // One at a time: the first element takes as long as the limit.
    @Test func anErrorBeforeTheFirstLateElementIsThrown() async throws {
        for failing in 0..<2 {
            let limit: Duration = failing == 0 ? .seconds(600) : .milliseconds(50)
            let result = await blocking {
                Result { () throws(JobFailure) in
                    try (0..<2).concurrentMap(maxConcurrency: 1, timeout: limit) {
                        number throws(JobFailure) in
                        if number == failing { throw JobFailure() }
                        let begin = ContinuousClock.now
                        while begin.duration(to: .now) < limit { sched_yield() }
                    }
                }
            }
            switch result {
            case .failure(let error): #expect(failing == 0 && error == JobFailure())
            case .success(let outputs): #expect(failing == 1 && outputs == nil)
            }
        }
    }

    @Test func delayedWorkIsWaitedForUntilALimit() async throws {
        let task = GCD.after(.seconds(3600), on: .global()) { 1 }
        #expect(try await task.value(timeout: .milliseconds(2)) == nil)
        #expect(try await task.value(timeout: .seconds(-1)) == nil)
        let waiter = Task { try await task.value(timeout: .seconds(600)) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        let begun = GCD.after(.zero, on: .global()) { 2 }
        #expect(try await begun.value(timeout: .seconds(600)) == 2)
        #expect(try await begun.value(timeout: .zero) == 2)
    }
}
