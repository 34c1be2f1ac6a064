// SPDX-License-Identifier: Apache-2.0
//
// Latch and Barrier: waiting for others to get somewhere (scenario 19).

import Interlock
import Synchronization
import Testing

@testable import InterlockSync
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

    static let misuses = [
        Misuse("interlock: ilk_latch_count_down(") { Latch(count: 0).countDown() },
        Misuse("interlock: Latch.init(): a count of -1") { _ = Latch(count: -1) },
        Misuse("interlock: Latch.init(): a count of 2147483648") { _ = Latch(count: 2_147_483_648) },
    ]

    @Test(.serialized, .ownThreads, arguments: misuses.indices)
    func misuseIsReported(index: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [index] in
            try await LatchTests.misuses[index].program()
        }
        Self.misuses[index].expectReport(result)
    }
}
// contract: Barrier
@Suite struct BarrierTests {
    /// Each party adds to a round's sum before it meets: four threads, or two and two tasks.
    @Test(.timeLimit(.minutes(10)), arguments: [4, 2])
    func nonePassesBeforeAllHaveComeAndOneIsLast(threadCount: Int) async throws {
        let (parties, rounds) = (4, 200)
        let barrier = Barrier(parties: parties)
        let arrived = Atomic<Int>(0)
        let short = Atomic<Int>(0)
        let last = Atomic<Int>(0)
        let threads = (0..<threadCount).map { _ in
            TestThread {
                for round in 1...rounds {
                    arrived.add(1, ordering: .relaxed)
                    if barrier.wait() { last.add(1, ordering: .relaxed) }
                    if arrived.load(ordering: .relaxed) < round * parties { short.add(1, ordering: .relaxed) }
                    barrier.wait()
                }
            }
        }
        let party: @Sendable () async throws -> Void = {
            for round in 1...rounds {
                arrived.add(1, ordering: .relaxed)
                if try await barrier.wait() { last.add(1, ordering: .relaxed) }
                if arrived.load(ordering: .relaxed) < round * parties { short.add(1, ordering: .relaxed) }
                try await barrier.wait()
            }
        }
        let tasks = (threadCount..<parties).map { _ in Task { try await party() } }
        for task in tasks { try await task.value }
        for thread in threads { thread.join() }
        let (wasShort, wasLast) = (short.load(ordering: .relaxed), last.load(ordering: .relaxed))
        #expect(wasShort == 0)
        #expect(wasLast == rounds)
        #expect(barrier.parties == parties)
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

    static let misuses = [
        Misuse("interlock: Barrier.init(): 0 parties") { _ = Barrier(parties: 0) },
        Misuse("interlock: Barrier.init(): 4294967296 parties") { _ = Barrier(parties: 4_294_967_296) },
    ]

    @Test(.serialized, .ownThreads, arguments: misuses.indices)
    func aBarrierForNoneOrTooManyIsReported(index: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [index] in
            try await BarrierTests.misuses[index].program()
        }
        Self.misuses[index].expectReport(result)
    }
}
