// SPDX-License-Identifier: Apache-2.0
//
// Attempts with a limit: what the limit ends, what begins after it, and whose results count.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations
// contract: OperationTimedOut, RetryPolicy, AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct AttemptLimitTests {
    let clock = ManualClock()
    let error = OperationTimedOut(operation: "tried", limit: .seconds(3))

    private func policy(
        attempts: Int = 3,
        pause: Duration = .seconds(1),
        where isWorthRetrying: @escaping @Sendable (any Error) -> Bool = { _ in true }
    ) -> RetryPolicy {
        RetryPolicy(
            attempts: attempts,
            backoff: .constant(pause),
            attemptLimit: .seconds(3),
            clock: clock,
            where: isWorthRetrying
        )
    }

    private func untilLimitsPassed(_ count: Int, of operation: AsyncOperation<Int>) async {
        await eventually("the limit is reached") {
            operation.record.withLock { $0.held.policies?.limitsPassed ?? count } >= count
        }
    }

    /// What the attempts of a function have been given, and which were informed.
    private final class Function: Sendable {
        let completions = Trace<Completion<Int>>()
        let informed = Trace<Int>()
        let begun = Handshake()

        func begin(_ completion: Completion<Int>) {
            completions.add(completion)
            let number = completions.events.count
            completion.onCancel { [informed] in informed.add(number) }
            begun.give()
        }
    }

    @Test(arguments: QueueKind.all) func aFunctionIsInformedAndTheNextAttemptBeginsAfterThePause(
        queue: QueueKind
    ) async throws {
        let (queue, function) = (queue.make(1), Function())
        let operation = AsyncOperation<Int>(name: "tried", retry: policy()) { function.begin($0) }
        queue.enqueue(operation)
        await function.begun.taken()
        await clock.advanceSleeper(by: .seconds(2))
        #expect(function.informed.events.isEmpty)
        clock.advance(by: .seconds(1))
        await eventually("it pauses") { [clock] in clock.asked == [.seconds(3), .seconds(1)] }
        #expect(function.informed.events == [1])
        #expect(operation.explainWaiting()["tried"]?.reasons == [.delay])
        #expect(function.completions.events[0].isCancelled && !operation.isCancelled)
        #expect(!function.completions.events[0].succeed(1), "in the pause")
        await clock.advanceSleeper(by: .seconds(1))
        await function.begun.taken()
        // Its limit is asked for beside it.
        await clock.untilSleeping(1)
        #expect(!function.completions.events[0].fail(JobFailure()), "beside the second attempt")
        #expect(!function.completions.events[1].isCancelled && !operation.isFinished)
        #expect(function.completions.events[1].succeed(2))
        #expect(try await operation.value == 2)
        #expect(clock.asked == [.seconds(3), .seconds(1), .seconds(3)])
        await clock.untilSleeping(0)
        #expect(!operation.isCancelled && function.informed.events == [1])
    }

    @Test(arguments: QueueKind.all) func aClosureIsWaitedForAndItsValueIsNotUsed(queue: QueueKind)
        async throws
    {
        let (begun, goOn, crowd) = (Handshake(), Handshake(), Crowd())
        let operation = AsyncOperation<Int>(name: "tried", retry: policy()) { () throws -> Int in
            crowd.enter()
            defer { crowd.leave() }
            let number = crowd.total
            begun.give()
            if number == 1 { goOn.takeOnWorker() }
            return number
        }
        let queue = queue.make(1)
        queue.enqueue(operation)
        await begun.taken()
        await clock.advanceSleeper(by: .seconds(3))
        await untilLimitsPassed(1, of: operation)
        await letOthersRun()
        #expect(
            clock.asked == [.seconds(3)] && crowd.total == 1,
            "neither pause nor attempt begins beside it"
        )
        goOn.give()
        await clock.advanceSleeper(by: .seconds(1))
        #expect(try await operation.value == 2)
        #expect(crowd.most == 1 && !operation.isCancelled)
    }

    @Test(arguments: QueueKind.all, [true, false]) func aTaskIsCancelledAndItsAnswerIsNotUsed(
        queue: QueueKind,
        throwsOn: Bool
    ) async throws {
        let tries = Counter()
        let operation = AsyncOperation<Int>(name: "tried", retry: policy()) { () async throws -> Int in
            if tries.increment() == 1 {
                await untilCancelled()
                if throwsOn { throw JobFailure() }
                return 1
            }
            #expect(!Task.isCancelled)
            return 2
        }
        let queue = queue.make(1)
        queue.enqueue(operation)
        await clock.advanceSleeper(by: .seconds(3))
        await eventually("it pauses") { [clock] in clock.asked.count == 2 }
        await clock.advanceSleeper(by: .seconds(1))
        #expect(try await operation.value == 2)
    }

    @Test(arguments: RetryTests.Kind.allCases) func theErrorOfTheLastAttemptIsTheResult(
        kind: RetryTests.Kind
    ) async throws {
        let seen = Trace<OperationTimedOut?>()
        let policy = policy(attempts: 2, pause: .zero) {
            seen.add($0 as? OperationTimedOut)
            return true
        }
        let released = Handshake()
        let operation: AsyncOperation<Int> =
            switch kind {
            case .handler: AsyncOperation(name: "tried", retry: policy) { (_: Completion<Int>) in }
            case .block:
                AsyncOperation(name: "tried", retry: policy) {
                    released.takeOnWorker()
                    return 1
                }
            case .task:
                AsyncOperation(name: "tried", retry: policy) { () async -> Int in
                    await untilCancelled()
                    return 1
                }
            }
        // A function that keeps its completion.
        let kept = Trace<Completion<Int>>()
        let keeping = AsyncOperation<Int>(name: "tried", retry: policy) { kept.add($0) }
        let tested = kind == .handler ? keeping : operation
        let queue = OperationQueue()
        queue.addOperation(tested)
        for number in 1...2 {
            await clock.advanceSleeper(by: .seconds(3))
            await untilLimitsPassed(number, of: tested)
            released.give()
        }
        await #expect(throws: error) { try await tested.value }
        #expect(seen.events == [error] && !tested.isCancelled)
    }

    @Test func aLimitThatIsNotWorthAnotherAttemptEndsTheOperation() async throws {
        let function = Function()
        let policy = policy { !($0 is OperationTimedOut) }
        let operation = AsyncOperation<Int>(name: "tried", retry: policy) { function.begin($0) }
        OperationQueue().addOperation(operation)
        await clock.advanceSleeper(by: .seconds(3))
        await #expect(throws: error) { try await operation.value }
        #expect(function.completions.events.count == 1)
    }

    @Test(arguments: RetryTests.Kind.allCases) func anAttemptThatEndsInTimeStopsItsTimer(
        kind: RetryTests.Kind
    ) async throws {
        let tries = Counter()
        let operation = RetryTests().make(kind, policy()) {
            if tries.increment() == 1 { throw JobFailure() }
            return 2
        }
        OperationQueue().addOperation(operation)
        await eventually("it pauses") { [clock] in clock.asked.last == .seconds(1) }
        await clock.untilSleeping(1)
        clock.advance(by: .seconds(1))
        #expect(try await operation.value == 2)
        await clock.untilSleeping(0)
    }

    // A handler that comes after the limit still stops the work.
    @Test func aHandlerThatComesAfterTheLimitRunsAtOnce() async throws {
        let (begun, goOn, informed) = (Handshake(), Handshake(), Counter())
        let operation = AsyncOperation<Int>(name: "tried", retry: policy(attempts: 1)) { completion in
            begun.give()
            goOn.takeOnWorker()
            completion.onCancel { informed.increment() }
        }
        OperationQueue().addOperation(operation)
        await begun.taken()
        await clock.advanceSleeper(by: .seconds(3))
        await #expect(throws: error) { try await operation.value }
        goOn.give()
        await eventually("it is informed") { informed.value == 1 }
    }

    @Test(arguments: QueueKind.all) func withoutAPauseTheNextAttemptBeginsInTheOperationsPlace(
        queue: QueueKind
    ) async throws {
        let threads = Trace<String>()
        let kept = Trace<Completion<Int>>()
        let place = OperationQueue()
        let operation = AsyncOperation<Int>(name: "tried", retry: policy(pause: .zero)) { completion in
            kept.add(completion)
            threads.add(threadName())
            if kept.events.count == 2 {
                completion.succeed(StepPlace.currentOuterQueue === place ? 1 : 0)
            }
        }
        let own = InterlockQueue(pool: try WorkerPool(name: "attempts", threads: 1))
        if queue.description == "OperationQueue" {
            place.addOperation(operation)
        } else {
            own.enqueue(operation)
        }
        await clock.advanceSleeper(by: .seconds(3))
        let value = try await operation.value
        if queue.description == "OperationQueue" {
            #expect(value == 1)
        } else {
            #expect(threads.events.allSatisfy { $0.hasPrefix("attempts") }, "\(threads.events)")
        }
    }

    // MARK: Beside cancellation and the limit of the whole

    @Test(arguments: RetryTests.Kind.allCases) func aCancellationAfterTheLimitIsTheResult(
        kind: RetryTests.Kind
    ) async throws {
        let (begun, goOn, kept) = (Handshake(), Handshake(), Trace<Completion<Int>>())
        let operation: AsyncOperation<Int> =
            switch kind {
            case .handler:
                AsyncOperation(name: "tried", retry: policy()) { completion in
                    kept.add(completion)
                    begun.give()
                }
            case .block:
                AsyncOperation(name: "tried", retry: policy()) {
                    begun.give()
                    goOn.takeOnWorker()
                    return 1
                }
            case .task:
                AsyncOperation(name: "tried", retry: policy()) { () async -> Int in
                    begun.give()
                    await untilCancelled()
                    await goOn.taken()
                    return 1
                }
            }
        OperationQueue().addOperation(operation)
        await begun.taken()
        await clock.advanceSleeper(by: .seconds(3))
        if kind == .handler { await eventually("it pauses") { [clock] in clock.asked.last == .seconds(1) } }
        await untilLimitsPassed(1, of: operation)
        operation.cancel()
        goOn.give()
        await #expect(throws: OperationCancelled(operation: "tried")) { try await operation.value }
        await clock.untilSleeping(0)
    }

    @Test func theLimitOfTheWholeEndsAnAttemptAndItsTimer() async throws {
        let (limits, function) = (ManualClock(), Function())
        let operation = AsyncOperation<Int>(name: "tried", retry: policy()) { function.begin($0) }
            .timeOut(after: .seconds(10), clock: limits)
        OperationQueue().addOperation(operation)
        await clock.untilSleeping()
        await limits.advanceSleeper(by: .seconds(10))
        await #expect(throws: OperationTimedOut(operation: "tried", limit: .seconds(10))) {
            try await operation.value
        }
        #expect(operation.isCancelled)
        // The function may register its handler after the limit.
        await eventually("it is informed") { function.informed.events == [1] }
        await clock.untilSleeping(0)
    }

    @Test(arguments: ["cancelled", "finished", "timed out"]) func whatTheAttemptsHoldIsFreed(how: String)
        async throws
    {
        let freed = Counter()
        var kept: Trace<Completion<Int>>? = Trace()
        let operation: AsyncOperation<Int> = {
            let captured = Tracked(freed: freed)
            return AsyncOperation(name: "tried", retry: policy(attempts: 1)) { [weak kept] completion in
                captured.touch()
                kept?.add(completion)
            }
        }()
        operation.start()
        await clock.untilSleeping()
        switch how {
        case "cancelled": operation.cancel()
        case "finished": operation.finish(.success(1))
        default: clock.advance(by: .seconds(3))
        }
        _ = await operation.outcome
        kept = nil
        await eventually("the work is freed") { freed.value == 1 }
        await clock.untilSleeping(0)
    }

    @Test func linearPausesGrowByAStepUpToTheirCap() {
        func pauses(_ initial: Int, _ step: Int, _ cap: Int, _ numbers: [Int]) -> [Duration] {
            let growing = RetryPolicy.Backoff.linear(
                initial: .seconds(initial),
                step: .seconds(step),
                cap: .seconds(cap)
            )
            return numbers.map(RetryPolicy(attempts: 2, backoff: growing).pause)
        }
        #expect(pauses(1, 2, 6, [1, 2, 3, 4, .max]) == [1, 3, 5, 6, 6].map { .seconds($0) })
        #expect(pauses(3, 0, 6, [1, .max]) == [.seconds(3), .seconds(3)])
        #expect(pauses(9, 2, 6, [1, 2]) == [.seconds(6), .seconds(6)])
    }
}
