// SPDX-License-Identifier: Apache-2.0
//
// Failures that are kept on request. Only the test moves the clock.

import Foundation
import Testing

import Interlock
@testable import InterlockPool
// contract: SingleFlightCache
@Suite(.timeLimit(.minutes(10))) struct SingleFlightCacheFailureTests {
    private static func ask(_ cache: SingleFlightCache<Int, Int>, _ compute: () throws -> Int) throws -> Int {
        try cache.value(forKey: 1, orCompute: compute)
    }

    @Test func aFailureAnswersQuestionsForItsAge() async throws {
        let clock = TimerlessClock()
        let cache = SingleFlightCache<Int, Int>(failureAge: .seconds(10), clock: clock)
        #expect(cache.failureAge == .seconds(10))
        await #expect(throws: Refusal(number: 1)) {
            try await cache.value(forKey: 1) {
                clock.advance(by: .seconds(60))
                throw Refusal(number: 1)
            }
        }
        clock.advance(by: .seconds(10))
        await #expect(throws: Refusal(number: 1), "as old as the limit is not older") {
            try await cache.value(forKey: 1) { -1 }
        }
        #expect(throws: Refusal(number: 1)) { try Self.ask(cache) { -1 } }
        await #expect(throws: Refusal(number: 1)) { try await cache.value(forKey: 1, timeout: .zero) { -1 } }
        let delivered = Promise<Result<Int, any Error>>()
        cache.value(forKey: 1, deliverOn: .global()) {
            -1
        } completion: {
            delivered.fulfil($0)
        }
        await #expect(throws: Refusal(number: 1)) { try await delivered.take().get() }
        #expect(cache.cachedValue(forKey: 1) == nil && cache.count == 0)
        clock.advance(by: .nanoseconds(1))
        #expect(try await cache.value(forKey: 1) { 2 } == 2)
        #expect(cache.cachedValue(forKey: 1) == 2)
    }

    @Test func aChangeOfTheKeyForgetsItsFailure() throws {
        let cache = SingleFlightCache<Int, Int>(failureAge: .seconds(10_000))
        func fail() {
            #expect(throws: Refusal(number: 1)) { try Self.ask(cache) { throw Refusal(number: 1) } }
        }
        fail()
        #expect(cache.removeValue(forKey: 1) == nil)
        #expect(try Self.ask(cache) { 2 } == 2)
        cache.removeAll()
        fail()
        #expect(cache.updateValue(3, forKey: 1) == nil)
        #expect(try Self.ask(cache) { -1 } == 3)
        cache.removeAll()
        fail()
        cache.removeAll()
        #expect(try Self.ask(cache) { 4 } == 4)
    }

    // computation          test
    // waits                keeps a value of its own, or forgets the key
    // fails                its waiter has the error, and no later caller
    @Test(arguments: [true, false])
    func aFailureThatAChangeHasOvertakenIsNotKept(isReplaced: Bool) async throws {
        let cache = SingleFlightCache<Int, Int>(failureAge: .seconds(10_000))
        let open = Latch(count: 1)
        let overtaken = Task {
            try await cache.value(forKey: 1) {
                try await open.wait()
                throw Refusal(number: 1)
            }
        }
        #expect(await eventuallySuspending { cache.waiters(forKey: 1) == 1 })
        if isReplaced { cache.updateValue(2, forKey: 1) } else { cache.removeValue(forKey: 1) }
        open.countDown()
        await #expect(throws: Refusal(number: 1)) { try await overtaken.value }
        #expect(try Self.ask(cache) { 3 } == (isReplaced ? 2 : 3))
    }

    @Test func aFailureThatAChangeHasOvertakenIsReleased() async {
        struct Counting: Error { let counted: Counted }
        let cache = SingleFlightCache<Int, Int>(failureAge: .seconds(10_000))
        let lifetimes = LifetimeCounter()
        _ = await blocking {
            #expect(throws: Counting.self) {
                try Self.ask(cache) {
                    cache.removeAll()
                    throw Counting(counted: Counted(1, lifetimes))
                }
            }
        }
        #expect(lifetimes.total == 1)
        await eventually("nothing is left") { lifetimes.living == 0 }
    }

    @Test func failuresOfAWaitAreNotKept() throws {
        let cache = SingleFlightCache<Int, Int>(failureAge: .seconds(10_000))
        let errors: [any Error] = [
            CancellationError(), SingleFlightTimedOut(key: 1), CircularComputation(key: 1),
            WorkerPoolRunError.failed(CircularComputation(key: 1)),
            WorkerPoolRunError.failed(WorkerPoolRunError<any Error>.failed(SingleFlightTimedOut(key: 1))),
        ]
        for (number, error) in errors.enumerated() {
            #expect(throws: (any Error).self) { try Self.ask(cache) { throw error } }
            #expect(try Self.ask(cache) { number } == number)
            cache.removeAll()
        }
    }

    @Test func aFailureAskedForIsSpared() throws {
        let cache = SingleFlightCache<Int, Int>(capacity: 2, failureAge: .seconds(10_000))
        func ask(_ key: Int, _ number: Int) -> Int {
            let error = #expect(throws: Refusal.self) {
                try cache.value(forKey: key) { throw Refusal(number: number) }
            }
            return error?.number ?? -1
        }
        #expect([1, 2].map { ask($0, $0) } == [1, 2])
        #expect(ask(1, 11) == 1)
        #expect([3, 1, 2].map { ask($0, $0 + 10) } == [13, 1, 12], "2 has gone")
    }

    @Test func failuresHaveTheRoomOfTheCapacity() throws {
        let clock = TimerlessClock()
        let cache = SingleFlightCache<Int, Int>(capacity: 2, failureAge: .seconds(1), clock: clock)
        cache.updateValue(0, forKey: 0)
        func ask(_ key: Int, _ number: Int) -> Int {
            do {
                _ = try cache.value(forKey: key) { throw Refusal(number: number) }
            } catch let refusal as Refusal {
                return refusal.number
            } catch {}
            return -1
        }
        #expect((1...3).map { ask($0, $0) } == [1, 2, 3])
        #expect([2, 3, 1].map { ask($0, $0 + 10) } == [2, 3, 11], "the first one has gone")
        #expect(cache.cachedValue(forKey: 0) == 0, "failures take no room of values")
        clock.advance(by: .seconds(2))
        #expect(cache.removeExpired() == 2)
        let none = SingleFlightCache<Int, Int>(capacity: 0, failureAge: .seconds(10_000))
        #expect(throws: Refusal.self) { try Self.ask(none) { throw Refusal(number: 1) } }
        #expect(try Self.ask(none) { 2 } == 2)
    }
}
