// SPDX-License-Identifier: Apache-2.0
//
// Policies under races, 10,000 of each on both kinds of queues: time-out, attempts, categories and conditions while the
// operation is added, cancelled and finished. Limits and pauses are over soon, on threads of their own. In some rounds
// only they end the operation:
//
//   racer 0: adds it      racer 1: cancels it, finishes it, or both      clock: the limit passes, or the pause

import Foundation
import Testing

import Interlock

/// A clock on which every sleep ends soon, after some turns of other tasks.
private struct HastyClock: Clock {
    typealias Instant = ManualClock.Instant
    var turns: Int

    var now: Instant { Instant() }
    var minimumResolution: Duration { .nanoseconds(1) }
    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        for _ in 0..<turns { await Task.yield() }
    }
}

/// An operation with policies, and what the racer does that ends it: in some rounds nothing.
private final class RacedPolicy: Sendable {
    let raced: Raced
    let cancels, finishes: Bool
    /// Counted by the work, or by its condition.
    let (begun, wrong) = (Counter(), Counter())
    let isRefused, isLimited: Bool

    init(
        _ round: Int,
        in queue: any QueueUnderTest,
        _ make: (RacedPolicy.Counters) -> AsyncOperation<Int>
    ) {
        let counters = Counters(begun: begun, wrong: wrong)
        raced = Raced(make(counters)) { queue.add($0) }
        cancels = round % 4 == 1 || round % 4 == 3
        finishes = Self.finishes(round)
        isRefused = round % 3 == 0
        isLimited = Self.isLimited(round)
    }

    struct Counters: Sendable { let begun, wrong: Counter }

    static func isLimited(_ round: Int) -> Bool { round % 5 > 0 }
    static func finishes(_ round: Int) -> Bool { round % 4 >= 2 }

    func end() {
        if cancels { raced.operation.cancel() }
        if finishes, raced.operation.finish(.success(2)) { raced.accepted.increment() }
    }

    func complaints(mayBe allowed: (Result<Int, any Error>) -> Bool) -> [String] {
        let complaints = raced.complaints { result in
            if raced.accepted.value == 1 { return result.isValue(2) }
            return cancels && result.isCancelled || allowed(result)
        }
        let isTimedOut = raced.operation.result?.isTimedOut == true
        let isMarked = raced.operation.isCancelled && !cancels && !isTimedOut
        return complaints + (wrong.value == 0 ? [] : ["begun where it may not"])
            + (isMarked ? ["it is cancelled, and nothing cancelled it"] : [])
    }
}

// contract: AsyncOperation
@Suite(.timeLimit(.minutes(10)), .serialized) struct PolicyRaceTests {
    typealias Work = OperationRaceTests.Kind

    private static let works: [Work] = [.block, .task, .handler]

    // MARK: Time-out

    @Test(arguments: QueueKind.all, works) func theLimitRacesWithAddingCancelAndFinish(
        kind: QueueKind,
        work: Work
    ) async {
        let (queue, timedOut) = (kind.make(nil), Counter())
        let isClean = await Race.run(
            RacedPolicy.self,
            make: { round in
                RacedPolicy(round, in: queue) { counters in
                    OperationRaceTests.make(work, ran: counters.begun)
                        .timeOut(after: .seconds(1), clock: HastyClock(turns: round % 5))
                }
            },
            racers: { queue.enqueue($0.raced.operation) },
            { $0.end() },
            judge: { subject in
                subject.complaints { result in
                    if result.isTimedOut {
                        timedOut.increment()
                        return subject.raced.operation.isCancelled
                    }
                    return work != .handler && result.isValue(1)
                } + (subject.begun.value > 1 ? ["begun twice"] : [])
            }
        )
        if isClean { await blocking { queue.waitUntilEmpty() } }
        if work == .handler { #expect(timedOut.value > 0) }
    }

    // MARK: Attempts

    /// Two attempts fail, the third succeeds; a pause comes before the last.
    private static func retried(_ work: Work, _ round: Int, _ counters: RacedPolicy.Counters)
        -> AsyncOperation<Int>
    {
        let policy = RetryPolicy(
            attempts: 3,
            backoff: .constant(round % 2 == 0 ? .seconds(1) : .zero),
            clock: HastyClock(turns: round % 3)
        )
        let working = Crowd()
        @Sendable func attempt(_ operation: AsyncOperation<Int>?) throws -> Int {
            working.enter()
            defer { working.leave() }
            if working.most > 1 { counters.wrong.increment() }
            // The racer's end does not wait for the work; any other does.
            if !RacedPolicy.finishes(round), operation?.isFinished == true { counters.wrong.increment() }
            if counters.begun.increment() < 3 { throw JobFailure() }
            return 1
        }
        let own = WeakOperation()
        let operation: AsyncOperation<Int> =
            switch work {
            case .block: AsyncOperation(retry: policy) { try attempt(own.operation) }
            case .task:
                AsyncOperation(retry: policy) { () async throws -> Int in
                    await Task.yield()
                    return try attempt(own.operation)
                }
            // No end waits for the work.
            case .handler, .subclass: AsyncOperation(retry: policy) { $0(Result { try attempt(nil) }) }
            }
        own.set(operation)
        return operation
    }

    @Test(arguments: QueueKind.all, works) func attemptsRaceWithTheLimitCancelAndFinish(
        kind: QueueKind,
        work: Work
    ) async {
        let queue = kind.make(nil)
        let isClean = await Race.run(
            RacedPolicy.self,
            make: { round in
                RacedPolicy(round, in: queue) { counters in
                    let operation = Self.retried(work, round, counters)
                    if RacedPolicy.isLimited(round) {
                        operation.timeOut(after: .seconds(1), clock: HastyClock(turns: round % 7))
                    }
                    return operation
                }
            },
            racers: { queue.enqueue($0.raced.operation) },
            { $0.end() },
            judge: { subject in
                let complaints = subject.complaints { result in
                    if result.isTimedOut { return subject.isLimited }
                    // What a task answers to a cancellation is the result.
                    if work == .task, subject.cancels, result.isJobFailure { return true }
                    return result.isValue(1) && subject.begun.value == 3
                }
                return complaints + (subject.begun.value > 3 ? ["\(subject.begun.value) attempts"] : [])
            }
        )
        if isClean { await blocking { queue.waitUntilEmpty() } }
    }

    // MARK: Categories

    /// Two of one category: the one is cancelled, finished or timed out, the other ends by itself.
    private final class Rivals: Sendable {
        let first: RacedPolicy
        let second: AsyncOperation<Int>

        init(_ round: Int, in queue: any QueueUnderTest, _ categories: [ExclusionCategory], _ crowd: Crowd) {
            first = RacedPolicy(round, in: queue) { counters in
                OperationRaceTests.make(.handler, ran: counters.begun)
                    .timeOut(after: .seconds(1), clock: HastyClock(turns: round % 5))
            }
            second = AsyncOperation {
                crowd.enter()
                defer { crowd.leave() }
                return 7
            }
            for category in categories {
                first.raced.operation.excludes(category)
                second.excludes(category)
            }
        }
    }

    @Test(arguments: QueueKind.all) func categoriesRaceWithTheLimitCancelAndFinish(kind: QueueKind) async {
        let (queue, crowd) = (kind.make(nil), Crowd())
        let categories = [
            ExclusionCategory("raced on \(kind)"), ExclusionCategory("raced on \(kind), wide", limit: 2),
        ]
        let isClean = await Race.run(
            Rivals.self,
            make: { round in Rivals(round, in: queue, categories, crowd) },
            racers: { queue.enqueue($0.first.raced.operation) },
            { queue.enqueue($0.second) },
            { $0.first.end() },
            judge: { rivals in
                let complaints = rivals.first.complaints { $0.isTimedOut }
                let result = rivals.second.wait(timeout: .seconds(Handshake.limit))
                return complaints + (result?.isValue(7) == true ? [] : ["the rival: \(result as Any)"])
            }
        )
        if isClean { await blocking { queue.waitUntilEmpty() } }
        #expect(crowd.most == 1)
        for category in categories { #expect(category.holders.isEmpty && category.waiters.isEmpty) }
    }

    // MARK: Conditions

    @Test(arguments: QueueKind.all) func conditionsRaceWithAddingCancelAndFinish(kind: QueueKind) async {
        let queue = kind.make(nil)
        let isClean = await Race.run(
            RacedPolicy.self,
            make: { round in
                let asked = Counter()
                return RacedPolicy(round, in: queue) { counters in
                    AsyncOperation<Int> {
                        if round % 3 == 0 { counters.wrong.increment() }
                        return counters.begun.increment()
                    }.addCondition(
                        .that("asked") {
                            if asked.increment() > 1 { counters.wrong.increment() }
                            for _ in 0..<round % 4 { await Task.yield() }
                            return round % 3 != 0
                        }
                    )
                }
            },
            racers: { queue.enqueue($0.raced.operation) },
            { $0.end() },
            judge: { subject in
                subject.complaints { subject.isRefused ? $0.isRefused : $0.isValue(1) }
            }
        )
        if isClean { await blocking { queue.waitUntilEmpty() } }
    }
}

/// For work that looks at its own operation.
private final class WeakOperation: Sendable {
    private struct Reference { weak var operation: AsyncOperation<Int>? }
    private let reference = VisibleMutex(Reference())
    var operation: AsyncOperation<Int>? { reference.withLock { $0.operation } }
    func set(_ operation: AsyncOperation<Int>) { reference.withLock { $0.operation = operation } }
}

extension Result where Success == Int, Failure == any Error {
    fileprivate var isTimedOut: Bool {
        if case .failure(let error) = self { error is OperationTimedOut } else { false }
    }
    fileprivate var isJobFailure: Bool {
        if case .failure(let error) = self { error is JobFailure } else { false }
    }
    fileprivate var isRefused: Bool {
        if case .failure(let error) = self { error is ConditionRefused } else { false }
    }
}
