// SPDX-License-Identifier: Apache-2.0
//
// Time-out: what it ends, how, and in a race with the end and a cancellation.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations
@testable import InterlockPool
@testable import InterlockSync
// contract: OperationTimedOut, AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct TimeOutTests {
    let queue = OperationQueue()
    let clock = ManualClock()
    let error = OperationTimedOut(operation: "slow", limit: .seconds(3))

    // The limit's clock is asked before the work begins.
    @Test func aFunctionIsToldAndTheOperationEndsAtOnce() async throws {
        let kept = VisibleMutex<Completion<Int>?>(nil)
        let told = Counter()
        let operation = AsyncOperation<Int>(name: "slow") { completion in
            completion.onCancel { told.increment() }
            kept.withLock { $0 = completion }
        }
        operation.timeOut(after: .seconds(3), clock: clock)
        let events = Trace<OperationEvent>()
        operation.onChange { events.add($0) }
        queue.addOperation(operation)
        await clock.untilSleeping()
        await eventually("the work has begun") { kept.withLock { $0 != nil } }
        clock.advance(by: .seconds(2))
        #expect(!operation.isFinished && !operation.isCancelled)
        clock.advance(by: .seconds(1))
        await #expect(throws: error) { try await operation.value }
        #expect(operation.isCancelled && told.value == 1)
        let late = kept.withLock { $0.take() }
        #expect(late?.succeed(1) == false)
        await eventually("the end is told") { events.events.last == .finished }
        #expect(events.events == [.executing, .cancelled, .finished])
        #expect("\(error)" == "the work of operation slow had not ended after 3.0 seconds")
    }

    @Test(arguments: [Duration.zero, .seconds(-5)]) func withAPassedLimitTheWorkNeverRuns(
        limit: Duration
    )
        async
    {
        let (ran, told) = (Counter(), Counter())
        for number in 0..<200 {
            let operation =
                number % 2 == 0
                ? AsyncOperation<Int>(name: "slow") { ran.increment() }
                : AsyncOperation<Int>(name: "slow") { (completion: Completion<Int>) in
                    completion.succeed(ran.increment())
                }
            operation.timeOut(after: limit)
            operation.onCancel { told.increment() }
            operation.start()
            operation.onCancel { told.increment() }
            #expect(operation.isCancelled && operation.isFinished)
            await #expect(throws: OperationTimedOut(operation: "slow", limit: limit)) {
                try await operation.value
            }
        }
        // What had not begun is not told to stop.
        #expect(ran.value == 0 && told.value == 0)
    }

    @Test func aClosureIsWaitedForAndItsValueIsNotUsed() async throws {
        let (begun, goOn) = (Handshake(), Handshake())
        let operation = AsyncOperation<Int>(name: "slow") {
            begun.give()
            goOn.take()
            return 1
        }
        operation.timeOut(after: .seconds(3), clock: clock)
        queue.addOperation(operation)
        await begun.taken()
        await clock.advanceSleeper(by: .seconds(3))
        await eventually("the work is told") { operation.isCancelled }
        #expect(!operation.isFinished)
        goOn.give()
        await #expect(throws: error) { try await operation.value }
    }

    @Test(arguments: [false, true]) func aTaskIsToldAndWhatItAnswersIsNotUsed(throwsOn: Bool) async throws {
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

    @Test func aSubclassIsToldLikeOfACancellation() async throws {
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
        let kept = VisibleMutex<Completion<Int>?>(nil)
        let operation = AsyncOperation<Int> { completion in kept.withLock { $0 = completion } }
        operation.timeOut(after: .seconds(3), clock: clock)
        queue.addOperation(operation)
        await clock.untilSleeping()
        await eventually("the work has begun") { kept.withLock { $0 != nil } }
        kept.withLock { $0 }?.succeed(4)
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
        let begun = Handshake()
        let goOn = Handshake()
        let operation = AsyncOperation<Int>(name: "slow") {
            begun.give()
            goOn.take()
            return 1
        }
        operation.timeOut(after: .seconds(3), clock: clock)
        queue.addOperation(operation)
        await begun.taken()
        operation.cancel()
        // As the alarm does, but before the work ends.
        operation.timeLimitPassed(.seconds(3))
        goOn.give()
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

    /// The limit passes while two threads finish and cancel.
    @Test func theLimitRacesWithTheEndAndACancellation() async throws {
        let rounds = 10_000
        let (finished, cancelled, timedOut) = (Counter(), Counter(), Counter())
        let ends = Counter()
        let category = ExclusionCategory("raced by limits", limit: 4)
        for round in stride(from: 0, to: rounds, by: 100) {
            let batch = (0..<100).map { _ in Held("raced", category) }
            for held in batch {
                held.operation.timeOut(after: .seconds(3), clock: clock)
                held.operation.onFinish { _ in ends.increment() }
            }
            queue.maxConcurrentOperationCount = 100
            for held in batch { queue.addOperation(held.operation) }
            async let ending: Void = blocking { for held in batch.shuffled() { held.end() } }
            async let cancelling: Void = blocking {
                for held in batch.reversed() where Bool.random() { held.operation.cancel() }
            }
            await eventually("all have ended") { [clock] in
                clock.advance(by: .seconds(3))
                return batch.allSatisfy(\.operation.isFinished)
            }
            _ = await (ending, cancelling)
            for held in batch {
                switch try await held.operation.wait() {
                case .success: finished.increment()
                case .failure(let error as OperationTimedOut):
                    #expect(error.operation == "raced" && held.operation.isCancelled)
                    timedOut.increment()
                case .failure(let error):
                    #expect(error is OperationCancelled, "round \(round)")
                    cancelled.increment()
                }
            }
        }
        await eventually("every end is told") { ends.value == rounds }
        let counts = [finished.value, cancelled.value, timedOut.value]
        #expect(counts.reduce(0, +) == rounds && counts.allSatisfy { $0 > 0 }, "\(counts)")
        #expect(category.holders.isEmpty && category.waiters.isEmpty)
    }
}
