// SPDX-License-Identifier: Apache-2.0
//
// Latch and Barrier: waiting for others to get somewhere (scenario 19).

import Interlock
@testable import InterlockOperations
@testable import InterlockPool
@testable import InterlockSync
import Synchronization
import Testing
// contract: Latch
@Suite(.timeLimit(.minutes(10))) struct LatchTests {
    @Test func itOpensAtZeroForThreadsAndTasksAndStaysOpen() async throws {
        let latch = Latch(count: 3)
        let through = Atomic<Int>(0)
        let threads = (0..<2).map { _ in
            TestThread {
                latch.wait()
                through.add(1, ordering: .relaxed)
            }
        }
        let tasks = (0..<2).map { _ in Task { try await latch.wait() } }
        latch.countDown()
        latch.countDown()
        #expect(!latch.isOpen && latch.count == 1 && through.load(ordering: .relaxed) == 0)
        latch.countDown()
        threads.forEach { $0.join() }
        for task in tasks { try await task.value }
        #expect(through.load(ordering: .relaxed) == 2)
        #expect(latch.isOpen && latch.count == 0)
        try await latch.wait()
        #expect(try await latch.wait(timeout: .zero))
        #expect(Latch(count: 0).isOpen)
    }

    /// The last count races against a task that is about to wait.
    @Test func noTaskMissesTheOpening() async throws {
        for _ in 0..<500 {
            let latch = Latch(count: 1)
            async let opened: Void = Task { latch.countDown() }.value
            try await latch.wait()
            await opened
        }
    }

    @Test func whatWasDoneBeforeCountingDownIsSeenAfterWaiting() {
        nonisolated(unsafe) var written = 0
        let latch = Latch(count: 1)
        let writer = TestThread {
            written = 7
            latch.countDown()
        }
        #expect(latch.wait(timeout: .seconds(30)))
        #expect(written == 7)
        writer.join()
    }

    @Test func limitsAndCancellationEndAWait() async {
        let latch = Latch(count: 1)
        onThreads(1) { _ in
            let begin = ContinuousClock.now
            #expect(!latch.wait(timeout: .milliseconds(10)))
            #expect(ContinuousClock.now - begin >= .milliseconds(10))
            #expect(!latch.wait(until: begin))
        }
        let task = Task { try await latch.wait(timeout: .seconds(60)) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func misuseIsReported() async {
        let late = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Latch(count: 0).countDown()
        }
        #expect(late?.report.contains("interlock: ilk_latch_count_down(") == true)
        let negative = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Latch(count: -1)
        }
        #expect(negative?.report.contains("interlock: Latch.init(): a count of -1") == true)
        let tooMany = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Latch(count: 2_147_483_648)
        }
        #expect(tooMany?.report.contains("interlock: Latch.init(): a count of 2147483648") == true)
    }
}
// contract: Barrier
@Suite struct BarrierTests {
    /// Each party adds to a round's sum before it meets.
    @Test func nonePassesBeforeAllHaveComeAndOneIsLast() {
        let parties = 4
        let rounds = 200
        let barrier = Barrier(parties: parties)
        let arrived = Atomic<Int>(0)
        let short = Atomic<Int>(0)
        let last = Atomic<Int>(0)
        onThreads(parties) { _ in
            for round in 1...rounds {
                arrived.add(1, ordering: .relaxed)
                if barrier.wait() { last.add(1, ordering: .relaxed) }
                if arrived.load(ordering: .relaxed) < round * parties { short.add(1, ordering: .relaxed) }
                barrier.wait()
            }
        }
        #expect(short.load(ordering: .relaxed) == 0)
        #expect(last.load(ordering: .relaxed) == rounds)
        #expect(barrier.parties == parties)
    }

    /// As above, with two threads and two tasks.
    @Test(.timeLimit(.minutes(10))) func threadsAndTasksMeet() async throws {
        let rounds = 200
        let barrier = Barrier(parties: 4)
        let arrived = Atomic<Int>(0)
        let short = Atomic<Int>(0)
        let last = Atomic<Int>(0)
        let threads = (0..<2).map { _ in
            TestThread {
                for round in 1...rounds {
                    arrived.add(1, ordering: .relaxed)
                    if barrier.wait() { last.add(1, ordering: .relaxed) }
                    if arrived.load(ordering: .relaxed) < round * 4 { short.add(1, ordering: .relaxed) }
                    barrier.wait()
                }
            }
        }
        let party: @Sendable () async throws -> Void = {
            for round in 1...rounds {
                arrived.add(1, ordering: .relaxed)
                if try await barrier.wait() { last.add(1, ordering: .relaxed) }
                if arrived.load(ordering: .relaxed) < round * 4 { short.add(1, ordering: .relaxed) }
                try await barrier.wait()
            }
        }
        let tasks = (0..<2).map { _ in Task { try await party() } }
        for task in tasks { try await task.value }
        for thread in threads { thread.join() }
        let (wasShort, wasLast) = (short.load(ordering: .relaxed), last.load(ordering: .relaxed))
        #expect(wasShort == 0)
        #expect(wasLast == rounds)
    }

    //   three            two                the last
    //   arrive, give up
    //                    arrive, wait       arrives: all go on
    @Test(.timeLimit(.minutes(10))) func aPartyThatGivesUpHasNotArrived() async throws {
        let barrier = Barrier(parties: 3)
        let limit = Duration.milliseconds(10)
        let begin = ContinuousClock.now
        #expect(try await barrier.wait(timeout: limit) == nil)
        #expect(ContinuousClock.now - begin >= limit)
        #expect(try await barrier.wait(until: begin) == nil)
        onThreads(1) { _ in
            #expect(barrier.wait(timeout: limit) == nil)
            #expect(barrier.wait(until: begin) == nil)
        }
        let cancelled = Task { try await barrier.wait() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let meeting = [
            Task { try await barrier.wait(timeout: .seconds(60)) },
            Task { try await barrier.wait(until: .now.advanced(by: .seconds(60))) },
        ]
        #expect(await eventuallySuspending { barrier.arrived == 2 }, "parties that gave up are not counted")
        #expect(try await barrier.wait())
        for party in meeting { #expect(try await party.value == false) }
        #expect(barrier.arrived == 0)
    }

    @Test func aPartyOfOneNeverWaits() async throws {
        let barrier = Barrier(parties: 1)
        #expect(try await barrier.wait())
        onThreads(1) { _ in
            #expect(barrier.wait())
            #expect(barrier.wait(until: .now) == true, "a limit that has passed is no matter to the last")
        }
    }

    @Test func aBarrierForNoPartiesIsReported() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Barrier(parties: 0)
        }
        #expect(result?.report.contains("interlock: Barrier.init(): 0 parties") == true)
    }
}
