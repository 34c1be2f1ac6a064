// SPDX-License-Identifier: Apache-2.0
//
// Concurrent map and for-each, blocking and suspending: order, the limit, and what an error stops.

import Dispatch
import Foundation
import Testing

import Interlock
@testable import InterlockOperations
@testable import InterlockPool
@testable import InterlockSync
// contract: WorkerPool
@Suite(.timeLimit(.minutes(10))) struct ConcurrentMapTests {
    @Test(arguments: [1, 2, 3, 8, 1000]) func theOrderIsKept(limit: Int) async throws {
        for count in [0, 1, 2, 7, 500] {
            let input = Array(0..<count)
            let blockingResult = await blocking { input.concurrentMap(maxConcurrency: limit) { $0 * 3 } }
            #expect(blockingResult == input.map { $0 * 3 })
            let result = try await input.concurrentMap(maxConcurrency: limit) { number async in
                if number.isMultiple(of: 3) { await Task.yield() }
                return number * 3
            }
            #expect(result == input.map { $0 * 3 })
        }
    }

    @Test func anySequenceWillDo() async throws {
        #expect(await blocking { Set([1, 2, 3]).concurrentMap { $0 }.sorted() } == [1, 2, 3])
        #expect(try await stride(from: 0, to: 10, by: 5).concurrentMap { $0 } == [0, 5])
    }

    @Test func theLimitIsNeverExceeded() async throws {
        let blockingCrowd = Crowd()
        await blocking {
            (0..<64).concurrentForEach(maxConcurrency: 3) { _ in
                blockingCrowd.enter()
                Thread.sleep(forTimeInterval: 0.0005)
                blockingCrowd.leave()
            }
        }
        #expect(blockingCrowd.total == 64 && blockingCrowd.most <= 3)
        let crowd = Crowd()
        try await (0..<64).concurrentForEach(maxConcurrency: 3) { _ async in
            crowd.enter()
            await Task.yield()
            crowd.leave()
        }
        #expect(crowd.total == 64 && crowd.most <= 3)
    }

    // Four elements wait for each other.
    @Test func elementsThatBlockHaveThreadsOfTheirOwn() async {
        let arrivals = Counter()
        let allArrived = Handshake()
        await blocking {
            (0..<4).concurrentForEach(maxConcurrency: 4) { _ in
                if arrivals.increment() == 4 { allArrived.give(4) }
                allArrived.take()
            }
        }
        #expect(arrivals.value == 4)
    }

    @Test func oneAtATimeRunsOnTheCallingThreadInOrder() async {
        await blocking {
            let caller = ObjectIdentifier(Thread.current)
            let trace = Trace<Int>()
            (0..<10).concurrentForEach(maxConcurrency: 1) { number in
                #expect(ObjectIdentifier(Thread.current) == caller)
                trace.add(number)
            }
            #expect(trace.events == Array(0..<10))
        }
    }

    @Test func theFirstErrorStopsWhatHasNotBegun() async throws {
        let begun = Counter()
        await blocking {
            let error = #expect(throws: JobFailure.self) {
                try (0..<1000).concurrentForEach(maxConcurrency: 1) { number throws(JobFailure) in
                    begun.increment()
                    if number == 5 { throw JobFailure(why: "\(number)") }
                }
            }
            #expect(error == JobFailure(why: "5"))
        }
        #expect(begun.value == 6)
    }

    // helper:  [element]  [element, throws]  its results are released
    // caller:  [element..................... waits for that]  takes no further one
    @Test func anErrorOnOneThreadStopsTheOthers() async {
        final class GivesAtTheEnd: Sendable {
            let gone: Handshake
            init(_ gone: Handshake) { self.gone = gone }
            deinit { gone.give() }
        }
        let (begun, both, gone) = (Counter(), Handshake(), Handshake())
        await blocking {
            let caller = ObjectIdentifier(Thread.current)
            #expect(throws: JobFailure()) {
                _ = try (0..<100).concurrentMap(maxConcurrency: 2) { _ throws(JobFailure) -> GivesAtTheEnd? in
                    let number = begun.increment()
                    if number > 3 { return nil }
                    if number == 3 { throw JobFailure() }
                    if number == 2 { both.give(2) }
                    both.take()
                    if ObjectIdentifier(Thread.current) != caller { return GivesAtTheEnd(gone) }
                    gone.take()
                    return nil
                }
            }
        }
        #expect(begun.value == 3)
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

    @Test func everyResultIsFreed() async {
        let (alive, freed) = (Counter(), Counter())
        await blocking {
            _ = (0..<100).concurrentMap(maxConcurrency: 4) { _ in Tracked(alive: alive, freed: freed) }
            _ = try? (0..<100).concurrentMap(maxConcurrency: 4) { number in
                if number == 50 { throw JobFailure() }
                return Tracked(alive: alive, freed: freed)
            }
        }
        #expect(alive.value >= 150)
        await eventually("results are freed, also those of a failed map") { freed.value == alive.value }
    }

    @Test func aLimitBelowOneIsReported() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            try await (0..<3).concurrentForEach(maxConcurrency: 0) { _ in }
        }
        #expect(
            sentence(result).contains("maxConcurrency: 0): at least one element must be allowed at a time")
        )
    }

    @Test func oneMayRunInsideAnother() async throws {
        @Sendable func table() -> [[Int]] {
            (0..<4).concurrentMap(maxConcurrency: 4) { row in
                (0..<4).concurrentMap(maxConcurrency: 4) { column in row * 4 + column }
            }
        }
        let made = await blocking { table() }
        #expect(made.flatMap { $0 } == Array(0..<16))
    }
}
