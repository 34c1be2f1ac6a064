// SPDX-License-Identifier: Apache-2.0
//
// Time-out: what it ends, and how. PolicyRaceTests.swift has it in a race with the end and a cancellation.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations
// contract: OperationTimedOut, AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct TimeOutTests {
    let queue = OperationQueue()
    let clock = ManualClock()
    let error = OperationTimedOut(operation: "slow", limit: .seconds(3))

    // The limit's clock is asked before the work begins.
    @Test func aFunctionIsInformedAndTheOperationEndsAtOnce() async throws {
        let (held, informed) = (Held("slow"), Counter())
        let operation = held.operation
        operation.timeOut(after: .seconds(3), clock: clock)
        let events = Trace<OperationEvent>()
        operation.onChange { events.add($0) }
        queue.addOperation(operation)
        await clock.untilSleeping()
        await held.begun.taken()
        held.completion?.onCancel { informed.increment() }
        clock.advance(by: .seconds(2))
        #expect(!operation.isFinished && !operation.isCancelled)
        clock.advance(by: .seconds(1))
        await #expect(throws: error) { try await operation.value }
        #expect(operation.isCancelled && informed.value == 1)
        #expect(held.completion?.succeed(1) == false)
        await eventually("the end is announced") { events.events.last == .finished }
        #expect(events.events == [.executing, .cancelled, .finished])
        #expect("\(error)" == "the work of operation slow had not ended after 3.0 seconds")
    }

    @Test(arguments: [Duration.zero, .seconds(-5)]) func withAPassedLimitTheWorkNeverRuns(
        limit: Duration
    )
        async
    {
        let (ran, informed) = (Counter(), Counter())
        for number in 0..<200 {
            let operation =
                number % 2 == 0
                ? AsyncOperation<Int>(name: "slow") { ran.increment() }
                : AsyncOperation<Int>(name: "slow") { (completion: Completion<Int>) in
                    completion.succeed(ran.increment())
                }
            operation.timeOut(after: limit)
            operation.onCancel { informed.increment() }
            operation.start()
            operation.onCancel { informed.increment() }
            #expect(operation.isCancelled && operation.isFinished)
            await #expect(throws: OperationTimedOut(operation: "slow", limit: limit)) {
                try await operation.value
            }
        }
        // What had not begun is not informed.
        #expect(ran.value == 0 && informed.value == 0)
    }

    @Test func aClosureIsWaitedForAndItsValueIsNotUsed() async throws {
        let held = HeldOperation("slow")
        let operation = held.operation.timeOut(after: .seconds(3), clock: clock)
        queue.addOperation(operation)
        await held.begun.taken()
        await clock.advanceSleeper(by: .seconds(3))
        await eventually("the work is informed") { operation.isCancelled }
        #expect(!operation.isFinished)
        held.goOn.give()
        await #expect(throws: error) { try await operation.value }
    }

    @Test(arguments: [false, true]) func aTaskLearnsOfItAndItsAnswerIsNotUsed(throwsOn: Bool) async throws {
        let operation = AsyncOperation<Int>(name: "slow") { () async throws -> Int in
            await untilCancelled()
            if throwsOn { throw JobFailure() }
            return 1
        }
        operation.timeOut(after: .seconds(3), clock: clock)
        queue.addOperation(operation)
        await clock.advanceSleeper(by: .seconds(3))
        await #expect(throws: error) { try await operation.value }
    }

    @Test func aSubclassIsInformedLikeOfACancellation() async throws {
        // Operation is; the subclass adds nothing.
        final class Slow: AsyncOperation<Int>, @unchecked Sendable {
            override func execute() {}
            override func executionCancelled() { finish(.failure(cancellationError)) }
        }
        let operation = Slow()
        operation.name = "slow"
        operation.timeOut(after: .seconds(3), clock: clock)
        queue.addOperation(operation)
        await clock.advanceSleeper(by: .seconds(3))
        await #expect(throws: error) { try await operation.value }
    }

    @Test func whatEndsInTimeStopsTheTimer() async throws {
        let held = Held()
        let operation = held.operation
        operation.timeOut(after: .seconds(3), clock: clock)
        queue.addOperation(operation)
        await clock.untilSleeping()
        await held.begun.taken()
        held.end(4)
        await clock.untilSleeping(0)
        clock.advance(by: .seconds(3))
        #expect(try await operation.value == 4)
        #expect(!operation.isCancelled)
    }

    @Test func waitsBeforeTheWorkAreNotLimited() async throws {
        let delays = ManualClock()
        let operation = AsyncOperation<Int>(name: "slow") { 1 }
            .delay(by: .seconds(100), clock: delays)
            .timeOut(after: .seconds(3), clock: clock)
        queue.addOperation(operation)
        await delays.untilSleeping()
        clock.advance(by: .seconds(50))
        #expect(clock.asked.isEmpty && !operation.isFinished)
        delays.advance(by: .seconds(100))
        #expect(try await operation.value == 1)
    }

    @Test func aCancellationBeforeTheLimitDecides() async throws {
        let held = HeldOperation("slow")
        let operation = held.operation.timeOut(after: .seconds(3), clock: clock)
        queue.addOperation(operation)
        await held.begun.taken()
        operation.cancel()
        // As the alarm does, but before the work ends.
        operation.timeLimitPassed(.seconds(3))
        held.goOn.give()
        await #expect(throws: OperationCancelled(operation: "slow")) { try await operation.value }
    }

    @Test func onTheSystemsClockALimitPasses() async throws {
        for clock in [ContinuousClock(), SuspendingClock()] as [any Clock<Duration>] {
            let kept = VisibleMutex<Completion<Int>?>(nil)
            let operation = AsyncOperation<Int> { completion in kept.withLock { $0 = completion } }
            operation.timeOut(after: .milliseconds(10), clock: clock)
            queue.addOperation(operation)
            await #expect(throws: OperationTimedOut.self) { try await operation.value }
        }
        let passed = AsyncOperation<Int>(name: "slow") { (completion: Completion<Int>) in
            completion.onCancel { _ = completion }
        }
        queue.addOperation(passed.timeOut(after: .seconds(-1)))
        await #expect(throws: OperationTimedOut.self) { try await passed.value }
    }
}
