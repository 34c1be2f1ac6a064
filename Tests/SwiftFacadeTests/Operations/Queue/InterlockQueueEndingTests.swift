// SPDX-License-Identifier: Apache-2.0
//
// Nothing that an InterlockQueue has accepted is lost: at its end, at the end of its pool, in races.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations
@testable import InterlockPool
@testable import InterlockSync
// contract: InterlockQueue, OperationQueueClosed
@Suite(.timeLimit(.minutes(10))) struct InterlockQueueEndingTests {
    let queue = InterlockQueue(name: "queue")

    // MARK: Waiting

    @Test func aWaitEndsWhenTheQueueIsEmptyAndNotBefore() async throws {
        queue.suspend()
        let job = queue.job { 1 }
        #expect(try await !queue.wait(until: .now.advanced(by: .milliseconds(1))))
        #expect(!blockQueue(queue, until: .now))
        let waiting = Task { try await queue.wait() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        let waiter = TestThread { [queue] in
            block(queue)
            #expect(job.isFinished)
        }
        queue.resume()
        waiter.join()
        #expect(try await queue.wait(until: .now.advanced(by: .seconds(60))))
        #expect(blockQueue(queue, until: .now))
    }

    @Test func shuttingDownReportsAndCancelsWhatIsLeftAndLetsNothingIn() async throws {
        let (begun, end, ran) = (Event(), Latch(count: 1), Counter())
        queue.limit = 1
        let stuck = queue.job(name: "stuck", isBlocking: true) {
            begun.happen()
            end.wait()
        }
        begun.wait()
        let own = AsyncOperation<Int>(name: "own") { ran.increment() }
        let foreign = BlockOperation { ran.increment() }
        foreign.name = "foreign"
        let job = queue.job(name: "job") { ran.increment() }
        queue.enqueue(own, foreign)
        queue.barrier(name: "barrier") { ran.increment() }
        let behind = AsyncOperation<Int>(name: "z behind") { ran.increment() }
        queue.enqueue(behind)
        let left = await queue.shutDown(within: .milliseconds(1))
        #expect(left == ["barrier", "foreign", "job", "own", "stuck", "z behind"])
        // Without the end of the one that is stuck.
        await #expect(throws: OperationCancelled(operation: "own")) { try await own.value }
        await #expect(throws: OperationCancelled(operation: "z behind")) { try await behind.value }
        await #expect(throws: OperationCancelled(operation: "job")) { try await job.value }
        #expect(eventually { foreign.isFinished })
        end.countDown()
        try await queue.wait()
        #expect(stuck.isCancelled && ran.value == 0)

        let refused = queue.job { ran.increment() }
        await #expect(throws: OperationQueueClosed(queue: "queue")) { try await refused.value }
        await #expect(throws: OperationQueueClosed(queue: "queue")) { try await refused.then { $0 }.value }
        let late = AsyncOperation<Int> { ran.increment() }
        let lateForeign = BlockOperation { ran.increment() }
        queue.enqueue(late, lateForeign)
        await #expect(throws: OperationQueueClosed(queue: "queue")) { try await late.value }
        #expect(eventually { lateForeign.isFinished && lateForeign.isCancelled })
        weak var captured: Counter?
        let barrier: Job<Void>
        do {
            let counter = Counter()
            captured = counter
            barrier = queue.barrier { _ = counter.increment() }
        }
        await #expect(throws: OperationQueueClosed(queue: "queue")) { try await barrier.value }
        #expect(captured == nil, "a refused barrier keeps what its closure held")
        #expect(await queue.shutDown(within: .seconds(60)) == [] && ran.value == 0)
    }

    @Test func aCancelledTaskGivesTheQueueItsTime() async throws {
        let (begun, end) = (Event(), Event())
        let job = queue.job(name: "slow", isBlocking: true) {
            begun.happen()
            end.wait()
            return 1
        }
        begun.wait()
        let behind = job.then { $0 + 1 }
        let ending = Task { [queue] in
            withUnsafeCurrentTask { $0?.cancel() }
            end.happen()
            return await queue.shutDown(within: .seconds(600))
        }
        #expect(await ending.value == [])
        #expect(try await behind.value == 2)
    }

    @Test func theBlockingFormsEndAsTheOthers() async {
        let end = await hold(queue, name: "slow")
        queue.barrier(name: "behind") {}
        let queue = queue
        let seen = await blocking {
            (
                queue.wait(timeout: .milliseconds(1)), queue.shutDown(within: .milliseconds(1))
            )
        }
        #expect(!seen.0 && seen.1 == ["behind", "slow"])
        end.happen()
        #expect(await blocking { queue.wait(timeout: .seconds(600)) })
    }

    @Test func theBlockingShutDownLetsNothingIn() async throws {
        let queue = queue
        #expect(await blocking { queue.shutDown(within: .zero) } == [])
        let refused = queue.job { 1 }
        await #expect(throws: OperationQueueClosed(queue: "queue")) { try await refused.value }
    }

    @Test func aWaitWithALimitGoesOnUntilTheQueueIsEmpty() async throws {
        queue.suspend()
        queue.job {}
        let waiting = Task { [queue] in try await queue.wait(timeout: .seconds(600)) }
        let stripes = queue.core.stripes
        await eventually("it waits") {
            stripes.withAll {
                (0..<QueueStripes.count).contains { stripes[$0].value.pointee.isAwaited }
            }
        }
        queue.resume()
        #expect(try await waiting.value)
    }

    // Those above refer to it, unretained.
    @Test func aJobThatAClosedQueueRefusesLastsUntilWhatItWaitedForHasEnded() async throws {
        let other = InterlockQueue(isSuspended: true)
        let above = (0..<3).map { number in other.job { number } }
        #expect(await queue.shutDown(within: .seconds(60)) == [])
        weak var refused: JobNode?
        do {
            let job = queue.job(afterAll: above) { $0.count }
            refused = job.node
            await #expect(throws: OperationQueueClosed(queue: "queue")) { try await job.value }
        }
        #expect(refused != nil)
        other.resume()
        try await other.wait()
        #expect(eventually { refused == nil })
    }

    // MARK: The pool

    @Test func workOfAClosedPoolEndsWithAnErrorThatNamesIt() async throws {
        let held = try HeldPool()
        let queue = InterlockQueue(pool: held.pool)
        let ran = Counter()
        let (job, own) = (queue.job { ran.increment() }, AsyncOperation<Int> { ran.increment() })
        let foreign = BlockOperation { ran.increment() }
        let last = queue.job { ran.increment() }
        var chain = last
        for _ in 0..<1_000 { chain = chain.then { _ in ran.increment() } }
        queue.enqueue(own, foreign)
        held.pool.closeNow()
        let late = queue.job { ran.increment() }
        for job in [job, late, chain] {
            await #expect(throws: WorkerPoolError.closed(pool: "held")) { try await job.value }
        }
        await #expect(throws: WorkerPoolError.closed(pool: "held")) { try await own.value }
        try await queue.wait()
        #expect(foreign.isFinished && foreign.isCancelled && ran.value == 0)
        held.release()
    }

    @Test func jobsBesideTheEndOfThePoolEndOnce() async throws {
        for _ in 0..<100 {
            let pool = try WorkerPool(name: "closing", threads: 1)
            let queue = InterlockQueue(pool: pool)
            let (ended, failed) = (Counter(), Counter())
            let closer = TestThread { pool.closeNow() }
            for _ in 0..<100 {
                queue.job {}.then {}.onFinish {
                    ended.increment()
                    if case .failure(let error) = $0, error as? WorkerPoolError != .closed(pool: "closing") {
                        failed.increment()
                    }
                }
            }
            closer.join()
            try await queue.wait()
            #expect(eventually { ended.value == 100 } && failed.value == 0)
        }
    }

    // MARK: Release

    @Test func aSuspendedQueueThatIsReleasedRunsWhatItAccepted() async throws {
        let (own, foreign) = (AsyncOperation<Int> { 1 }, BlockOperation {})
        InterlockQueue(isSuspended: true).enqueue(own, foreign)
        #expect(try await own.value == 1)
        #expect(eventually { foreign.isFinished })
    }

    @Test func aReleasedQueueIsFreedWithItsLastWork() async throws {
        weak var core: QueueCore?
        let freed = Counter()
        do {
            let queue = InterlockQueue(limit: 3)
            core = queue.core
            for _ in 0..<100 {
                let tracked = Tracked(freed: freed)
                queue.enqueue(AsyncOperation<Void> { withExtendedLifetime(tracked) {} })
                queue.enqueue(BlockOperation { withExtendedLifetime(tracked) {} })
            }
        }
        #expect(eventually { core == nil && freed.value == 100 })
    }

    // MARK: Races

    // cancel × the last dependency × the enqueue, for operations
    @Test func anOperationCancelledBesideItsReadinessEndsOnce() async throws {
        let ended = Counter()
        let rounds = JobRaceTests.rounds
        let operations = (0..<rounds).map { _ in (AsyncOperation<Void> {}, AsyncOperation<Void> {}) }
        for (above, below) in operations {
            below.addDependency(above)
            below.onFinish { _ in ended.increment() }
        }
        let barrier = Barrier(parties: 3)
        onThreads(3) { [queue] thread in
            for (above, below) in operations {
                barrier.wait()
                switch thread {
                case 0: queue.enqueue(below)
                case 1: above.start()
                default: below.cancel()
                }
            }
        }
        try await queue.wait()
        #expect(eventually { ended.value == rounds } && queue.count == 0)
    }

    @Test func manyOperationsOfBothKindsRunOnce() async throws {
        let (ran, count) = (Counter(), JobRaceTests.rounds / 2)
        var above: Operation?
        for number in 0..<count {
            let own = AsyncOperation<Void> { ran.increment() }
            let foreign = BlockOperation { ran.increment() }
            if number % 10 != 0, let above { own.addDependency(above) }
            if number % 10 == 5 { foreign.addDependency(own) }
            above = number % 2 == 0 ? own : foreign
            queue.enqueue(foreign, own)
        }
        try await queue.wait()
        #expect(ran.value == 2 * count)
    }
}

func blockQueue(_ queue: InterlockQueue, until deadline: ContinuousClock.Instant) -> Bool {
    queue.wait(until: deadline)
}
