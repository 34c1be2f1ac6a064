// SPDX-License-Identifier: Apache-2.0
//
// Delayed tasks of a pool: not early, cancelled or run, and released. Six characters of a drawing are ten milliseconds.

import Foundation
import Testing

import Interlock
// contract: WorkerPool
@Suite(.timeLimit(.minutes(10))) struct PoolDelayedTests {
    // due:      0-----------2-----3      the moment of 0 has passed when it is submitted
    // runs:     0-----------2-----3
    @Test func delayedWorkIsNeverEarlyAndGivesItsValue() async throws {
        let pool = try WorkerPool(threads: 1)
        let begin = ContinuousClock.now
        let after = try pool.after(.milliseconds(30)) { ContinuousClock.now }
        let at = try pool.at(begin.advanced(by: .milliseconds(20))) { ContinuousClock.now }
        let past = try pool.after(.seconds(-5), priority: .high) { 7 }
        #expect(try await past.value == 7)
        #expect(try await after.value - begin >= .milliseconds(30))
        #expect(try await at.value - begin >= .milliseconds(20))
        #expect(after.deadline - begin >= .milliseconds(30))
        let failing = try pool.after(.zero) { () throws -> Int in throw JobFailure() }
        await #expect(throws: JobFailure()) { try await failing.value }
    }

    // due:      -----------------------1
    // call:     ---cancel
    // runs:     ------------------------
    @Test func cancellingPreventsTheRunAndReleasesTheWorkAtOnce() async throws {
        let pool = try WorkerPool(threads: 1)
        let (ran, freed) = (Counter(), Counter())
        let task = try pool.after(.seconds(3_600), counted(ran, freed))
        #expect(task.cancel())
        #expect(freed.value == 1 && !task.cancel() && pool.info.delayedTasks == 0)
        await #expect(throws: CancellationError.self) { try await task.value }
        pool.close()
        try await pool.wait()
        #expect(ran.value == 0)
    }

    // The timer holds the task while it is set, and no longer.
    @Test func aCancelledTaskIsReleased() async throws {
        let pool = try WorkerPool(threads: 1)
        weak var handle: DelayedWork<Void>?
        do {
            let task = try pool.after(.seconds(3_600)) {}
            handle = task
            #expect(task.cancel())
        }
        #expect(handle == nil)
    }

    // due:      ------1
    // worker:   [         busy         ]
    // call:     -----------cancel
    // runs:     ------------------------      the worker finds an empty job
    @Test func aDueTaskThatHasNotBegunCanBeCancelled() async throws {
        let held = try HeldPool()
        let (ran, freed) = (Counter(), Counter())
        let task = try held.pool.after(.zero, counted(ran, freed))
        await eventually("it is due") { held.pool.info.delayedTasks == 0 }
        #expect(task.cancel() && freed.value == 1)
        try await held.finish()
        #expect(ran.value == 0)
    }

    @Test func cancellingInARaceWithTheTimerDecidesOnce() async throws {
        let pool = try WorkerPool(threads: 2)
        let (ran, freed, cancelled) = (Counter(), Counter(), Counter())
        for delay in 0..<300 {
            let task = try pool.after(.microseconds(delay), counted(ran, freed))
            if delay.isMultiple(of: 2) { try await Task.sleep(for: .microseconds(delay)) }
            if task.cancel() { cancelled.increment() }
        }
        pool.close()
        try await pool.wait()
        #expect(ran.value + cancelled.value == 300)
        await eventually("all are released") { freed.value == 300 }
    }

    @Test func aTaskThatIsDroppedRunsAllTheSame() async throws {
        let pool = try WorkerPool(threads: 1)
        let ran = Handshake()
        try pool.after(.milliseconds(1)) { ran.give() }
        await ran.taken()
    }

    @Test func aCancelledWaitLeavesTheWorkAlone() async throws {
        let held = try HeldPool()
        let task = try held.pool.after(.zero) { 3 }
        let waiting = Task { try await task.value }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        held.release()
        #expect(try await task.value == 3)
    }

    @Test func aClosedPoolRefusesAndClosingAtOnceEndsTheWait() async throws {
        let pool = try WorkerPool(name: "shut", threads: 1)
        let (freed, ran) = (Counter(), Counter())
        let task = try pool.after(.seconds(3_600), counted(ran, freed))
        pool.closeNow()
        await #expect(throws: WorkerPoolError.closed(pool: "shut")) { try await task.value }
        try await pool.wait()
        await eventually("the work is released") { freed.value == 1 }
        #expect(throws: WorkerPoolError.closed(pool: "shut")) { try pool.after(.zero) { ran.increment() } }
        #expect(ran.value == 0 && !task.cancel())
    }

    @Test func aClosedPoolKeepsNothingOfWhatItRefuses() throws {
        let pool = try WorkerPool(name: "shut", threads: 1)
        pool.close()
        let freed = Counter()
        do {
            let tracked = Tracked(freed: freed)
            #expect(throws: WorkerPoolError.closed(pool: "shut")) {
                try pool.after(.zero) { tracked.touch() }
            }
        }
        #expect(freed.value == 1)
    }
}
