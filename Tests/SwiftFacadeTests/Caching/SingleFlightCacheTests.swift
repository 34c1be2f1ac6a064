// SPDX-License-Identifier: Apache-2.0
//
// The cache that computes once. Latches in computations, and the number of waiters, force the schedules; only the test
// moves the clock.

import Foundation
import Synchronization
import Testing

import Interlock
@testable import InterlockPool

struct Refusal: Error, Equatable {
    let number: Int
}
// contract: SingleFlightCache
@Suite struct SingleFlightCacheTests {
    //   first            nine tasks, four threads      computation
    //   asks             ask                           waits for the latch
    //                    … until 14 are waiters
    //   opens the latch                                answers
    @Test(.timeLimit(.minutes(10))) func oneComputationAnswersAllQuestionsAtTheSameTime() async throws {
        let cache = SingleFlightCache<String, Int>()
        let open = Latch(count: 1)
        let computations = Atomic(0)
        let answers = SafeArray<Int>()
        let compute: @Sendable () async throws -> Int = {
            computations.add(1, ordering: .relaxed)
            try await open.wait()
            return 7
        }
        let first = Task { answers.append(try await cache.value(forKey: "a", orCompute: compute)) }
        #expect(await eventuallySuspending { cache.waiters(forKey: "a") == 1 })
        let tasks = (0..<9).map { _ in
            Task { answers.append(try await cache.value(forKey: "a", orCompute: compute)) }
        }
        let threads = (0..<4).map { _ in
            TestThread {
                do {
                    answers.append(
                        try cache.value(forKey: "a") {
                            computations.add(1, ordering: .relaxed)
                            return -1
                        }
                    )
                } catch {
                    Issue.record("a thread was refused: \(error)")
                }
            }
        }
        #expect(await eventuallySuspending { cache.waiters(forKey: "a") == 14 })
        open.countDown()
        for task in [first] + tasks { try await task.value }
        for thread in threads { thread.join() }
        #expect(answers.snapshot == Array(repeating: 7, count: 14))
        let computed = computations.load(ordering: .relaxed)
        #expect(computed == 1)
        #expect(try await cache.value(forKey: "a") { -1 } == 7)
        #expect(cache.cachedValue(forKey: "a") == 7)
    }

    @Test(.timeLimit(.minutes(10))) func aThreadComputesForTasksAndThreads() async throws {
        let cache = SingleFlightCache<Int, String>()
        let started = Event()
        let open = Event()
        let answers = SafeArray<String>()
        let ask: @Sendable () -> Void = {
            do {
                answers.append(
                    try cache.value(forKey: 1) {
                        started.happen()
                        open.wait()
                        return "one"
                    }
                )
            } catch {
                Issue.record("a thread was refused: \(error)")
            }
        }
        let first = TestThread(ask)
        started.wait()
        let second = TestThread(ask)
        let task = Task { try await cache.value(forKey: 1) { "another" } }
        #expect(await eventuallySuspending { cache.waiters(forKey: 1) == 3 })
        open.happen()
        first.join()
        second.join()
        #expect(try await task.value == "one")
        #expect(answers.snapshot == ["one", "one"])
    }

    @Test(.timeLimit(.minutes(10))) func anErrorReachesEveryWaiterAndIsNotKept() async throws {
        let cache = SingleFlightCache<Int, Int>()
        let open = Latch(count: 1)
        let tasks = (0..<5).map { _ in
            Task {
                try await cache.value(forKey: 1) {
                    try await open.wait()
                    throw Refusal(number: 5)
                }
            }
        }
        #expect(await eventuallySuspending { cache.waiters(forKey: 1) == 5 })
        open.countDown()
        for task in tasks {
            await #expect(throws: Refusal(number: 5)) { try await task.value }
        }
        #expect(cache.count == 0)
        #expect(try await cache.value(forKey: 1) { 6 } == 6)
        onThreads(1) { _ in
            #expect(throws: Refusal(number: 7)) { try cache.value(forKey: 2) { throw Refusal(number: 7) } }
        }
        #expect(cache.cachedValue(forKey: 2) == nil)
    }

    //   A             B             computation
    //   asks first                  waits for the latch
    //                 joins
    //   is cancelled: throws
    //                               is not cancelled, answers
    //                 has the value
    @Test(.timeLimit(.minutes(10))) func cancellationConcernsTheTaskThatIsCancelled() async throws {
        let cache = SingleFlightCache<Int, Int>()
        let open = Latch(count: 1)
        let sawCancellation = Atomic(false)
        let compute: @Sendable () async throws -> Int = {
            try await withTaskCancellationHandler {
                try await open.wait()
                return 3
            } onCancel: {
                sawCancellation.store(true, ordering: .relaxed)
            }
        }
        let first = Task { try await cache.value(forKey: 1, orCompute: compute) }
        #expect(await eventuallySuspending { cache.waiters(forKey: 1) == 1 })
        let second = Task { try await cache.value(forKey: 1, orCompute: compute) }
        #expect(await eventuallySuspending { cache.waiters(forKey: 1) == 2 })
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(cache.waiters(forKey: 1) == 1)
        open.countDown()
        #expect(try await second.value == 3)
        let wasCancelled = sawCancellation.load(ordering: .relaxed)
        #expect(!wasCancelled)
        #expect(cache.cachedValue(forKey: 1) == 3)
    }

    @Test(.timeLimit(.minutes(10))) func theLastWaiterToGoCancelsTheComputation() async throws {
        let cache = SingleFlightCache<Int, Int>()
        let never = Latch(count: 1)
        let ended = Latch(count: 1)
        let tasks = (0..<3).map { _ in
            Task {
                try await cache.value(forKey: 1) {
                    // Ends when it is cancelled, and then answers all the same.
                    try? await never.wait()
                    ended.countDown()
                    return 1
                }
            }
        }
        #expect(await eventuallySuspending { cache.waiters(forKey: 1) == 3 })
        for task in tasks { task.cancel() }
        for task in tasks {
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        // Ends only by the cancellation.
        try await ended.wait()
        #expect(cache.waiters(forKey: 1) == 0)
        #expect(try await cache.value(forKey: 1) { 2 } == 2, "what was given up is not kept")
        #expect(cache.cachedValue(forKey: 1) == 2)
    }

    @Test(.timeLimit(.minutes(10))) func aCancelledTaskIsGivenWhatIsKeptAndStartsNothing() async throws {
        let cache = SingleFlightCache<Int, Int>()
        cache.updateValue(1, forKey: 1)
        let never = Latch(count: 1)
        let task = Task {
            try? await never.wait()
            let kept = try await cache.value(forKey: 1) { -1 }
            await #expect(throws: CancellationError.self) {
                try await cache.value(forKey: 2) {
                    Issue.record("a cancelled task started a computation")
                    return -1
                }
            }
            return kept
        }
        task.cancel()
        #expect(try await task.value == 1)
    }

    @Test(.timeLimit(.minutes(10)), arguments: 1...20)
    func cancellationRacingTheAnswerHurtsNoOtherCaller(seed: Int) async throws {
        let cache = SingleFlightCache<Int, Int>()
        let answered = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<40 {
                group.addTask {
                    let asking = Task {
                        try await cache.value(forKey: 1) {
                            for _ in 0..<seed { await Task.yield() }
                            try Task.checkCancellation()
                            return 9
                        }
                    }
                    guard number % 4 == 0 else {
                        if number % 2 == 0 { await Task.yield() }
                        asking.cancel()
                        _ = try? await asking.value
                        return false
                    }
                    let value = try await asking.value
                    #expect(value == 9, "seed \(seed)")
                    return true
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(answered == 10, "seed \(seed)")
        #expect(cache.waiters(forKey: 1) == 0)
    }

    enum Forgetting: CaseIterable { case replaced, removed, withAll }

    // asks        computation              test
    //             waits for the latch      forgets the key
    // is answered
    @Test(.timeLimit(.minutes(10)), arguments: Forgetting.allCases)
    func whatIsForgottenDuringItsComputationIsNotKept(_ forgetting: Forgetting) async throws {
        let cache = SingleFlightCache<Int, Int>()
        let (begun, open) = (Handshake(), Latch(count: 1))
        let task = Task {
            try await cache.value(forKey: 1) {
                begun.give()
                try await open.wait()
                return 1
            }
        }
        await begun.taken()
        #expect(cache.waiters(forKey: 1) == 1)
        switch forgetting {
        case .replaced: cache.updateValue(2, forKey: 1)
        case .removed:
            cache.removeValue(forKey: 1)
            // Not the computation that began before.
            #expect(try await cache.value(forKey: 1) { 2 } == 2)
        case .withAll: cache.removeAll()
        }
        open.countDown()
        #expect(try await task.value == 1, "the waiter is answered")
        #expect(cache.cachedValue(forKey: 1) == (forgetting == .withAll ? nil : 2))
        if forgetting != .withAll { cache.removeAll() }
        #expect(cache.count == 0)
    }

    /// overtaken   asks: 1                          is cancelled
    ///                       the key is removed
    /// second                               asks: 2
    /// third                                                       asks: joins 2
    @Test(.timeLimit(.minutes(10))) func theLastWaiterOfAnOvertakenComputationLeavesTheNextAlone()
        async throws
    {
        let cache = SingleFlightCache<Int, Int>()
        let open = Latch(count: 1)
        let ask: @Sendable (Int) -> Task<Int, any Error> = { answer in
            Task {
                try await cache.value(forKey: 1) {
                    try await open.wait()
                    return answer
                }
            }
        }
        let overtaken = ask(1)
        #expect(await eventuallySuspending { cache.waiters(forKey: 1) == 1 })
        cache.removeValue(forKey: 1)
        let second = ask(2)
        #expect(await eventuallySuspending { cache.waiters(forKey: 1) == 1 })
        overtaken.cancel()
        await #expect(throws: CancellationError.self) { try await overtaken.value }
        #expect(cache.waiters(forKey: 1) == 1, "the second computation is there to be joined")
        let third = ask(3)
        #expect(await eventuallySuspending { cache.waiters(forKey: 1) == 2 })
        open.countDown()
        #expect(try await (second.value, third.value) == (2, 2))
    }
}
