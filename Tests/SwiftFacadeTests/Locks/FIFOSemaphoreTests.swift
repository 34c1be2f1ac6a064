// SPDX-License-Identifier: Apache-2.0
//
// Scenario 10: order of threads and tasks, limits, cancellation; permits are neither lost nor made. The conformance
// suite tests the counter and the hand-off.

import Interlock
import Synchronization
import Testing
// contract: FIFOSemaphore
@Suite(.timeLimit(.minutes(10))) struct FIFOSemaphoreTests {
    /// Each is seen in the queue before the next comes.
    @Test func threadsAndTasksAreServedInOneOrder() async throws {
        let semaphore = FIFOSemaphore(permits: 0)
        let order = SafeArray<Int>()
        var tasks: [Task<Void, any Error>] = []
        var threads: [TestThread] = []
        for place in 0..<8 {
            if place.isMultiple(of: 2) {
                threads.append(
                    TestThread {
                        semaphore.wait()
                        order.append(place)
                        semaphore.signal()
                    }
                )
            } else {
                tasks.append(
                    Task {
                        try await semaphore.wait()
                        order.append(place)
                        semaphore.signal()
                    }
                )
            }
            #expect(await eventuallySuspending { semaphore.value == -(place + 1) })
        }
        semaphore.signal()
        for task in tasks { try await task.value }
        threads.forEach { $0.join() }
        #expect(order.snapshot == Array(0..<8))
        #expect(semaphore.value == 1)
    }

    @Test func signallingSeveralServesExactlyThatManyAndKeepsTheRest() {
        let semaphore = FIFOSemaphore(permits: 0)
        let served = Atomic<Int>(0)
        let threads = (0..<3).map { _ in
            TestThread {
                semaphore.wait()
                served.add(1, ordering: .relaxed)
            }
        }
        #expect(eventually { semaphore.value == -3 })
        semaphore.signal(0)
        #expect(semaphore.value == -3)
        semaphore.signal(2)
        #expect(eventually { served.load(ordering: .relaxed) == 2 })
        #expect(semaphore.value == -1)
        semaphore.signal(5)
        threads.forEach { $0.join() }
        #expect(semaphore.value == 4)
    }

    @Test func limitsAreKeptAndTheQueueForgetsWaitersThatTimedOut() async throws {
        let semaphore = FIFOSemaphore(permits: 0)
        let limit = Duration.milliseconds(20)
        onThreads(1) { _ in
            let begin = ContinuousClock.now
            #expect(!semaphore.wait(timeout: limit))
            #expect(ContinuousClock.now - begin >= limit)
            #expect(!semaphore.wait(until: begin))
        }
        let begin = ContinuousClock.now
        #expect(try await semaphore.wait(timeout: limit) == false)
        #expect(ContinuousClock.now - begin >= limit)
        #expect(semaphore.value == 0)
        semaphore.signal()
        #expect(
            try await semaphore.wait(until: begin),
            "a passed deadline still takes a permit that is there"
        )
    }

    /// task 1: waits ── cancelled, leaves      the signal that follows must reach task 2
    /// task 2: waits ··················· served
    @Test func aCancelledWaitGivesThePermitToTheNext() async throws {
        let semaphore = FIFOSemaphore(permits: 0)
        let first = Task { try await semaphore.wait() }
        #expect(await eventuallySuspending { semaphore.value == -1 })
        let second = Task { try await semaphore.wait() }
        #expect(await eventuallySuspending { semaphore.value == -2 })
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(semaphore.value == -1)
        semaphore.signal()
        try await second.value
        #expect(semaphore.value == 0)
    }

    /// Whichever comes first, the permit is with the task or in the semaphore.
    @Test func cancellationRacingASignalLosesNoPermit() async {
        for _ in 0..<500 {
            let semaphore = FIFOSemaphore(permits: 0)
            let task = Task { (try? await semaphore.wait()) != nil }
            async let signalled: Void = Task { semaphore.signal() }.value
            task.cancel()
            await signalled
            let got = await task.value
            #expect(semaphore.value == (got ? 0 : 1))
        }
    }

    /// waiter:    queued ── times out ─────────── rechecks: granted after all, or out of the queue
    /// signaller:    sees it queued ── grants
    ///
    /// The waiter's deadline has always passed, so that each of its rounds goes through the middle of this.
    @Test func aTimeoutRacingASignalLosesNoPermit() {
        let semaphore = FIFOSemaphore(permits: 0)
        let taken = Atomic<Int>(0)
        let given = Atomic<Int>(0)
        let done = Atomic<Bool>(false)
        onThreads(2) { thread in
            if thread == 0 {
                let past = ContinuousClock.now
                for _ in 0..<50_000 where semaphore.wait(until: past) {
                    taken.add(1, ordering: .relaxed)
                }
                done.store(true, ordering: .releasing)
            } else {
                while !done.load(ordering: .acquiring) {
                    if semaphore.value < 0 {
                        semaphore.signal()
                        given.add(1, ordering: .relaxed)
                    }
                }
            }
        }
        #expect(given.load(ordering: .relaxed) > 0)
        #expect(taken.load(ordering: .relaxed) + semaphore.value == given.load(ordering: .relaxed))
    }

    @Test func fifteenDownloadsWithThreePermitsNeverExceedThree() async throws {
        let downloads = FIFOSemaphore(permits: 3)
        let running = Occupancy()
        let finished = try await withThrowingTaskGroup(of: Int.self, returning: Set<Int>.self) { group in
            for download in 0..<15 {
                group.addTask {
                    try await downloads.withPermit {
                        running.enter()
                        for _ in 0..<20 { await Task.yield() }
                        running.leave()
                        return download
                    }
                }
            }
            return try await group.reduce(into: []) { $0.insert($1) }
        }
        #expect(finished == Set(0..<15))
        #expect(running.most <= 3)
        #expect(downloads.value == 3)
    }

    @Test func aPermitGoesBackAlsoWhenTheBodyThrows() async {
        struct Failed: Error {}
        let semaphore = FIFOSemaphore(permits: 1)
        onThreads(1) { _ in
            #expect(throws: Failed.self) { try semaphore.withPermit { throw Failed() } }
            #expect(throws: Failed.self) { try semaphore.withPermit(until: .now) { throw Failed() } }
            #expect(throws: Failed.self) { try semaphore.withPermit(timeout: .zero) { throw Failed() } }
            #expect(semaphore.withPermit { semaphore.value } == 0)
        }
        await #expect(throws: Failed.self) { try await semaphore.withPermit { throw Failed() } }
        await #expect(throws: Failed.self) {
            try await semaphore.withPermit { () async throws(Failed) in throw Failed() }
        }
        await #expect(throws: Failed.self) { try await semaphore.withPermit(until: .now) { throw Failed() } }
        await #expect(throws: Failed.self) {
            try await semaphore.withPermit(timeout: .zero) { throw Failed() }
        }
        #expect(semaphore.value == 1)
    }

    @Test func aPermitThatDoesNotComeInTimeRunsNothing() async throws {
        let semaphore = FIFOSemaphore(permits: 1)
        let limit = Duration.milliseconds(10)
        onThreads(1) { _ in
            let begin = ContinuousClock.now
            #expect(semaphore.withPermit(timeout: limit) { semaphore.value } == 0)
            #expect(semaphore.withPermit(until: begin) { semaphore.value } == 0, "there was one")
            semaphore.wait()
            #expect(semaphore.withPermit(timeout: limit) { Issue.record("ran") } == nil)
            #expect(ContinuousClock.now - begin >= limit)
            #expect(semaphore.withPermit(until: begin) { Issue.record("ran") } == nil)
        }
        let begin = ContinuousClock.now
        let late: Void? = try await semaphore.withPermit(timeout: limit) { Issue.record("ran") }
        #expect(late == nil && ContinuousClock.now - begin >= limit)
        let passed: Void? = try await semaphore.withPermit(until: begin) { Issue.record("ran") }
        #expect(passed == nil && semaphore.value == 0)
        semaphore.signal()
        #expect(try await semaphore.withPermit(until: begin) { semaphore.value } == 0)
        #expect(try await semaphore.withPermit(timeout: limit) { semaphore.value } == 0)
        #expect(semaphore.value == 1)
    }

    @Test func permitsBalanceUnderThreadsAndTasksTogether() async throws {
        let semaphore = FIFOSemaphore(permits: 2)
        let inside = Occupancy()
        let threads = (0..<3).map { _ in
            TestThread {
                for _ in 0..<1_000 {
                    semaphore.withPermit {
                        inside.enter(); inside.leave()
                    }
                }
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<1_000 {
                        try await semaphore.withPermit {
                            inside.enter()
                            inside.leave()
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        threads.forEach { $0.join() }
        #expect(inside.most <= 2)
        #expect(semaphore.value == 2)
    }

    static let misuses = [
        Misuse("interlock: FIFOSemaphore.init(): -1 permits") { _ = FIFOSemaphore(permits: -1) },
        Misuse("interlock: FIFOSemaphore.init(): 268435456 permits") {
            _ = FIFOSemaphore(permits: 268_435_456)
        },
        Misuse("): -1 permits; a semaphore holds") { FIFOSemaphore(permits: 1).signal(-1) },
        Misuse("interlock: FIFOSemaphore.trySignal(0x") { _ = FIFOSemaphore(permits: 1).trySignal(-1) },
        Misuse("interlock: ilk_semaphore_signal(", "1 permits more than the 268435455 there") {
            let semaphore = FIFOSemaphore(permits: 268_435_455)
            semaphore.signal(0)
            semaphore.signal()
        },
    ]

    @Test(.serialized, .ownThreads, arguments: misuses.indices)
    func impossiblePermitsAreReported(index: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [index] in
            try await FIFOSemaphoreTests.misuses[index].program()
        }
        Self.misuses[index].expectReport(result)
    }

    @Test func itHoldsUpToItsMaximumAndASignalOfNoneDoesNothing() {
        let semaphore = FIFOSemaphore(permits: 268_435_454)
        semaphore.signal()
        semaphore.signal(0)
        #expect(semaphore.value == 268_435_455)
        #expect(semaphore.tryWait() && semaphore.value == 268_435_454)
        let empty = FIFOSemaphore(permits: 0)
        empty.signal(0)
        #expect(empty.value == 0 && !empty.tryWait())
    }

    @Test func aTryToSignalAnswersWhereThereIsNoRoom() {
        let most = 268_435_455
        let semaphore = FIFOSemaphore(permits: most - 1)
        #expect(!semaphore.trySignal(2) && !semaphore.trySignal(.max))
        #expect(semaphore.value == most - 1)
        #expect(semaphore.trySignal() && semaphore.trySignal(0) && !semaphore.trySignal())
        let waitedFor = FIFOSemaphore(permits: 0)
        let waiter = TestThread { waitedFor.wait() }
        #expect(eventually { waitedFor.value == -1 })
        #expect(!waitedFor.trySignal(most + 2) && waitedFor.value == -1)
        #expect(waitedFor.trySignal(most + 1))
        waiter.join()
        #expect(waitedFor.value == most)
    }
}

private final class Occupancy: Sendable {
    private let now = Atomic<Int>(0)
    private let peak = Atomic<Int>(0)

    var most: Int { peak.load(ordering: .relaxed) }

    func enter() { peak.max(now.add(1, ordering: .relaxed).newValue, ordering: .relaxed) }
    func leave() { now.subtract(1, ordering: .relaxed) }
}
