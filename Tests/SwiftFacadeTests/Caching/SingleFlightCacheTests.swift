// SPDX-License-Identifier: Apache-2.0
//
// The cache that computes once. Latches in computations, and the number of waiters, force the schedules; only the test
// moves the clock.

import Foundation
import Synchronization
import Testing

@testable import Interlock

private struct Refusal: Error, Equatable {
    let number: Int
}

@Suite struct SingleFlightCacheTests {
    //   first            nine tasks, four threads      computation
    //   asks             ask                           waits for the latch
    //                    … until 14 are waiters
    //   opens the latch                                answers
    @Test(.timeLimit(.minutes(5))) func oneComputationAnswersAllQuestionsAtTheSameTime() async throws {
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

    @Test(.timeLimit(.minutes(5))) func aThreadComputesForTasksAndThreads() async throws {
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

    @Test(.timeLimit(.minutes(5))) func anErrorReachesEveryWaiterAndIsNotKept() async throws {
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
    @Test(.timeLimit(.minutes(5))) func cancellationConcernsTheTaskThatIsCancelled() async throws {
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

    @Test(.timeLimit(.minutes(5))) func theLastWaiterToGoCancelsTheComputation() async throws {
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

    @Test(.timeLimit(.minutes(5))) func aCancelledTaskIsGivenWhatIsKeptAndStartsNothing() async throws {
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

    @Test(.timeLimit(.minutes(5)), arguments: 1...20)
    func cancellationRacingTheAnswerHurtsNobodyElse(seed: Int) async throws {
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

    @Test(.timeLimit(.minutes(5)), arguments: [false, true])
    func whatIsForgottenDuringItsComputationIsNotKept(replaced: Bool) async throws {
        let cache = SingleFlightCache<Int, Int>()
        let open = Latch(count: 1)
        let task = Task {
            try await cache.value(forKey: 1) {
                try await open.wait()
                return 1
            }
        }
        #expect(await eventuallySuspending { cache.waiters(forKey: 1) == 1 })
        if replaced {
            cache.updateValue(2, forKey: 1)
        } else {
            cache.removeValue(forKey: 1)
            // Not the computation that began before.
            #expect(try await cache.value(forKey: 1) { 2 } == 2)
        }
        open.countDown()
        #expect(try await task.value == 1, "the waiter is answered")
        #expect(cache.cachedValue(forKey: 1) == 2)
        cache.removeAll()
        #expect(cache.count == 0)
    }
}

// MARK: - Limits

private final class TimerlessClock: Clock, Sendable {
    struct Instant: InstantProtocol {
        var offset: Duration
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let time = Mutex(Duration.zero)

    var now: Instant { Instant(offset: time.withLock { $0 }) }
    var minimumResolution: Duration { .zero }
    func advance(by duration: Duration) { time.withLock { $0 += duration } }
    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        Issue.record("the cache has no timers")
    }
}

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

    @Test(arguments: 1...20 as ClosedRange<UInt64>, [1, 2, 3, 8])
    func theLeastRecentlyAskedForGoes(seed: UInt64, capacity: Int) async throws {
        var random = SplitMix(state: seed)
        let cache = SingleFlightCache<Int, Int>(capacity: capacity)
        var model: [(key: Int, value: Int)] = []
        for step in 0..<400 {
            let key = Int.random(in: 0..<12, using: &random)
            let known = model.firstIndex { $0.key == key }
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                #expect(cache.removeValue(forKey: key) == known.map { model.remove(at: $0).value }, "\(seed)")
            case 1:
                #expect(
                    cache.updateValue(step, forKey: key) == known.map { model.remove(at: $0).value },
                    "\(seed)"
                )
                model.append((key, step))
            case 2, 3:
                #expect(cache.cachedValue(forKey: key) == known.map { model[$0].value }, "\(seed)")
                if let known { model.append(model.remove(at: known)) }
            case 4 where step % 50 == 0:
                cache.removeAll()
                model = []
            default:
                let value = try await cache.value(forKey: key) { step }
                #expect(value == known.map { model[$0].value } ?? step, "\(seed)")
                model.append(known.map { model.remove(at: $0) } ?? (key, step))
            }
            if model.count > capacity { model.removeFirst() }
            #expect(cache.count == model.count, "\(seed)")
        }
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

    @Test func keysAreReleasedOutsideTheLockToo() async {
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
            alarm(20)
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

    @Test func anImpossibleCapacityIsReported() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = SingleFlightCache<Int, Int>(capacity: -1)
        }
        #expect(result?.report.contains("interlock: SingleFlightCache.init(): a capacity of -1") == true)
    }
}

// MARK: - Circles

@Suite struct SingleFlightCacheCircleTests {
    @Test(.timeLimit(.minutes(5))) func aComputationThatAsksForItselfIsRefused() async throws {
        let cache = SingleFlightCache<Int, Int>()
        await #expect(throws: CircularComputation.self) {
            try await cache.value(forKey: 1) { try await cache.value(forKey: 1) { 1 } }
        }
        onThreads(1) { _ in
            #expect(throws: CircularComputation.self) {
                try cache.value(forKey: 1) { try cache.value(forKey: 1) { 1 } }
            }
        }
        // Caught, it does no harm; another key is no circle.
        let value = try await cache.value(forKey: 1) {
            await #expect(throws: CircularComputation.self) { try await cache.value(forKey: 1) { 1 } }
            return try await cache.value(forKey: 2) { 4 } + 1
        }
        #expect(value == 5)
    }

    //   A's computation          B's computation
    //   both have begun, each started from outside
    //   asks for B: waits
    //                            asks for A: refused, B fails
    //   fails with B's error
    @Test(.timeLimit(.minutes(5))) func aCircleThroughTwoCachesIsRefusedWhereItCloses() async throws {
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

    // MARK: Questions that block

    /// As `value(forKey:orCompute:)` for threads, from a task.
    private static func ask<Key>(
        _ cache: SingleFlightCache<Key, Int>,
        _ key: Key,
        _ compute: () throws -> Int
    ) throws -> Int {
        try cache.value(forKey: key, orCompute: compute)
    }

    /// Success if `body` is refused as circular; an alarm ends one that waits for itself.
    private static func expectRefusal(_ body: () throws -> Int) -> Never {
        do { _ = try body() } catch is CircularComputation { exit(EXIT_SUCCESS) } catch {}
        exit(EXIT_FAILURE)
    }

    @Test func blockingQuestionsInACircleOnOneThreadAreRefused() async {
        await #expect(processExitsWith: .success) {
            alarm(20)
            let cache = SingleFlightCache<Int, Int>()
            SingleFlightCacheCircleTests.expectRefusal {
                try SingleFlightCacheCircleTests.ask(cache, 1) {
                    try SingleFlightCacheCircleTests.ask(cache, 2) {
                        try SingleFlightCacheCircleTests.ask(cache, 3) {
                            try SingleFlightCacheCircleTests.ask(cache, 1) { 1 }
                        }
                    }
                }
            }
        }
    }

    @Test func blockingQuestionsInACircleThroughTwoCachesAreRefused() async {
        await #expect(processExitsWith: .success) {
            alarm(20)
            let numbers = SingleFlightCache<Int, Int>()
            let letters = SingleFlightCache<String, Int>()
            SingleFlightCacheCircleTests.expectRefusal {
                try SingleFlightCacheCircleTests.ask(numbers, 1) {
                    try SingleFlightCacheCircleTests.ask(letters, "a") {
                        try SingleFlightCacheCircleTests.ask(numbers, 1) { 1 }
                    }
                }
            }
        }
    }

    @Test func aTaskThatAsksABlockingQuestionInACircleIsRefused() async {
        await #expect(processExitsWith: .success) {
            alarm(20)
            let cache = SingleFlightCache<Int, Int>()
            do {
                _ = try await cache.value(forKey: 1) { () async throws -> Int in
                    try SingleFlightCacheCircleTests.ask(cache, 2) {
                        try SingleFlightCacheCircleTests.ask(cache, 1) { 1 }
                    }
                }
            } catch is CircularComputation {
                exit(EXIT_SUCCESS)
            }
            exit(EXIT_FAILURE)
        }
    }

    @Test func aCircleThroughTheThreadsOfAConcurrentMapIsRefused() async {
        await #expect(processExitsWith: .success) {
            alarm(20)
            let cache = SingleFlightCache<Int, Int>()
            func sum(_ body: @Sendable (Int) throws -> Int) throws -> Int {
                try (0..<4).concurrentMap(maxConcurrency: 4, body).reduce(0, +)
            }
            SingleFlightCacheCircleTests.expectRefusal {
                try SingleFlightCacheCircleTests.ask(cache, 1) {
                    try sum { _ in try SingleFlightCacheCircleTests.ask(cache, 1) { 1 } }
                }
            }
        }
    }

    @Test func aCircleThroughWorkOnAQueueIsRefused() async {
        await #expect(processExitsWith: .success) {
            alarm(20)
            let cache = SingleFlightCache<Int, Int>()
            do {
                _ = try await cache.value(forKey: 1) {
                    try await GCD.run { try SingleFlightCacheCircleTests.ask(cache, 1) { 1 } }
                }
            } catch is CircularComputation {
                exit(EXIT_SUCCESS)
            }
            exit(EXIT_FAILURE)
        }
    }

    @Test func blockingQuestionsOneInAnotherAreNoCircle() {
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
