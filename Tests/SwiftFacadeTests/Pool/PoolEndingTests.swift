// SPDX-License-Identifier: Apache-2.0
//
// The end of a pool: closed, closed at once, released; and waiting for it.

import Foundation
import Testing

import Interlock
// contract: WorkerPool
@Suite(.timeLimit(.minutes(10))) struct PoolEndingTests {
    @Test func whatWasAcceptedRunsAfterTheClose() async throws {
        let held = try HeldPool()
        let ran = Counter()
        for _ in 0..<100 { #expect(held.pool.submit { ran.increment() }) }
        let delayed = try held.pool.after(.milliseconds(20)) {
            ran.increment()
            return 7
        }
        held.pool.close()
        held.release()
        try await held.pool.wait()
        #expect(ran.value == 101)
        #expect(try await delayed.value == 7)
    }

    // worker    in a job                                         ends it
    // caller    submits 100, closes at once: has them all back
    @Test func closingAtOnceHandsBackEachOnce() async throws {
        let held = try HeldPool()
        let (ran, freed) = (Counter(), Counter())
        for _ in 0..<100 {
            #expect(held.pool.submit(counted(ran, freed)))
        }
        let back = Trace<@Sendable () -> Void>()
        held.pool.closeNow { back.add($0) }
        held.release()
        try await held.pool.wait()
        #expect(back.events.count == 100 && ran.value == 0 && freed.value == 0)
        for work in back.events { work() }
        #expect(ran.value == 100)
    }

    // Several threads submit while another closes: what was accepted has run or came back, once.
    @Test func submissionsBesideAClosingAtOnceAreNeitherLostNorDoubled() async throws {
        for _ in 0..<20 {
            let pool = try WorkerPool(threads: 2)
            let (accepted, ran, back, refused) = (Counter(), Counter(), Counter(), Counter())
            let begun = Handshake()
            async let submitting: Void = blocking {
                onThreads(2) { _ in
                    begun.give()
                    for _ in 0..<2_000 {
                        if pool.submit({ ran.increment() }) {
                            accepted.increment()
                        } else {
                            refused.increment()
                        }
                    }
                }
            }
            await begun.taken()
            pool.closeNow { work in
                back.increment()
                withExtendedLifetime(work) {}
            }
            await submitting
            try await pool.wait()
            #expect(ran.value + back.value == accepted.value && accepted.value + refused.value == 4_000)
        }
    }

    // closer    has job 1 in hand                           hands it back, and job 2
    // worker                        ends; the C pool has none left
    // waiter                                 does not end                              ends
    @Test func theEndComesAfterTheLastJobThatIsHandedBack() async throws {
        let held = try HeldPool()
        let (begun, goOn, back) = (Handshake(), Handshake(), Counter())
        #expect(held.pool.submit {})
        async let closing: Void = blocking { [pool = held.pool] in
            pool.closeNow { _ in
                begun.give()
                goOn.take()
                back.increment()
            }
        }
        await begun.taken()
        held.release()
        #expect(await blocking { block(held.pool, timeout: .milliseconds(20)) } == false)
        #expect(try await held.pool.wait(timeout: .milliseconds(20)) == false)
        goOn.give()
        try await held.pool.wait()
        #expect(back.value == 1)
        await closing
    }

    // first     has job 1 in hand                       has the other two
    // second                       closes at once
    @Test func ofSeveralClosingsAtOnceTheFirstOnesFunctionHasTheJobs() async throws {
        let held = try HeldPool()
        let (begun, goOn, first, second) = (Handshake(), Handshake(), Counter(), Counter())
        for _ in 0..<3 { #expect(held.pool.submit {}) }
        async let closing: Void = blocking { [pool = held.pool] in
            pool.closeNow { _ in
                guard first.increment() == 1 else { return }
                begun.give()
                goOn.take()
            }
        }
        await begun.taken()
        held.pool.closeNow { _ in second.increment() }
        goOn.give()
        await closing
        held.release()
        try await held.pool.wait()
        #expect(first.value == 3 && second.value == 0)
    }

    // The caller's function holds the pool: a cycle, which the end opens.
    @Test func theCallersFunctionIsReleasedAtTheEnd() async throws {
        let freed = Counter()
        do {
            let pool = try WorkerPool(threads: 1)
            let tracked = Tracked(freed: freed)
            pool.closeNow { _ in
                tracked.touch()
                _ = pool.name
            }
        }
        await eventually("the function is released") { freed.value == 1 }
    }

    @Test func aPoolThatHasEndedKeepsNoCallersFunction() async throws {
        let freed = Counter()
        let pool = try WorkerPool(threads: 1)
        pool.closeNow()
        try await pool.wait()
        do {
            let tracked = Tracked(freed: freed)
            pool.closeNow { _ in tracked.touch() }
        }
        #expect(freed.value == 1)
        withExtendedLifetime(pool) {}
    }

    // MARK: Released

    // owner     submits, releases the pool
    // worker    in a job                     ends it, runs the rest, ends
    @Test func whatWasAcceptedRunsAfterThePoolWasReleased() async throws {
        let (ran, begun, goOn, freed) = (Counter(), Handshake(), Handshake(), Counter())
        do {
            let pool = try WorkerPool(threads: 1)
            #expect(
                pool.submit {
                    begun.give()
                    goOn.take()
                }
            )
            await begun.taken()
            for _ in 0..<100 {
                #expect(pool.submit(counted(ran, freed)))
            }
            _ = try pool.after(.milliseconds(1)) { ran.increment() }
        }
        #expect(ran.value == 0)
        goOn.give()
        await eventually("all have run") { ran.value == 101 && freed.value == 100 }
    }

    // The job has the last reference: the pool's end begins on its own thread.
    @Test func aJobMayReleaseItsPool() async throws {
        final class Owner: Sendable {
            let pool: VisibleMutex<WorkerPool?>
            init(_ pool: WorkerPool) { self.pool = VisibleMutex(pool) }
            func release() {
                let pool = pool.withLock { $0.take() }
                withExtendedLifetime(pool) {}
            }
        }
        let (ran, goOn) = (Handshake(), Handshake())
        let owner = Owner(try WorkerPool(threads: 1))
        let submit = { (work: @escaping @Sendable () -> Void) in
            owner.pool.withLock { $0!.submit(work) }
        }
        #expect(
            submit {
                goOn.take()
                owner.release()
                ran.give()
            }
        )
        #expect(submit { ran.give() })
        goOn.give()
        await ran.taken(2)
    }

    #if os(Linux)
    @Test func theThreadsOfAReleasedPoolEnd() async throws {
        @Sendable func threads() -> Int {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
            return names.count { name in
                let comm = try? String(contentsOfFile: "/proc/self/task/\(name)/comm", encoding: .utf8)
                return comm?.hasPrefix("goes-away-") ?? false
            }
        }
        do {
            let pool = try WorkerPool(name: "goes-away", threads: 3)
            try await pool.run {}
            #expect(threads() >= 1)
        }
        await eventually("its threads have ended") { threads() == 0 }
    }
    #endif

    // MARK: Waiting

    @Test func aWaitEndsWithThePoolAndNotBefore() async throws {
        let pool = try WorkerPool(threads: 1)
        #expect(await blocking { block(pool, timeout: .milliseconds(2)) } == false)
        #expect(try await pool.wait(timeout: .milliseconds(2)) == false)
        #expect(try await pool.wait(until: .now) == false)
        let ran = Counter()
        #expect(pool.submit { ran.increment() })
        pool.close()
        await blocking { block(pool) }
        #expect(ran.value == 1)
        try await pool.wait()
        #expect(try await pool.wait(timeout: .seconds(60)))
    }

    @Test func aCancelledWaitThrowsAndThePoolGoesOn() async throws {
        let held = try HeldPool()
        let waiting = Task { [pool = held.pool] in try await pool.wait() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        held.release()
        #expect(try await held.pool.run { 1 } == 1)
    }

    @Test func aTaskOfThePoolMayWaitForItsEnd() async throws {
        let pool = try WorkerPool(threads: 1)
        let task = Task(executorPreference: pool) {
            pool.close()
            try await pool.wait()
            return 1
        }
        #expect(try await task.value == 1)
    }
}
