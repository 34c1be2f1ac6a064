// SPDX-License-Identifier: Apache-2.0
//
// Limits of the helpers that wait: on the time until work begins, as an instant or a duration.

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
    private let past = ContinuousClock.now - .seconds(1)
    private let far = ContinuousClock.now + .seconds(600)

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
        #expect(try await GCD.run(on: queue, until: past) { ran.increment() } == nil)
        goOn.give()
        #expect(try await GCD.run(on: queue, until: far) { ran.value } == 0)
        #expect(try await GCD.run(on: queue, timeout: .seconds(600)) { 1 } == 1)
        await #expect(throws: JobFailure()) {
            _ = try await GCD.run(on: queue, until: far) { () throws -> Int in throw JobFailure() }
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
            #expect(try await GCD.run(on: queue, until: end) { ran.increment() } == nil)
            (end, hold) = limit()
            #expect(pool.submit(hold))
            await begun.taken()
            #expect(try await pool.run(until: end) { ran.increment() } == nil)
            (end, hold) = limit()
            runner.submit(hold)
            await begun.taken()
            #expect(try await runner.run(until: end) { ran.increment() } == nil)
            (end, hold) = limit()
            runner.submit(hold)
            await begun.taken()
            let wrapped = try await runner.wrap(until: end) { (completion: Completion<Int>) in
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
                let run = BlockingRun<Int, Never>({ ran.increment() }, before: end)
                return (isHeld, run.wait(on: pool.core, ILK_PRIORITY_NORMAL) == nil)
            }
            #expect(blocked.0 && blocked.1)
        }
        #expect(ran.value == 0)
        #expect(try await runner.run { runner.runningCount } == 1, "what was late has its permit")
        try await runner.waitUntilIdle()
    }

    /// The queue, the pool and the runner are free.
    @Test func noWorkBeginsWhoseLimitHadPassed() async throws {
        let (past, ran) = (past, Counter())
        let pool = try WorkerPool(name: "free", threads: 1)
        let (queue, runner) = (GCD.serialQueue(label: "free"), BoundedRunner(limit: 1))
        for _ in 0..<200 {
            #expect(try await GCD.run(on: queue, until: past) { ran.increment() } == nil)
            #expect(try await GCD.run(on: queue, timeout: .seconds(-5)) { ran.increment() } == nil)
            #expect(try await pool.run(until: past) { ran.increment() } == nil)
            #expect(try await runner.run(until: past) { ran.increment() } == nil)
            let wrapped = try await runner.wrap(until: past) { (completion: Completion<Int>) in
                completion.succeed(ran.increment())
            }
            #expect(wrapped == nil)
            let blocked = await blocking {
                (
                    GCD.sync(on: queue, until: past) { ran.increment() },
                    try? pool.run(until: past) { ran.increment() }
                )
            }
            #expect(blocked.0 == nil && blocked.1 == nil)
        }
        #expect(ran.value == 0 && runner.runningCount == 0)
        // A permit that is free is taken, as of a semaphore.
        #expect(try await runner.withPermit(until: past) { 1 } == 1)
    }

    @Test func aCancelledTaskIsToldSoThoughTheLimitHasPassed() async throws {
        let past = past
        let pool = try WorkerPool(name: "free", threads: 1)
        let (queue, runner) = (GCD.serialQueue(label: "free"), BoundedRunner(limit: 1))
        let runs: [@Sendable () async throws -> Int?] = [
            { try await GCD.run(on: queue, until: past) { 1 } },
            { try await pool.run(until: past) { 1 } },
            { try await runner.run(until: past) { 1 } },
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
        let far = far
        #expect(await blocking { (0..<9).concurrentMap(until: far) { $0 } } == Array(0..<9))
        #expect(await blocking { (0..<9).concurrentMap(timeout: .seconds(600)) { $0 } } == Array(0..<9))
        #expect(await blocking { (0..<9).concurrentForEach(until: far) { _ in } })
        #expect(await blocking { (0..<9).concurrentForEach(timeout: .seconds(600)) { _ in } })
        #expect(try await (0..<9).concurrentMap(until: far) { $0 } == Array(0..<9))
        #expect(try await (0..<9).concurrentMap(timeout: .seconds(600)) { $0 } == Array(0..<9))
        #expect(try await (0..<9).concurrentForEach(until: far) { _ in })
        #expect(try await (0..<9).concurrentForEach(timeout: .seconds(600)) { _ in })
    }

    @Test func noElementIsBegunAfterTheLimit() async throws {
        let (past, begun) = (past, Counter())
        #expect(await blocking { (0..<9).concurrentMap(until: past) { _ in begun.increment() } } == nil)
        #expect(
            await blocking { (0..<9).concurrentForEach(timeout: .zero) { _ in begun.increment() } } == false
        )
        #expect(try await (0..<9).concurrentMap(until: past) { _ in begun.increment() } == nil)
        #expect(try await (0..<9).concurrentForEach(timeout: .zero) { _ in begun.increment() } == false)
        #expect(begun.value == 0)
        #expect(await blocking { [Int]().concurrentMap(until: past) { $0 } } == [])
        #expect(try await [Int]().concurrentMap(until: past) { $0 } == [])
    }

    // The first element passes the limit, by more than a thread may be off its core as it asks two clocks for it; the
    // second is not begun.
    @Test func anElementInProgressIsWaitedForPastTheLimit() async throws {
        let ended = Counter()
        let blockingResult = await blocking {
            let limit = ContinuousClock.now + .milliseconds(100)
            return (0..<2).concurrentMap(maxConcurrency: 1, until: limit) { number in
                while ContinuousClock.now < limit + .seconds(1) { sched_yield() }
                return ended.increment()
            }
        }
        #expect(blockingResult == nil && ended.value <= 1)
        let limit = ContinuousClock.now + .milliseconds(100)
        let result = try await (0..<2).concurrentMap(maxConcurrency: 1, until: limit) { number in
            while ContinuousClock.now < limit + .seconds(1) { await Task.yield() }
            return ended.increment()
        }
        #expect(result == nil && ended.value <= 2)
    }

    // One at a time: the first element passes the limit.
    @Test func anErrorBeforeTheFirstLateElementIsThrown() async throws {
        let far = far
        for failing in 0..<2 {
            let result = await blocking {
                let limit = failing == 0 ? far : ContinuousClock.now + .milliseconds(50)
                return Result { () throws(JobFailure) in
                    try (0..<2).concurrentMap(maxConcurrency: 1, until: limit) { number throws(JobFailure) in
                        if number == failing { throw JobFailure() }
                        while ContinuousClock.now < limit { sched_yield() }
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
        #expect(try await task.value(until: past) == nil)
        let waiter = Task { try await task.value(until: far) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        let begun = GCD.after(.zero, on: .global()) { 2 }
        #expect(try await begun.value(until: far) == 2)
        #expect(try await begun.value(timeout: .zero) == 2)
    }
}
