// SPDX-License-Identifier: Apache-2.0
//
// The path between the start of an operation and its work: what it waits for, what ends it there, and where it goes on.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations
// contract: WaitReason, AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct OperationAdmissionTests {
    let queue = OperationQueue()
    let clock = ManualClock()

    // start → delay → condition → category → work
    @Test func admissionsComeOneAfterTheOtherAndEachIsNamed() async throws {
        let category = ExclusionCategory("admissions in order")
        let (holder, asked, goOn) = (Held("holder", category), Handshake(), Promise<Void>())
        queue.addOperation(holder.operation)
        await holder.begun.taken()
        let operation = AsyncOperation<Int>(name: "admitted") { 7 }
            .delay(by: .seconds(5), clock: clock)
            .addCondition(
                OperationCondition("slow") { _ in
                    asked.give()
                    _ = await goOn.wait()
                }
            )
            .excludes(category)
        #expect(admission(of: operation) == nil)
        queue.addOperation(operation)
        await clock.untilSleeping()
        #expect(admission(of: operation) == .delay)
        #expect(operation.isExecuting && operation.state == .executing)
        clock.advance(by: .seconds(5))
        await asked.taken()
        #expect(admission(of: operation) == .condition("slow"))
        goOn.fulfil(())
        let waits = WaitReason.exclusion(category: category.name, holder: "holder")
        await eventually("it waits for the category") { [self] in admission(of: operation) == waits }
        holder.end()
        #expect(try await operation.value == 7)
        #expect(admission(of: operation) == nil)
    }

    @Test func aCancellationEndsADelayAtOnceAndFreesItsTimer() async throws {
        let ran = Counter()
        let operation = AsyncOperation<Int>(name: "delayed") { ran.increment() }
            .delay(by: .seconds(5), clock: clock)
        queue.addOperation(operation)
        await clock.untilSleeping()
        operation.cancel()
        #expect(operation.isFinished && operation.isCancelled)
        #expect(throws: OperationCancelled(operation: "delayed")) { try operation.result?.get() }
        await clock.untilSleeping(0)
        clock.advance(by: .seconds(10))
        #expect(ran.value == 0)
    }

    @Test func aDelayOnTheSystemsClockIsNotEarlyAndHoldsNoThread() async throws {
        let begun = ContinuousClock.now
        let operations = (0..<64).map { number in
            AsyncOperation<Int> { number }.delay(by: .milliseconds(20))
        }
        for operation in operations { queue.addOperation(operation) }
        for (number, operation) in operations.enumerated() { #expect(try await operation.value == number) }
        #expect(ContinuousClock.now - begun >= .milliseconds(20))
        let far = AsyncOperation<Int>(name: "far") { 1 }.delay(by: .seconds(1 << 60))
        queue.addOperation(far)
        await eventually("it waits") { [self] in admission(of: far) == .delay }
        far.cancel()
        #expect(far.isFinished)
    }

    // A serial queue: the delayed operation keeps its place, the next one comes after it.
    @Test func theOperationKeepsItsPlaceInItsQueueMeanwhile() async throws {
        queue.maxConcurrentOperationCount = 1
        let trace = Trace<String>()
        let first = AsyncOperation<Void> { trace.add("first") }.delay(by: .seconds(1), clock: clock)
        let second = AsyncOperation<Void> { trace.add("second") }
        queue.enqueue(first, second)
        await clock.untilSleeping()
        #expect(second.state == .ready && trace.events.isEmpty)
        clock.advance(by: .seconds(1))
        _ = try await second.value
        #expect(trace.events == ["first", "second"])
    }

    // What the step made runs in the step's place, which it finds after a wait too.
    @Test func afterAWaitTheWorkFindsTheQueueItRunsIn() async throws {
        queue.maxConcurrentOperationCount = 1
        let step = AsyncOperation<Int> { 1 }.enqueued(on: queue)
            .flatMap(name: "step", on: queue) { value in AsyncOperation<Int> { value + 1 } }
            .delay(by: .seconds(1), clock: clock)
            .enqueued(on: queue)
        await clock.advanceSleeper(by: .seconds(1))
        let outcome = try await step.wait(timeout: .seconds(Handshake.limit))
        #expect(try outcome?.get() == 2)
    }

    @Test func afterAWaitWorkOfTheMainQueueRunsOnTheMainQueue() async throws {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        let operation = AsyncOperation<Bool> { DispatchQueue.getSpecific(key: key) == true }
            .delay(by: .milliseconds(1))
        OperationQueue.main.addOperation(operation)
        #expect(try await operation.value)
    }

    @Test func afterAWaitWorkInThePlaceOfAStepOfTheMainQueueRunsOnTheMainQueue() async throws {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        let step = AsyncOperation<Int> { 1 }.enqueued(on: .main).flatMap(on: .main) { _ in
            AsyncOperation<Bool> { DispatchQueue.getSpecific(key: key) == true }.delay(by: .milliseconds(1))
        }
        OperationQueue.main.addOperation(step)
        #expect(try await step.value)
    }

    /// The main thread, which waits, does not drain its queue.
    @Test func afterAWaitAChildOfAGroupThatTheMainThreadStartsRuns() async {
        let result = await MainActor.run {
            let group = GroupOperation<Int>(name: "by hand")
            try? group.add(AsyncOperation<Int> { 3 }.delay(by: .milliseconds(1)))
            group.start()
            return group.wait(timeout: .seconds(20))
        }
        #expect((try? result?.get()) == [3])
    }

    @Test func withoutAdmissionsTheWorkRunsInTheCallOfStart() throws {
        let held = AsyncOperation<Int> { 1 }.excludes(ExclusionCategory("free at the start"))
            .delay(by: .zero)
            .timeOut(after: .seconds(3600))
        held.start()
        #expect(try held.result?.get() == 1, "a free category and no delay need no other thread")
    }

    @Test func anEndBeforeTheWorkIsTheResult() async throws {
        let ran = Counter()
        let operation = AsyncOperation<Int> { ran.increment() }.delay(by: .seconds(1), clock: clock)
        queue.addOperation(operation)
        await clock.untilSleeping()
        #expect(operation.finish(.success(3)) && operation.isFinished)
        #expect(try await operation.value == 3)
        await clock.untilSleeping(0)
        #expect(ran.value == 0)
    }

    @Test func tasksHaveThePriorityOfTheOperationsQuality() async throws {
        let operation = AsyncOperation<TaskPriority?> { () async in
            await Task.yield()
            return Task.basePriority
        }
        operation.qualityOfService = .background
        queue.addOperation(operation)
        #expect(try await operation.value == .background)
    }

    @Test func anOperationDroppedInItsDelayIsFreedWhenItHasRun() async throws {
        let freed = Counter()
        do {
            let captured = Tracked(freed: freed)
            AsyncOperation<Void> { captured.touch() }.delay(by: .seconds(1), clock: clock).start()
        }
        await clock.untilSleeping()
        #expect(freed.value == 0)
        clock.advance(by: .seconds(1))
        await eventually("it has run and is gone") { freed.value == 1 }
    }

    func admission<Output>(of operation: AsyncOperation<Output>) -> WaitReason? {
        operation.record.withLock { $0.admission }
    }
}
