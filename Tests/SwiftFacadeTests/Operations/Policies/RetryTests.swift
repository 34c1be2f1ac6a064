// SPDX-License-Identifier: Apache-2.0
//
// Work that is run more than once: how often, after what pauses, and what ends it.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations
// contract: RepeatPolicy, RetryPolicy, WaitReason, AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct RetryTests {
    enum Kind: CaseIterable { case handler, block, task }

    let queue = OperationQueue()
    let clock = ManualClock()

    func make(_ kind: Kind, _ policy: RetryPolicy, _ body: @escaping @Sendable () throws -> Int)
        -> AsyncOperation<Int>
    {
        switch kind {
        case .handler: AsyncOperation(name: "tried", retry: policy) { $0(Result(catching: body)) }
        case .block: AsyncOperation(name: "tried", retry: policy, body)
        case .task:
            AsyncOperation(name: "tried", retry: policy) { () async throws -> Int in
                await Task.yield()
                return try body()
            }
        }
    }

    /// The end comes from the policy's own question: the pause that follows is not begun.
    @Test func anOperationThatEndsWhileItsAttemptIsJudgedIsFreed() async {
        let living = LifetimeCounter()
        for number in 0..<10 {
            let kept = VisibleMutex<AsyncOperation<Int>?>(nil)
            let captured = Counted(number, living)
            let policy = RetryPolicy(
                attempts: 5,
                backoff: .constant(.milliseconds(1)),
                where: { _ in
                    kept.withLock { $0.take() }?.finish(.success(7))
                    return true
                }
            )
            let operation = AsyncOperation<Int>(retry: policy) { throw JobFailure(why: "\(captured.id)") }
            kept.withLock { $0 = operation }
            operation.start()
        }
        await eventually("all are freed") { living.living == 0 }
    }

    /// The policy's own question cancels: there is no pause to end yet, and the one that follows is not begun.
    @Test func aCancellationWhileAnAttemptIsJudgedEndsTheOperation() {
        let kept = VisibleMutex<AsyncOperation<Int>?>(nil)
        let policy = RetryPolicy(
            attempts: 5,
            backoff: .constant(.seconds(9)),
            clock: clock,
            where: { _ in
                kept.withLock { $0.take() }?.cancel()
                return true
            }
        )
        let operation = make(.block, policy) { throw JobFailure(why: "once") }
        kept.withLock { $0 = operation }
        operation.start()
        #expect(operation.isFinished)
        #expect(throws: OperationCancelled(operation: "tried")) { try operation.result?.get() }
    }

    /// A cancellation beside the end of an attempt, its pause, and the next attempt.
    @Test func whatIsCancelledBetweenTwoAttemptsIsFreed() async {
        let living = LifetimeCounter()
        for number in 0..<repetitions(5_000, underThreadSanitizer: 500) {
            let captured = Counted(number, living)
            let policy = RetryPolicy(attempts: 5, backoff: .constant(.milliseconds(1)))
            let operation = AsyncOperation<Int>(retry: policy) { (completion: Completion<Int>) in
                DispatchQueue.global().async { completion.fail(JobFailure(why: "\(captured.id)")) }
            }
            operation.start()
            for _ in 0..<number % 50 { sched_yield() }
            operation.cancel()
            _ = try? await operation.value
        }
        await eventually("all are freed") { living.living == 0 }
    }

    @Test(arguments: Kind.allCases) func whatFailsIsTriedAgainAfterAPause(kind: Kind) async throws {
        let tries = Counter()
        let policy = RetryPolicy(
            attempts: 5,
            backoff: .exponential(initial: .seconds(1), factor: 3, cap: .seconds(5)),
            clock: clock
        )
        let operation = make(kind, policy) {
            if tries.increment() < 4 { throw JobFailure() }
            return tries.value
        }
        queue.addOperation(operation)
        for (number, pause) in [1, 3, 5].enumerated() {
            await clock.untilSleeping()
            #expect(tries.value == number + 1 && operation.isExecuting)
            #expect(operation.record.withLock { $0.admission } == .delay)
            clock.advance(by: .seconds(pause))
        }
        #expect(try await operation.value == 4)
        #expect(clock.asked == [.seconds(1), .seconds(3), .seconds(5)])
        #expect(operation.record.withLock { $0.admission } == nil)
    }

    @Test(arguments: Kind.allCases) func theLastErrorIsTheResult(kind: Kind) async throws {
        let tries = Counter()
        let operation = make(kind, RetryPolicy(attempts: 3)) { throw JobFailure(why: "\(tries.increment())") }
        queue.addOperation(operation)
        await #expect(throws: JobFailure(why: "3")) { try await operation.value }
        #expect(tries.value == 3)
    }

    @Test(arguments: Kind.allCases) func anErrorThatIsNotWorthItEndsTheOperation(kind: Kind) async throws {
        let tries = Counter()
        let policy = RetryPolicy(attempts: 10, where: { ($0 as? JobFailure)?.why != "2" })
        let operation = make(kind, policy) { throw JobFailure(why: "\(tries.increment())") }
        queue.addOperation(operation)
        await #expect(throws: JobFailure(why: "2")) { try await operation.value }
        #expect(tries.value == 2)
    }

    @Test(arguments: Kind.allCases) func aCancellationEndsAPauseAtOnce(kind: Kind) async throws {
        let tries = Counter()
        let policy = RetryPolicy(attempts: 5, backoff: .constant(.seconds(9)), clock: clock)
        let operation = make(kind, policy) { throw JobFailure(why: "\(tries.increment())") }
        queue.addOperation(operation)
        await clock.untilSleeping()
        operation.cancel()
        #expect(operation.isFinished)
        #expect(throws: OperationCancelled(operation: "tried")) { try operation.result?.get() }
        await clock.untilSleeping(0)
        clock.advance(by: .seconds(100))
        #expect(tries.value == 1)
    }

    @Test(arguments: Kind.allCases) func aTimeOutLimitsAllAttemptsTogether(kind: Kind) async throws {
        let limits = ManualClock()
        let tries = Counter()
        let policy = RetryPolicy(attempts: 100, backoff: .constant(.seconds(1)), clock: clock)
        let operation = make(kind, policy) { throw JobFailure(why: "\(tries.increment())") }
            .timeOut(after: .seconds(60), clock: limits)
        queue.addOperation(operation)
        for _ in 0..<4 { await clock.advanceSleeper(by: .seconds(1)) }
        await clock.untilSleeping()
        await limits.advanceSleeper(by: .seconds(60))
        await #expect(throws: OperationTimedOut(operation: "tried", limit: .seconds(60))) {
            try await operation.value
        }
        #expect(tries.value == 5 && operation.isCancelled)
    }

    @Test(arguments: [false, true]) func aTaskOfAnAttemptLearnsOfTheCancellation(isValue: Bool) async throws {
        let begun = Handshake()
        let operation = AsyncOperation<Int>(name: "tried", retry: RetryPolicy(attempts: 3)) {
            begun.give()
            await untilCancelled()
            if !isValue { try Task.checkCancellation() }
            return 5
        }
        queue.addOperation(operation)
        await begun.taken()
        operation.cancel()
        if isValue {
            #expect(try await operation.value == 5)
        } else {
            await #expect(throws: OperationCancelled(operation: "tried")) { try await operation.value }
        }
        #expect(!begun.isGiven(within: 0), "it is not tried again")
    }

    // first attempt: fails, later succeeds once more → ignored      second attempt: succeeds
    @Test func aLateCallOfAnEarlierAttemptIsIgnored() async throws {
        let kept = Trace<Completion<Int>>()
        let begun = Handshake()
        let informed = Counter()
        let operation = AsyncOperation<Int>(retry: RetryPolicy(attempts: 2)) { completion in
            completion.onCancel { informed.increment() }
            kept.add(completion)
            begun.give()
        }
        queue.addOperation(operation)
        await begun.taken()
        #expect(kept.events[0].fail(JobFailure()))
        await begun.taken()
        #expect(!kept.events[0].succeed(1))
        #expect(!operation.isFinished)
        operation.cancel()
        #expect(operation.isFinished && informed.value == 1, "the handler of the present attempt only")
        #expect(!kept.events[1].succeed(2))
    }

    @Test func aDroppedCompletionIsAFailedAttempt() async throws {
        let tries = Counter()
        let operation = AsyncOperation<Int>(name: "dropped", retry: RetryPolicy(attempts: 2)) { completion in
            if tries.increment() == 2 { completion.succeed(2) }
        }
        queue.addOperation(operation)
        #expect(try await operation.value == 2)
    }

    @Test(arguments: Kind.allCases) func manyAttemptsDoNotNest(kind: Kind) async throws {
        let tries = Counter()
        let operation = make(kind, RetryPolicy(attempts: 50_000)) {
            if tries.increment() < 50_000 { throw JobFailure() }
            return 1
        }
        queue.addOperation(operation)
        #expect(try await operation.value == 1)
    }

    @Test func pausesFollowBackoffAndJitter() {
        let constant = RetryPolicy(attempts: 2, backoff: .constant(.seconds(2)))
        #expect((1...3).map(constant.pause) == [.seconds(2), .seconds(2), .seconds(2)])
        let growing = RetryPolicy.Backoff.exponential(initial: .milliseconds(100), cap: .seconds(1))
        let exact = RetryPolicy(attempts: 2, backoff: growing)
        #expect((1...5).map(exact.pause) == [100, 200, 400, 800, 1000].map { .milliseconds($0) })
        #expect(exact.pause(afterAttempt: 1_000_000) == .seconds(1), "no overflow")
        for part in [0, 0.25, 1.0] {
            let full = RetryPolicy(attempts: 2, backoff: growing, jitter: .full, random: { part })
            #expect(full.pause(afterAttempt: 3) == .milliseconds(400) * part)
            let equal = RetryPolicy(attempts: 2, backoff: growing, jitter: .equal, random: { part })
            #expect(equal.pause(afterAttempt: 3) == .milliseconds(200) + .milliseconds(200) * part)
        }
        let wild = RetryPolicy(attempts: 2, backoff: growing, jitter: .full, random: { -3 })
        #expect(wild.pause(afterAttempt: 3) == .zero, "never negative")
        let drawn = RetryPolicy(attempts: 2, backoff: growing, jitter: .equal)
        for _ in 0..<100 { #expect(drawn.pause(afterAttempt: 1) >= .milliseconds(50)) }
    }

    @Test(arguments: Kind.allCases) func whatSucceedsIsRepeated(kind: Kind) async throws {
        let runs = Counter()
        let times = RepeatPolicy<Int>.times(4, every: .seconds(1), clock: clock)
        let operation: AsyncOperation<Int> =
            switch kind {
            case .handler: AsyncOperation(repeating: times) { $0.succeed(runs.increment()) }
            case .block: AsyncOperation(repeating: times) { runs.increment() }
            case .task:
                AsyncOperation(repeating: times) { () async in
                    await Task.yield()
                    return runs.increment()
                }
            }
        queue.addOperation(operation)
        for _ in 0..<3 { await clock.advanceSleeper(by: .seconds(1)) }
        #expect(try await operation.value == 4)
        #expect(clock.asked == [.seconds(1), .seconds(1), .seconds(1)])
    }

    @Test func itIsRepeatedUntilItsValueIsTheOneOrItFails() async throws {
        let runs = Counter()
        let until = AsyncOperation<Int>(repeating: .until { $0 == 7 }) { runs.increment() }
        let failing = AsyncOperation<Int>(repeating: .times(9)) {
            if runs.increment() == 9 { throw JobFailure() }
            return 0
        }
        queue.maxConcurrentOperationCount = 1
        queue.enqueue(until, failing)
        #expect(try await until.value == 7)
        await #expect(throws: JobFailure()) { try await failing.value }
        #expect(runs.value == 9)
    }
}
