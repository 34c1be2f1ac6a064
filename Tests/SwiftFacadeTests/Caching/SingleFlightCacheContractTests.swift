// SPDX-License-Identifier: Apache-2.0
//
// Sentences of the documentation of `SingleFlightCache` that its other suites do not touch.

import Foundation
import Testing

import Interlock
// contract: SingleFlightCache
@Suite(.timeLimit(.minutes(10))) struct SingleFlightCacheContractTests {
    @TaskLocal static var request = "none"

    @Test func aComputationHasThePriorityAndTheTaskLocalValuesOfItsFirstCaller() async throws {
        let cache = SingleFlightCache<Int, String>(capacity: 3, maximumAge: .seconds(9))
        #expect(cache.capacity == 3 && cache.maximumAge == .seconds(9))
        let seen = Trace<TaskPriority?>()
        let first = Self.$request.withValue("first") {
            Task(priority: .utility) {
                try await cache.value(forKey: 1) {
                    seen.add(Task.basePriority)
                    return Self.request
                }
            }
        }
        #expect(try await first.value == "first")
        #expect(seen.events == [.utility])
    }

    @Test func theClockIsReadOnlyWhereThereIsAMaximumAge() async throws {
        struct Counting: Clock {
            let reads: Counter
            var now: ContinuousClock.Instant {
                reads.increment()
                return .now
            }
            var minimumResolution: Duration { .zero }
            func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {}
        }
        let clock = Counting(reads: Counter())
        for (age, isRead) in [(nil, false), (Duration.seconds(90_000), true)] {
            let cache = SingleFlightCache<Int, Int>(maximumAge: age, clock: clock)
            cache.updateValue(1, forKey: 1)
            #expect(try await cache.value(forKey: 2) { 2 } == 2)
            #expect(cache.cachedValue(forKey: 1) == 1 && cache.removeExpired() == 0)
            #expect((clock.reads.value > 0) == isRead)
        }
        let before = clock.reads.value
        let cache = SingleFlightCache<Int, Int>(failureAge: .seconds(90_000), clock: clock)
        #expect(clock.reads.value > before)
        cache.updateValue(1, forKey: 1)
        let updated = clock.reads.value
        #expect(cache.cachedValue(forKey: 1) == 1 && clock.reads.value == updated, "a kept value has no age")
    }
}
