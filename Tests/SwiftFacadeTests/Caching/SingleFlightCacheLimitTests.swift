// SPDX-License-Identifier: Apache-2.0
//
// How long a value counts, and when what is kept is released. Only the test moves the clock.

import Foundation
import Synchronization
import Testing

import Interlock

final class TimerlessClock: Clock, Sendable {
    struct Instant: InstantProtocol {
        var offset: Duration
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let time = Locked(Duration.zero)

    var now: Instant { Instant(offset: time.withLock { $0 }) }
    var minimumResolution: Duration { .zero }
    func advance(by duration: Duration) { time.withLock { $0 += duration } }
    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        Issue.record("the cache has no timers")
    }
}
// contract: SingleFlightCache
@Suite struct SingleFlightCacheLimitTests {
    @Test func aValueCountsForItsAgeFromTheEndOfItsComputation() async throws {
        let clock = TimerlessClock()
        let cache = SingleFlightCache<Int, Int>(maximumAge: .seconds(10), clock: clock)
        #expect(
            try await cache.value(forKey: 1) {
                clock.advance(by: .seconds(60))
                return 1
            } == 1
        )
        clock.advance(by: .seconds(5))
        #expect(cache.cachedValue(forKey: 1) == 1, "asking does not make it younger")
        clock.advance(by: .seconds(5))
        #expect(cache.cachedValue(forKey: 1) == 1, "as old as the limit is not older than it")
        clock.advance(by: .nanoseconds(1))
        #expect(cache.count == 1, "it takes its room until it is asked for")
        #expect(cache.cachedValue(forKey: 1) == nil)
        #expect(cache.count == 0)
        #expect(try await cache.value(forKey: 1) { 2 } == 2)
        #expect(cache.count == 1)
        clock.advance(by: .seconds(5))
        cache.updateValue(3, forKey: 3)
        clock.advance(by: .seconds(5) + .nanoseconds(1))
        #expect(cache.removeExpired() == 1)
        #expect(cache.count == 1)
        clock.advance(by: .seconds(5))
        #expect(cache.removeValue(forKey: 3) == nil, "too old to count")
        #expect(cache.count == 0)
    }

    @Test func whatIsTooOldGoesWithTheQuestionThatFindsIt() async throws {
        let clock = TimerlessClock()
        let cache = SingleFlightCache<Int, Int>(maximumAge: .seconds(1), clock: clock)
        for key in 1...3 { cache.updateValue(key, forKey: key) }
        clock.advance(by: .seconds(2))
        await #expect(throws: Refusal(number: 1)) {
            try await cache.value(forKey: 1) { throw Refusal(number: 1) }
        }
        #expect(cache.count == 2)
        onThreads(1) { _ in
            #expect(throws: Refusal(number: 2)) { try cache.value(forKey: 2) { throw Refusal(number: 2) } }
        }
        #expect(cache.count == 1)
        #expect(cache.updateValue(4, forKey: 3) == nil)
        #expect(cache.count == 1)
    }

    @Test func withoutRoomOnlyQuestionsAtTheSameTimeShare() async throws {
        let cache = SingleFlightCache<Int, Int>(capacity: 0)
        #expect(try await cache.value(forKey: 1) { 1 } == 1)
        #expect(try await cache.value(forKey: 1) { 2 } == 2)
        #expect(cache.count == 0)
    }

    @Test func everyValueIsReleasedOnceAndOutsideTheLock() async throws {
        /// Reads the cache's count in its `deinit`, which would deadlock under the cache's lock.
        final class Curious: Sendable {
            let counted: Counted
            let look: @Sendable () -> Void
            init(_ counted: Counted, _ look: @escaping @Sendable () -> Void) {
                self.counted = counted
                self.look = look
            }
            deinit { look() }
        }
        let lifetimes = LifetimeCounter()
        do {
            let clock = TimerlessClock()
            let cache = SingleFlightCache<Int, Curious>(capacity: 3, maximumAge: .seconds(1), clock: clock)
            let look: @Sendable () -> Void = { [weak cache] in _ = cache?.count }
            let make: @Sendable (Int) -> Curious = { Curious(Counted($0, lifetimes), look) }
            for number in 0..<10 { _ = try await cache.value(forKey: number) { make(number) } }
            // A computation's task may outlive the wait for it by a moment.
            await eventually("three are kept") { lifetimes.living == 3 }
            cache.updateValue(make(9), forKey: 9)
            cache.removeValue(forKey: 9)
            clock.advance(by: .seconds(2))
            _ = try await cache.value(forKey: 8) { make(8) }
            cache.removeValue(forKey: 7)
            cache.updateValue(make(6), forKey: 6)
            clock.advance(by: .seconds(2))
            #expect(cache.cachedValue(forKey: 6) == nil)
            cache.removeExpired()
            await eventually("none is kept") { lifetimes.living == 0 }
            _ = try await cache.value(forKey: 5) { make(5) }
            cache.removeAll()
            _ = try await cache.value(forKey: 4) { make(4) }
        }
        await eventually("none is left") { lifetimes.living == 0 }
    }

    @Test(.ownThreads) func keysAreReleasedOutsideTheLockToo() async {
        await #expect(processExitsWith: .success) {
            final class Key: Hashable, Sendable {
                let number: Int
                let look: @Sendable () -> Void
                init(_ number: Int, _ look: @escaping @Sendable () -> Void) {
                    self.number = number
                    self.look = look
                }
                deinit { look() }
                static func == (left: Key, right: Key) -> Bool { left.number == right.number }
                func hash(into hasher: inout Hasher) { hasher.combine(number) }
            }
            alarm(240)
            let released = Counter()
            let clock = TimerlessClock()
            let cache = SingleFlightCache<Key, Int>(capacity: 2, maximumAge: .seconds(1), clock: clock)
            let look: @Sendable () -> Void = { [weak cache] in
                _ = cache?.count
                released.increment()
            }
            let quiet: @Sendable () -> Void = {}
            for number in 0..<4 { cache.updateValue(number, forKey: Key(number, look)) }
            guard released.value == 2 else { exit(1) }
            cache.removeValue(forKey: Key(2, quiet))
            cache.updateValue(3, forKey: Key(3, quiet))
            guard released.value == 4 else { exit(2) }
            cache.updateValue(5, forKey: Key(5, look))
            cache.removeAll()
            guard released.value == 5 else { exit(3) }
            cache.updateValue(6, forKey: Key(6, look))
            clock.advance(by: .seconds(2))
            guard cache.cachedValue(forKey: Key(6, quiet)) == nil, released.value == 6 else { exit(4) }
            cache.updateValue(7, forKey: Key(7, look))
            clock.advance(by: .seconds(2))
            guard cache.removeExpired() == 1, released.value == 7 else { exit(5) }
            exit(EXIT_SUCCESS)
        }
    }

    @Test(.ownThreads) func anImpossibleCapacityIsReported() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = SingleFlightCache<Int, Int>(capacity: -1)
        }
        #expect(result?.report.contains("interlock: SingleFlightCache.init(): a capacity of -1") == true)
    }
}
