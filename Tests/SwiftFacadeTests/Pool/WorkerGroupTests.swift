// SPDX-License-Identifier: Apache-2.0
//
// Groups of jobs: waits of threads, workers and tasks, and what follows the last job.

import Foundation
import Testing

import Interlock
// contract: WorkerGroup
@Suite(.timeLimit(.minutes(10))) struct WorkerGroupTests {
    @Test func aWaitEndsAfterAllJobsAndSeesTheirWork() async throws {
        let pool = try WorkerPool(threads: 2)
        let group = WorkerGroup(on: pool)
        let ran = Counter()
        for _ in 0..<500 { #expect(group.submit { ran.increment() }) }
        await blocking { block(group) }
        #expect(ran.value == 500)
        // Jobs of jobs count as well.
        let isAccepted = group.submit {
            for _ in 0..<10 { #expect(group.submit { ran.increment() }) }
        }
        #expect(isAccepted)
        try await group.wait()
        #expect(ran.value == 510)
    }

    // The only worker waits for jobs that only it can run.
    @Test func aWorkerThatWaitsRunsTheJobs() async throws {
        let pool = try WorkerPool(threads: 1, maximumThreads: 1)
        let sum = try await pool.run {
            let group = WorkerGroup(on: pool)
            let ran = Counter()
            for _ in 0..<10 { #expect(group.submit { ran.increment() }) }
            block(group)
            return ran.value
        }
        #expect(sum == 10)
    }

    // job       begun                                 goes on
    // waiters           time out, cancelled, notified           the last two
    @Test func limitsAndCancellationEndAWaitAndLeaveTheJobs() async throws {
        let pool = try WorkerPool(threads: 1)
        let group = WorkerGroup(on: pool)
        let (begun, goOn, notified) = (Handshake(), Handshake(), Handshake())
        #expect(
            group.submit {
                begun.give()
                goOn.take()
            }
        )
        await begun.taken()
        #expect(await blocking { block(group, timeout: .milliseconds(2)) } == false)
        #expect(try await group.wait(timeout: .milliseconds(2)) == false)
        #expect(try await group.wait(until: .now) == false)
        let cancelled = Task { try await group.wait() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        for _ in 0..<3 { #expect(group.notify { notified.give() }) }
        let waiting = Task { try await group.wait(timeout: .seconds(60)) }
        #expect(!notified.isGiven(within: 0.01))
        goOn.give()
        await notified.taken(3)
        #expect(try await waiting.value)
    }

    @Test func anEmptyGroupIsAtItsEnd() async throws {
        let group = WorkerGroup(on: .shared)
        let notified = Handshake()
        await blocking { block(group) }
        try await group.wait()
        #expect(group.notify { notified.give() })
        await notified.taken()
    }

    // Rounds of one group: each notification comes after the jobs before it, exactly once.
    @Test func aNotificationRunsOnceAfterAllJobsBeforeIt() async throws {
        let pool = try WorkerPool(threads: 2)
        let group = WorkerGroup(on: pool)
        let (ran, notified, early) = (Counter(), Counter(), Counter())
        for round in 1...300 {
            for _ in 0..<3 { #expect(group.submit { ran.increment() }) }
            #expect(
                group.notify {
                    if ran.value < 3 * round { early.increment() }
                    notified.increment()
                }
            )
        }
        await eventually("all are notified") { notified.value == 300 }
        #expect(early.value == 0)
        pool.close()
        try await pool.wait()
        #expect(notified.value == 300)
    }

    // The group goes while its jobs wait; the C core touches its memory after each job.
    @Test func aGroupMayBeReleasedBeforeItsJobsHaveRun() async throws {
        let held = try HeldPool()
        let (ran, freed) = (Counter(), Counter())
        do {
            let group = WorkerGroup(on: held.pool)
            for _ in 0..<10 {
                #expect(group.submit(counted(ran, freed)))
            }
        }
        try await held.finish()
        #expect(ran.value == 10 && freed.value == 10)
    }

    @Test func aClosedPoolRefusesJobsAndNotifications() async throws {
        let held = try HeldPool()
        let group = WorkerGroup(on: held.pool)
        let (ran, notified) = (Counter(), Counter())
        #expect(group.submit { ran.increment() })
        #expect(group.notify { notified.increment() })
        held.pool.close()
        #expect(!group.submit { ran.increment() })
        #expect(!group.notify { notified.increment() })
        let waiting = Task { try await group.wait() }
        held.release()
        try await waiting.value
        try await held.pool.wait()
        #expect(ran.value == 1 && notified.value == 1)
        // A group of a closed pool has an end as well.
        try await group.wait()
    }

    // group     the second and the third wait for the first one's run; then the pool is closed, and takes none of them
    @Test func notificationsThatMeetAClosedPoolAreKept() async throws {
        let held = try HeldPool()
        let group = WorkerGroup(on: held.pool)
        let (ran, notified) = (Counter(), Handshake())
        #expect(group.submit { ran.increment() })
        for _ in 0..<3 {
            let isAccepted = group.notify {
                #expect(ran.value == 1)
                notified.give()
            }
            #expect(isAccepted)
        }
        held.pool.close()
        held.release()
        await notified.taken(3)
        try await held.pool.wait()
    }

    @Test func aClosedPoolDoesNotKeepAGroupThatWasWaitedFor() async throws {
        weak var group: WorkerGroup?
        let pool = try WorkerPool(threads: 1)
        pool.close()
        do {
            let own = WorkerGroup(on: pool)
            group = own
            try await own.wait()
        }
        #expect(await eventuallySuspending { group == nil }, "its follower on the shared pool ends")
    }

    // What is handed back has left the group.
    @Test func closingAtOnceEndsTheGroup() async throws {
        let held = try HeldPool()
        let group = WorkerGroup(on: held.pool)
        let (ran, back) = (Counter(), Counter())
        for _ in 0..<5 { #expect(group.submit { ran.increment() }) }
        #expect(group.notify { ran.increment() })
        let waiting = Task { try await group.wait() }
        held.pool.closeNow { _ in back.increment() }
        try await waiting.value
        held.release()
        try await held.pool.wait()
        #expect(ran.value == 0 && back.value == 6)
    }
}
