// SPDX-License-Identifier: Apache-2.0
//
// Computations that ask for each other's values in a cycle.

import Foundation
import Testing

import Interlock
@testable import InterlockPool
// contract: CircularComputation, GCD
@Suite struct SingleFlightCacheCycleTests {
    @Test(.timeLimit(.minutes(10))) func aComputationThatAsksForItselfIsRefused() async throws {
        let cache = SingleFlightCache<Int, Int>()
        await #expect(throws: CircularComputation.self) {
            try await cache.value(forKey: 1) { try await cache.value(forKey: 1) { 1 } }
        }
        onThreads(1) { _ in
            #expect(throws: CircularComputation.self) {
                try cache.value(forKey: 1) { try cache.value(forKey: 1) { 1 } }
            }
        }
        // Caught, it does no harm; another key is no cycle.
        let value = try await cache.value(forKey: 1) {
            await #expect(throws: CircularComputation.self) { try await cache.value(forKey: 1) { 1 } }
            #expect(cache.waiters(forKey: 1) == 1, "a question that is refused does not wait")
            return try await cache.value(forKey: 2) { 4 } + 1
        }
        #expect(value == 5)
    }

    //   A's computation          B's computation
    //   both have begun, each started from outside
    //   asks for B: waits
    //                            asks for A: refused, B fails
    //   fails with B's error
    @Test(.timeLimit(.minutes(10))) func aCycleThroughTwoCachesIsRefusedWhereItCloses() async throws {
        let letters = SingleFlightCache<String, Int>()
        let numbers = SingleFlightCache<Int, Int>()
        let bothBegun = Latch(count: 2)
        let a = Task {
            try await letters.value(forKey: "a") {
                bothBegun.countDown()
                try await bothBegun.wait()
                return try await numbers.value(forKey: 1) { -1 }
            }
        }
        let b = Task {
            try await numbers.value(forKey: 1) {
                bothBegun.countDown()
                #expect(await eventuallySuspending { numbers.waiters(forKey: 1) == 2 })
                return try await letters.value(forKey: "a") { -1 }
            }
        }
        await #expect(throws: CircularComputation.self) { try await b.value }
        await #expect(throws: CircularComputation.self) { try await a.value }
        #expect(letters.waiters(forKey: "a") == 0)
    }

    //   a's computation                  b's computation, started from outside
    //   asks for b: times out
    //                                    asks for a, which waits for it no longer
    //   answers                          has it
    @Test(.timeLimit(.minutes(10))) func aQuestionThatHasEndedIsNoPartOfACycle() async throws {
        let cache = SingleFlightCache<String, Int>()
        let (timedOut, answered) = (Latch(count: 1), Counter())
        let b = Task {
            try await cache.value(forKey: "b") {
                try await timedOut.wait()
                defer { answered.increment() }
                return try await cache.value(forKey: "a") { -1 } + 1
            }
        }
        #expect(await eventuallySuspending { cache.waiters(forKey: "b") == 1 })
        let a = try await cache.value(forKey: "a") {
            await #expect(throws: SingleFlightTimedOut.self) {
                try await cache.value(forKey: "b", timeout: .milliseconds(5)) { -1 }
            }
            timedOut.countDown()
            // Or b is refused.
            #expect(await eventuallySuspending { cache.waiters(forKey: "a") == 2 || answered.value == 1 })
            return 1
        }
        #expect(a == 1)
        #expect(try await b.value == 2)
    }

    //   a's computation                  b's computation, started from outside
    //   asks for b
    //   asks again: times out
    //                                    asks for a, which waits for it all the same: is refused
    @Test(.timeLimit(.minutes(10))) func aQuestionThatEndsLeavesAnotherForTheSameValueInTheCycle() async {
        let cache = SingleFlightCache<String, Int>()
        let timedOut = Latch(count: 1)
        let b = Task {
            try await cache.value(forKey: "b") {
                try await timedOut.wait()
                return try await cache.value(forKey: "a", timeout: .seconds(60)) { -1 }
            }
        }
        #expect(await eventuallySuspending { cache.waiters(forKey: "b") == 1 })
        let a = Task {
            try await cache.value(forKey: "a") {
                async let patient = cache.value(forKey: "b") { -1 }
                #expect(await eventuallySuspending { cache.waiters(forKey: "b") == 2 })
                await #expect(throws: SingleFlightTimedOut.self) {
                    try await cache.value(forKey: "b", timeout: .milliseconds(5)) { -1 }
                }
                timedOut.countDown()
                return try await patient
            }
        }
        await #expect(throws: CircularComputation.self) { try await a.value }
        await #expect(throws: CircularComputation.self) { try await b.value }
    }

    // MARK: Questions that block

    /// As `value(forKey:orCompute:)` for threads, from a task.
    private static func ask<Key>(
        _ cache: SingleFlightCache<Key, Int>,
        _ key: Key,
        _ compute: () throws -> Int
    ) throws -> Int {
        try cache.value(forKey: key, orCompute: compute)
    }

    /// By what is in the cycle. An alarm ends one that waits for itself.
    static let cycles: [String: @Sendable () async throws -> Int] = [
        "one thread": {
            let cache = SingleFlightCache<Int, Int>()
            return try ask(cache, 1) { try ask(cache, 2) { try ask(cache, 3) { try ask(cache, 1) { 1 } } } }
        },
        "two caches": {
            let numbers = SingleFlightCache<Int, Int>()
            let letters = SingleFlightCache<String, Int>()
            return try ask(numbers, 1) { try ask(letters, "a") { try ask(numbers, 1) { 1 } } }
        },
        "a task": {
            let cache = SingleFlightCache<Int, Int>()
            return try await cache.value(forKey: 1) { () async throws -> Int in
                try ask(cache, 2) { try ask(cache, 1) { 1 } }
            }
        },
        "the threads of a concurrent map": {
            let cache = SingleFlightCache<Int, Int>()
            // Two elements wait for each other; the one that a helper has then asks.
            func askOnHelper() throws -> Int {
                let (arrivals, both) = (Counter(), Handshake())
                let caller = ObjectIdentifier(Thread.current)
                return try (0..<2).concurrentMap(maxConcurrency: 2) { _ in
                    if arrivals.increment() == 2 { both.give(2) }
                    both.take()
                    if ObjectIdentifier(Thread.current) == caller { return 0 }
                    return try ask(cache, 1) { 1 }
                }.reduce(0, +)
            }
            return try ask(cache, 1) { try askOnHelper() }
        },
        "a thread that computes for one with a limit": {
            let cache = SingleFlightCache<Int, Int>()
            // A task would suspend.
            func askWithLimit() throws -> Int {
                try cache.value(forKey: 1, timeout: .seconds(600)) { try ask(cache, 1) { 1 } }
            }
            return try askWithLimit()
        },
        "the cost of a value": {
            // Of one thread.
            final class Place: @unchecked Sendable {
                var cache: SingleFlightCache<Int, Int>?
                var error: (any Error)?
            }
            let place = Place()
            place.cache = SingleFlightCache(costLimit: 9) { key, _ in
                do { _ = try ask(place.cache!, key) { 1 } } catch { place.error = error }
                return 1
            }
            _ = try ask(place.cache!, 1) { 1 }
            if let error = place.error { throw error }
            return 0
        },
        "work on a queue": {
            let cache = SingleFlightCache<Int, Int>()
            return try await cache.value(forKey: 1) { try await GCD.run { try ask(cache, 1) { 1 } } }
        },
    ]

    @Test(.ownThreads, arguments: cycles.keys.sorted())
    func blockingQuestionsInACycleAreRefused(through what: String) async {
        await #expect(processExitsWith: .success) { [what] in
            alarm(240)
            do { _ = try await SingleFlightCacheCycleTests.cycles[what]!() } catch is CircularComputation {
                exit(EXIT_SUCCESS)
            }
            exit(EXIT_FAILURE)
        }
    }

    @Test func blockingQuestionsOneInAnotherAreNoCycle() {
        let cache = SingleFlightCache<Int, Int>()
        #expect(throws: Never.self) {
            let value = try Self.ask(cache, 1) {
                try Self.ask(cache, 2) { 20 } + Self.ask(cache, 3) { try Self.ask(cache, 2) { -1 } }
            }
            #expect(value == 40)
        }
        #expect(cache.count == 3)
    }
}
