// SPDX-License-Identifier: Apache-2.0
//
// Loops on a pool: each element once, results in order, the first error by position, cancellation.

import CInterlock
import Foundation
import Testing

import Interlock
@testable import InterlockOperations
@testable import InterlockPool
@testable import InterlockSync
// contract: WorkerPool
@Suite(.timeLimit(.minutes(10))) struct PoolLoopTests {
    let pool: WorkerPool
    init() throws { pool = try WorkerPool(name: "loops", threads: 2) }

    /// The blocking forms, out of reach of the suspending ones.
    static func forEach<Elements: RandomAccessCollection & Sendable, Failure: Error>(
        _ pool: WorkerPool,
        _ elements: Elements,
        grain: Int? = nil,
        _ body: @Sendable (Elements.Element) throws(Failure) -> Void
    ) throws(WorkerPoolRunError<Failure>) {
        try pool.forEach(elements, grain: grain, body)
    }

    static func map<Elements: RandomAccessCollection & Sendable, Output: Sendable, Failure: Error>(
        _ pool: WorkerPool,
        _ elements: Elements,
        grain: Int? = nil,
        _ body: @Sendable (Elements.Element) throws(Failure) -> Output
    ) throws(WorkerPoolRunError<Failure>) -> [Output] {
        try pool.map(elements, grain: grain, body)
    }

    @Test(arguments: [nil, 1, 3, 1_000] as [Int?]) func everyElementOnceAndTheResultsInOrder(grain: Int?)
        async throws
    {
        for count in [0, 1, 2, 7, 5_000] {
            let input = (0..<count).map { $0 * 2 }
            let calls = Counter()
            await blocking {
                try! Self.forEach(pool, 0..<count, grain: grain) { _ in calls.increment() }
                #expect(try! Self.map(pool, input, grain: grain) { $0 + 1 } == input.map { $0 + 1 })
                #expect(try! Self.map(pool, input[...], grain: grain) { "\($0)" } == input.map { "\($0)" })
            }
            #expect(calls.value == count)
            try await pool.forEach(0..<count, grain: grain) { _ in calls.increment() }
            #expect(calls.value == 2 * count)
            #expect(try await pool.map(input, grain: grain) { $0 + 1 } == input.map { $0 + 1 })
        }
    }

    // A loop in a loop, on the only worker.
    @Test func aLoopMayRunInsideAnother() async throws {
        let pool = try WorkerPool(threads: 1, maximumThreads: 1)
        let sums = try await pool.map(1..<20) { outer in
            try! Self.map(pool, 0..<outer) { $0 }.reduce(0, +)
        }
        #expect(sums == (1..<20).map { $0 * ($0 - 1) / 2 })
    }

    // Every third element fails: that of the least position is thrown, whichever thread was first.
    @Test func theFirstErrorByPositionIsThrown() async throws {
        for round in 0..<50 {
            let first = round * 7 + 1
            let below = Counter()
            await blocking {
                let error = #expect(throws: WorkerPoolRunError<JobFailure>.self) {
                    try Self.map(pool, 0..<1_000, grain: 4) { number throws(JobFailure) in
                        if number < first { below.increment() }
                        if number >= first, (number - first).isMultiple(of: 3) {
                            throw JobFailure(why: "\(number)")
                        }
                        return number
                    }
                }
                #expect(error == .failed(JobFailure(why: "\(first)")))
            }
            #expect(below.value == first, "all elements before the error have run")
            await #expect(throws: JobFailure(why: "\(first)")) {
                try await pool.forEach(0..<1_000) { number in
                    if number >= first { throw JobFailure(why: "\(number)") }
                }
            }
        }
    }

    // worker 1    0 begins                       0 ends    1 begins, throws
    // worker 2              500 begins, throws
    @Test func whatIsBeforeAnErrorStillRuns() async throws {
        let failed = Handshake()
        await #expect(throws: JobFailure(why: "first")) {
            try await pool.forEach(0..<1_000, grain: 1) { number in
                if number == 0 {
                    failed.take()
                    // The error is on its way from the body to the loop.
                    for _ in 0..<2_000 { sched_yield() }
                }
                if number == 1 { throw JobFailure(why: "first") }
                if number >= 500 {
                    failed.give()
                    throw JobFailure(why: "late")
                }
            }
        }
    }

    // One thread, so that what is begun is known.
    @Test func afterAnErrorNothingBehindItBegins() async throws {
        let pool = try WorkerPool(threads: 1, maximumThreads: 1)
        let begun = Counter()
        await #expect(throws: JobFailure()) {
            try await pool.forEach(0..<1_000, grain: 1) { number in
                begun.increment()
                if number == 5 { throw JobFailure() }
            }
        }
        #expect(begun.value == 6)
    }

    @Test func theResultsOfAFailedLoopAreReleased() async throws {
        let (alive, freed) = (Counter(), Counter())
        await #expect(throws: JobFailure()) {
            _ = try await pool.map(0..<1_000) { number in
                if number == 900 { throw JobFailure() }
                return Tracked(alive: alive, freed: freed)
            }
        }
        await eventually("all are released") { alive.value == freed.value && alive.value >= 900 }
        do {
            let results = try await pool.map(0..<100) { _ in Tracked(alive: alive, freed: freed) }
            #expect(results.count == 100 && alive.value == freed.value + 100)
        }
        await eventually("the results are released") { alive.value == freed.value }
    }

    // element 0    begun      goes on
    // task              cancelled
    // elements                   1, 2, ...   the cancellation arrives: no further one. All would take hours.
    @Test func aCancelledTaskBeginsNoFurtherElement() async throws {
        let pool = try WorkerPool(threads: 1, maximumThreads: 1)
        let (begun, started, goOn) = (Counter(), Handshake(), Handshake())
        let task = Task {
            try await pool.forEach(0..<1_000_000_000) { _ in
                if begun.increment() == 1 {
                    started.give()
                    goOn.take()
                }
                sched_yield()
            }
        }
        await started.taken()
        task.cancel()
        goOn.give()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(begun.value < 1_000_000_000)
    }

    @Test func aCancellationIsAnErrorOnlyWhereItKeptAnElementFromBeginning() {
        let control = LoopControl()
        #expect(control.allows(0))
        control.cancel()
        #expect(control.failure == nil, "element 0 was the last")
        #expect(!control.allows(1))
        #expect(control.failure is CancellationError)
    }

    // task      submits, suspends   cancelled: throws
    // worker    in a job                              ends it; finds an empty job
    @Test func aLoopThatHasNotBegunIsCancelledAndReleased() async throws {
        let held = try HeldPool()
        let (ran, freed) = (Counter(), Counter())
        let loop: SuspendingLoop
        do {
            let tracked = Tracked(freed: freed)
            loop = SuspendingLoop(held.pool.core, 10, 0, LoopControl()) { _, _ in
                tracked.touch()
                ran.increment()
            }
        }
        let task = Task { try await loop.wait(ILK_PRIORITY_NORMAL) }
        await eventually("it is submitted, and the task waits") { loop.result.waiterCount == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(freed.value == 1, "released before the pool comes to it")
        held.release()
        held.pool.close()
        try await held.pool.wait()
        #expect(ran.value == 0)
    }

    // A job of a closed pool may still loop; others are refused.
    @Test func aClosedPoolRefusesLoopsButThoseOfItsJobs() async throws {
        let held = try HeldPool()
        let sum = Counter()
        let pool = held.pool
        let isAccepted = pool.submit {
            try! Self.forEach(pool, 0..<10) { _ in sum.increment() }
        }
        #expect(isAccepted)
        held.pool.close()
        await blocking {
            #expect(throws: WorkerPoolRunError<Never>.notRun(.closed(pool: "held"))) {
                try Self.forEach(held.pool, 0..<10) { _ in sum.increment() }
            }
            #expect(throws: WorkerPoolRunError<any Error>.self) {
                try Self.map(held.pool, 0..<10) { number throws in number }
            }
        }
        await #expect(throws: WorkerPoolError.closed(pool: "held")) {
            try await held.pool.forEach(0..<10) { _ in sum.increment() }
        }
        held.release()
        try await held.pool.wait()
        #expect(sum.value == 10)
    }

    @Test func closingAtOnceEndsALoopThatHasNotBegun() async throws {
        let held = try HeldPool()
        let ran = Counter()
        let task = Task { [pool = held.pool] in try await pool.map(0..<10) { _ in ran.increment() } }
        held.pool.closeNow()
        held.release()
        await #expect(throws: WorkerPoolError.closed(pool: "held")) { try await task.value }
        #expect(ran.value == 0)
    }

    @Test func aGrainBelowOneIsReported() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            alarm(20)
            try await WorkerPool.shared.forEach(0..<10, grain: 0) { _ in }
        }
        #expect(sentence(result).contains("WorkerPool.forEach(grain: 0)"))
    }
}
