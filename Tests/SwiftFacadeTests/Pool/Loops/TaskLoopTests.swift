// SPDX-License-Identifier: Apache-2.0
//
// Loops of child tasks: order, the limit, and what an error stops.

import Foundation
import Testing

import Interlock

@Suite(.timeLimit(.minutes(10))) struct TaskLoopTests {
    @Test(arguments: [1, 2, 3, 8, 1000]) func theOrderIsKept(limit: Int) async throws {
        for count in [0, 1, 2, 7, 500] {
            let input = Array(0..<count)
            let result = try await input.concurrentMap(maxConcurrency: limit) { number async in
                if number.isMultiple(of: 3) { await Task.yield() }
                return number * 3
            }
            #expect(result == input.map { $0 * 3 })
        }
        #expect(try await stride(from: 0, to: 10, by: 5).concurrentMap { $0 } == [0, 5])
    }

    @Test func theLimitIsNeverExceeded() async throws {
        let crowd = Crowd()
        try await (0..<64).concurrentForEach(maxConcurrency: 3) { _ async in
            crowd.enter()
            await Task.yield()
            crowd.leave()
        }
        #expect(crowd.total == 64 && crowd.most <= 3)
    }

    // Three elements wait for each other.
    @Test func asManyAsTheLimitAreInProgress() async throws {
        let arrivals = Counter()
        let allArrived = Handshake()
        try await (0..<3).concurrentForEach(maxConcurrency: 3) { _ async in
            if arrivals.increment() == 3 { allArrived.give(3) }
            await allArrived.taken()
        }
        #expect(arrivals.value == 3)
    }

    @Test func thereAreNoMoreChildTasksThanTheLimit() async throws {
        let tasks = VisibleMutex<Set<Int>>([])
        try await (0..<10_000).concurrentForEach(maxConcurrency: 3) { _ async in
            let task = withUnsafeCurrentTask { $0!.hashValue }
            tasks.withLock { _ = $0.insert(task) }
        }
        #expect(tasks.withLock { $0.count } <= 3)
    }

    // element 0 waits until it is cancelled; element 1 fails, which cancels it; no other begins.
    @Test func theFirstErrorCancelsTheRest() async throws {
        let begun = Counter()
        let cancelled = Counter()
        let firstWaits = Handshake()
        await #expect(throws: JobFailure()) {
            try await (0..<100).concurrentForEach(maxConcurrency: 2) { number in
                begun.increment()
                if number == 0 {
                    firstWaits.give()
                    await untilCancelled()
                    cancelled.increment()
                } else {
                    await firstWaits.taken()
                    throw JobFailure()
                }
            }
        }
        #expect(cancelled.value == 1 && begun.value == 2)
    }

    @Test func aCancelledTaskBeginsNoFurtherElement() async throws {
        let begun = Counter()
        let entered = Handshake()
        let task = Task {
            try await (0..<100).concurrentForEach(maxConcurrency: 2) { _ in
                begun.increment()
                entered.give()
                await untilCancelled()
            }
        }
        await entered.taken(2)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(begun.value == 2)
    }

    @Test func everyResultIsReleasedOnce() async throws {
        let (alive, freed) = (Counter(), Counter())
        for failing in [0, 1, 50, 99, 100] {
            let results = try? await (0..<100).concurrentMap(maxConcurrency: 4) { number async throws in
                if number == failing { throw JobFailure() }
                await Task.yield()
                return Tracked(alive: alive, freed: freed)
            }
            #expect((results == nil) == (failing < 100))
            #expect(alive.value - freed.value == results?.count ?? 0)
        }
        #expect(alive.value == freed.value)
        // The first element passes the limit.
        let limit = Duration.milliseconds(20)
        let late = try await (0..<100).concurrentMap(maxConcurrency: 1, timeout: limit) { _ async in
            let begin = ContinuousClock.now
            while begin.duration(to: .now) < limit { await Task.yield() }
            return Tracked(alive: alive, freed: freed)
        }
        #expect(late == nil && alive.value == freed.value)
        // A cancellation comes while the first one is in progress.
        let task = Task {
            _ = try await (0..<100).concurrentMap(maxConcurrency: 1) { _ async in
                await untilCancelled()
                return Tracked(alive: alive, freed: freed)
            }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(alive.value == freed.value)
    }
}
