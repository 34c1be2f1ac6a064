// SPDX-License-Identifier: Apache-2.0
//
// The bounded runner: its limit, its order, the threads it does not hold, cancellation and suspension.

import Dispatch
import Foundation
import Testing

import Interlock
@testable import InterlockOperations
// contract: BoundedRunner, RunnerJob
@Suite(.timeLimit(.minutes(10))) struct BoundedRunnerTests {
    // MARK: The limit and the order

    // Downloads with callbacks overlap on any machine: a thread of their own each would need more than the pool has.
    @Test func fifteenDownloadsWithThreePermitsNeverExceedThreeAndAllFinish() async throws {
        let runner = BoundedRunner(limit: 3, on: .global(qos: .utility), name: "downloads")
        #expect(runner.limit == 3 && runner.name == "downloads")
        let (crowd, done) = (Crowd(), Trace<Int>())
        let started = VisibleMutex<[Completion<Int>]>([])
        for number in 0..<15 {
            runner.wrap("download \(number)", deliverOn: .global()) { (completion: Completion<Int>) in
                crowd.enter()
                started.withLock { $0.append(completion) }
            } completion: { _ in
                done.add(number)
            }
        }
        for left in (1...15).reversed() {
            await eventually("as many as there are permits have been started") { crowd.now == min(3, left) }
            crowd.leave()
            started.withLock { $0.removeFirst() }.succeed(0)
        }
        try await runner.waitUntilIdle()
        #expect(crowd.total == 15 && crowd.most == 3)
        await eventually("all are delivered") { done.events.sorted() == Array(0..<15) }
        #expect(runner.runningCount == 0 && runner.queuedCount == 0)
    }

    @Test func asManyAsTheLimitRunAtOnce() async throws {
        let runner = BoundedRunner(limit: 2, on: DispatchQueue(label: "wide", attributes: .concurrent))
        let (first, second) = (Handshake(), Handshake())
        runner.submit {
            first.give()
            second.take()
        }
        runner.submit {
            second.give()
            first.take()
        }
        try await runner.waitUntilIdle()
    }

    // More jobs than a lane runs in a row.
    @Test func jobsBeginInTheirOrder() async throws {
        let (runner, goOn) = await heldRunner()
        let trace = Trace<Int>()
        for number in 0..<100 { runner.submit { trace.add(number) } }
        #expect(runner.queuedCount == 100 && runner.runningCount == 1)
        goOn.give()
        try await runner.waitUntilIdle()
        #expect(trace.events == Array(0..<100))
    }

    // More jobs than libdispatch makes threads, which it does one a second.
    @Test func waitingJobsHoldNoThread() async throws {
        let queue = GCD.concurrentQueue(label: "few threads")
        let (runner, goOn) = await heldRunner(on: queue)
        for _ in 0..<600 { runner.submit {} }
        let other = Handshake()
        queue.async { other.give() }
        await other.taken()
        goOn.give()
        try await runner.waitUntilIdle()
    }

    @Test func otherWorkOfTheQueueGetsItsTurn() async throws {
        let queue = GCD.serialQueue(label: "shared")
        let (runner, goOn) = await heldRunner(on: queue)
        let trace = Trace<Int>()
        for number in 0..<100 { runner.submit { trace.add(number) } }
        queue.async { trace.add(-1) }
        goOn.give()
        try await runner.waitUntilIdle()
        await blocking { queue.sync {} }
        let turn = trace.events.firstIndex(of: -1)
        #expect(turn.map { $0 <= 32 } == true, "after \(turn ?? -1) jobs")
    }

    @Test func jobsRunOnTheQueue() async throws {
        let (queue, key) = (GCD.serialQueue(label: "own"), DispatchSpecificKey<String>())
        queue.setSpecific(key: key, value: "own")
        let runner = BoundedRunner(limit: 4, on: queue)
        #expect(try await runner.run { DispatchQueue.getSpecific(key: key) } == "own")
    }

    @Test func jobsSubmittedByManyThreadsAllRun() async throws {
        let runner = BoundedRunner(limit: 3, on: .global(qos: .utility))
        let (crowd, ran) = (Crowd(), Counter())
        let rounds = repetitions(5_000, underThreadSanitizer: 500)
        await blocking {
            onThreads(4) { _ in
                for _ in 0..<rounds {
                    runner.submit {
                        crowd.enter()
                        ran.increment()
                        crowd.leave()
                    }
                }
            }
            runner.waitUntilIdle()
        }
        #expect(ran.value == 4 * rounds && crowd.most <= 3)
    }

    // MARK: Cancellation

    @Test func cancellingAQueuedJobFreesItsCapturesAtOnce() async throws {
        let (runner, goOn) = await heldRunner()
        let (freed, ran, last) = (Counter(), Counter(), Counter())
        let job = {
            let captured = Tracked(freed: freed)
            return runner.submit {
                captured.touch()
                ran.increment()
            }
        }()
        runner.submit { last.increment() }
        #expect(job.cancel() && freed.value == 1, "freed while the permit is held")
        #expect(!job.cancel() && runner.queuedCount == 1)
        #expect(try await job.finished() == false)
        goOn.give()
        try await runner.waitUntilIdle()
        #expect(ran.value == 0 && last.value == 1)
    }

    @Test func aJobThatHasBegunIsNotCancelled() async throws {
        let runner = BoundedRunner(limit: 1)
        let (begun, goOn, freed) = (Handshake(), Handshake(), Counter())
        let job = {
            let captured = Tracked(freed: freed)
            return runner.submit {
                captured.touch()
                begun.give()
                goOn.take()
            }
        }()
        await begun.taken()
        #expect(!job.cancel())
        #expect(try await job.finished(timeout: .milliseconds(2)) == nil)
        goOn.give()
        #expect(try await job.finished() && freed.value == 1)
        #expect(try await job.finished(timeout: .zero) == true)
    }

    @Test func aCancellationInARaceWithTheBeginningDecidesOnce() async throws {
        let runner = BoundedRunner(limit: 1, on: .global(qos: .utility))
        for _ in 0..<repetitions(2_000, underThreadSanitizer: 200) {
            let ran = Counter()
            let job = runner.submit { ran.increment() }
            let prevented = job.cancel()
            #expect(try await job.finished() != prevented)
            #expect(ran.value == (prevented ? 0 : 1))
        }
        try await runner.waitUntilIdle()
    }

    @Test func aCancelledWaitLeavesTheJobAlone() async throws {
        let (runner, goOn) = await heldRunner()
        let job = runner.submit {}
        let waiter = Task { try await job.finished() }
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        goOn.give()
        #expect(try await job.finished())
    }

    // MARK: Suspension

    @Test func aSuspendedRunnerBeginsNothing() async throws {
        let (runner, goOn) = await heldRunner()
        let ran = Counter()
        runner.suspend()
        runner.suspend()
        runner.submit { ran.increment() }
        goOn.give()
        await eventually("what runs goes on") { runner.runningCount == 0 }
        runner.submit { ran.increment() }
        #expect(runner.isSuspended && runner.queuedCount == 2 && ran.value == 0)
        #expect(try await !runner.waitUntilIdle(timeout: .milliseconds(2)))
        runner.resume()
        try await runner.waitUntilIdle()
        #expect(!runner.isSuspended && ran.value == 2)
    }

    @Test func resumingBeginsAsManyAsTheLimit() async throws {
        let runner = BoundedRunner(limit: 2, on: DispatchQueue(label: "wide", attributes: .concurrent))
        let (begun, goOn) = (Handshake(), Handshake())
        runner.suspend()
        for _ in 0..<3 {
            runner.submit {
                begun.give()
                goOn.take()
            }
        }
        runner.resume()
        await begun.taken(2)
        #expect(runner.runningCount == 2 && runner.queuedCount == 1)
        goOn.give(3)
        try await runner.waitUntilIdle()
    }

    /// The first takes its permit on the thread that resumes, and there submits the last.
    @Test func whatIsSubmittedWhileARunnerIsResumedComesLast() async throws {
        let runner = BoundedRunner(limit: 2, on: GCD.serialQueue(label: "order"))
        let trace = Trace<String>()
        runner.suspend()
        let first = RunnerJob(
            runner.core,
            .permit {
                trace.add("first")
                runner.submit { trace.add("last") }
            }
        )
        runner.core.submit(first)
        runner.submit { trace.add("second") }
        runner.resume()
        await eventually("all have run") { trace.events.count == 3 }
        #expect(trace.events == ["first", "second", "last"])
        runner.core.end(first)
        try await runner.waitUntilIdle()
    }

    @Test func aRunnerThatIsReleasedRunsItsJobs() async {
        let ran = Handshake()
        do {
            let runner = BoundedRunner(limit: 1)
            runner.suspend()
            for _ in 0..<3 { runner.submit { ran.give() } }
        }
        await ran.taken(3)
    }

    @Test func cancellingTheLastJobOfASuspendedRunnerMakesItIdle() async throws {
        let runner = BoundedRunner(limit: 1)
        runner.suspend()
        let job = runner.submit {}
        let waiter = Task { try await runner.waitUntilIdle() }
        job.cancel()
        try await waiter.value
    }

    @Test func nothingIsLeftOfRunnersAndJobs() async throws {
        let freed = Counter()
        for round in 0..<10 {
            let runner = BoundedRunner(limit: 2)
            if round % 2 == 0 { runner.suspend() }
            for _ in 0..<10 {
                let captured = Tracked(freed: freed)
                let job = runner.submit { captured.touch() }
                if round % 3 == 0 { job.cancel() }
            }
        }
        await eventually("every closure is freed") { freed.value == 100 }
    }
}
