// SPDX-License-Identifier: Apache-2.0
//
// The bounded runner's results, functions with callbacks, permits of tasks, and waits.

import Dispatch
import Foundation
import Testing

import Interlock
// contract: BoundedRunner
@Suite(.timeLimit(.minutes(10))) struct BoundedRunnerResultTests {
    // MARK: Closures

    @Test func valuesAndErrorsAreDeliveredOnTheQueue() async {
        let (queue, key) = (GCD.serialQueue(label: "delivery"), DispatchSpecificKey<Int>())
        queue.setSpecific(key: key, value: 7)
        let runner = BoundedRunner(limit: 2)
        let (value, error) = (Promise<(Result<Int, any Error>, Int?)>(), Promise<Result<Int, any Error>>())
        runner.run(deliverOn: queue) {
            5
        } completion: {
            value.fulfil(($0, DispatchQueue.getSpecific(key: key)))
        }
        runner.run(deliverOn: queue) { () throws -> Int in
            throw JobFailure()
        } completion: {
            error.fulfil($0)
        }
        let (result, seen) = await value.take()
        #expect(throws: Never.self) { try #expect(result.get() == 5 && seen == 7) }
        let failure = await error.take()
        #expect(throws: JobFailure()) { try failure.get() }
    }

    @Test func aCancelledJobDeliversTheCancellationAndItsWorkIsFreedBefore() async {
        let (runner, goOn) = await heldRunner()
        let (freed, delivered) = (Counter(), Promise<Result<Int, any Error>>())
        let job = {
            let captured = Tracked(freed: freed)
            return runner.run(deliverOn: .global()) {
                captured.touch()
                return 1
            } completion: {
                delivered.fulfil($0)
            }
        }()
        #expect(job.cancel() && freed.value == 1)
        let result = await delivered.take()
        #expect(throws: CancellationError.self) { try result.get() }
        goOn.give()
    }

    @Test func theAsyncFormSuspendsAndThrows() async throws {
        let runner = BoundedRunner(limit: 1)
        #expect(try await runner.run { 5 } == 5)
        await #expect(throws: JobFailure()) { try await runner.run { throw JobFailure() } }
        #expect(try await runner.run(timeout: .seconds(600)) { 6 } == 6)
    }

    // runner:  [held.....................................]  (the work would be here)
    // task:             waits, cancelled: throws now
    @Test func workOfACancelledTaskNeverRunsAndIsFreedAtOnce() async throws {
        let (runner, goOn) = await heldRunner()
        let (freed, ran) = (Counter(), Counter())
        let task = {
            let captured = Tracked(freed: freed)
            return Task { [captured] in
                try await runner.run {
                    captured.touch()
                    return ran.increment()
                }
            }
        }()
        await eventually("the job is queued") { runner.queuedCount == 1 }
        task.cancel()
        #expect(runner.queuedCount == 0)
        await #expect(throws: CancellationError.self) { try await task.value }
        await eventually("the captures go while the permit is held") { freed.value == 1 }
        let cancelledBefore = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await runner.run { ran.increment() }
        }
        await #expect(throws: CancellationError.self) { try await cancelledBefore.value }
        goOn.give()
        try await runner.waitUntilIdle()
        #expect(ran.value == 0)
    }

    @Test func workThatDoesNotBeginInTimeNeverRuns() async throws {
        let (runner, goOn) = await heldRunner()
        let ran = Counter()
        #expect(try await runner.run(timeout: .milliseconds(5)) { ran.increment() } == nil)
        #expect(try await runner.run(timeout: .zero) { ran.increment() } == nil)
        #expect(runner.queuedCount == 0)
        goOn.give()
        try await runner.waitUntilIdle()
        #expect(ran.value == 0)
    }

    // MARK: Functions with a callback

    @Test func aWrappedFunctionKeepsItsPermitAndNoThread() async throws {
        let queue = GCD.serialQueue(label: "one thread")
        let runner = BoundedRunner(limit: 2, on: queue)
        let kept = VisibleMutex<[Completion<Int>]>([])
        let results = VisibleMutex<[Int]>([])
        for _ in 0..<3 {
            runner.wrap(deliverOn: .global()) { (completion: Completion<Int>) in
                kept.withLock { $0.append(completion) }
            } completion: { result in
                results.withLock { $0.append((try? result.get()) ?? -1) }
            }
        }
        await eventually("two have been started") { kept.withLock { $0.count } == 2 }
        await blocking { queue.sync {} }
        #expect(runner.runningCount == 2 && runner.queuedCount == 1)
        kept.withLock { $0[0] }.succeed(10)
        await eventually("the third has the permit") { kept.withLock { $0.count } == 3 }
        #expect(!kept.withLock { $0[0] }.succeed(11))
        kept.withLock { $0[1] }.succeed(20)
        kept.withLock { $0[2] }.succeed(30)
        try await runner.waitUntilIdle()
        await eventually("all are delivered") { results.withLock { $0.sorted() } == [10, 20, 30] }
    }

    @Test func aDroppedCallbackOrAnErrorGivesThePermitBack() async throws {
        let runner = BoundedRunner(limit: 1)
        await #expect(throws: JobAbandoned(job: "forgetful", origin: "P.swift:1")) {
            try await runner.wrap("forgetful", file: "P.swift", line: 1) { (_: Completion<Int>) in }
        }
        await #expect(throws: JobFailure()) {
            try await runner.wrap { (_: Completion<Int>) in throw JobFailure() }
        }
        let value: Int = try await runner.wrap { completion in
            DispatchQueue.global().async { completion.succeed(5) }
        }
        #expect(value == 5)
        try await runner.waitUntilIdle()
    }

    @Test func aWrappedFunctionThatIsNotStartedInTimeNeverIs() async throws {
        let (runner, goOn) = await heldRunner()
        let started = Counter()
        let start: @Sendable (Completion<Int>) -> Void = { _ in started.increment() }
        #expect(try await runner.wrap(timeout: .milliseconds(5), start) == nil)
        #expect(try await runner.wrap(timeout: .zero, start) == nil)
        #expect(runner.queuedCount == 0)
        goOn.give()
        try await runner.waitUntilIdle()
        #expect(started.value == 0)
        let value: Int? = try await runner.wrap("in time", timeout: .seconds(600)) { completion in
            DispatchQueue.global().async { completion.succeed(5) }
        }
        #expect(value == 5)
        // The limit is for the start: what was started in time is waited for.
        let (kept, timeout) = (Promise<Completion<Int>>(), Duration.milliseconds(500))
        let waiter = Task { try await runner.wrap(timeout: timeout) { kept.fulfil($0) } }
        guard await kept.wait(until: .now + timeout) == .granted else {
            print("the wait after the start is not tried: the machine did not start the function in time")
            return
        }
        let (completion, limit) = (await kept.take(), ContinuousClock.now + timeout)
        await eventually("the limit has passed") { ContinuousClock.now > limit }
        completion.succeed(6)
        #expect(try await waiter.value == 6)
    }

    @Test func aWrappedFunctionIsCancelledUntilItIsStarted() async throws {
        let (runner, goOn) = await heldRunner()
        let started = Counter()
        let delivered = Promise<Result<Int, any Error>>()
        let job = runner.wrap(deliverOn: .global()) { (completion: Completion<Int>) in
            started.increment()
        } completion: {
            delivered.fulfil($0)
        }
        #expect(job.cancel())
        let result = await delivered.take()
        #expect(throws: CancellationError.self) { try result.get() }
        goOn.give()
        try await runner.waitUntilIdle()
        #expect(started.value == 0)
    }

    // MARK: Tasks

    @Test func tasksWithPermitsCountAmongTheJobs() async throws {
        let runner = BoundedRunner(limit: 3)
        let crowd = Crowd()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<15 {
                group.addTask {
                    try await runner.withPermit {
                        crowd.enter()
                        await Task.yield()
                        crowd.leave()
                    }
                }
                runner.submit {
                    crowd.enter()
                    crowd.leave()
                }
            }
            try await group.waitForAll()
        }
        try await runner.waitUntilIdle()
        #expect(crowd.total == 30 && crowd.most <= 3)
    }

    @Test func aPermitGoesBackHoweverTheBodyEnds() async throws {
        let runner = BoundedRunner(limit: 1)
        await #expect(throws: JobFailure()) { try await runner.withPermit { throw JobFailure() } }
        #expect(try await runner.withPermit(timeout: .seconds(600)) { 5 } == 5)
        #expect(runner.runningCount == 0)
    }

    @Test func aPermitThatDoesNotComeIsNotTaken() async throws {
        let (runner, goOn) = await heldRunner()
        #expect(try await runner.withPermit(timeout: .milliseconds(5)) { 1 } == nil)
        #expect(try await runner.withPermit(timeout: .zero) { 1 } == nil)
        let task = Task { try await runner.withPermit { 1 } }
        await eventually("the task waits") { runner.queuedCount == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(runner.queuedCount == 0)
        goOn.give()
        try await runner.waitUntilIdle()
    }

    // MARK: Waiting

    @Test func waitsUntilIdleEndAfterTheLastJob() async throws {
        let (runner, goOn) = await heldRunner()
        #expect(await blocking { runner.waitUntilIdle(timeout: .milliseconds(5)) } == false)
        #expect(await blocking { runner.waitUntilIdle(timeout: .zero) } == false)
        #expect(try await runner.waitUntilIdle(timeout: .milliseconds(5)) == false)
        #expect(try await runner.waitUntilIdle(timeout: .zero) == false)
        let task = Task { try await runner.waitUntilIdle() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        goOn.give()
        await blocking { runner.waitUntilIdle() }
        #expect(runner.runningCount == 0)
        #expect(await blocking { runner.waitUntilIdle(timeout: .seconds(600)) })
        #expect(try await runner.waitUntilIdle(timeout: .seconds(600)))
    }
}
