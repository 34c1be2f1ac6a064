// SPDX-License-Identifier: Apache-2.0
//
// Questions with a limit, and what the last waiter to go leaves.

import Foundation
import Testing

import Interlock
@testable import InterlockPool
// contract: SingleFlightCache, SingleFlightTimedOut
@Suite(.timeLimit(.minutes(10))) struct SingleFlightCacheWaitTests {
    private static let soon = Duration.milliseconds(5)

    /// As the blocking forms, from a task.
    private static func ask(
        _ cache: SingleFlightCache<Int, Int>,
        _ key: Int,
        timeout: Duration,
        _ compute: @escaping @Sendable () throws -> Int
    ) throws -> Int {
        try cache.value(forKey: key, timeout: timeout, orCompute: compute)
    }

    // patient               hurried (a task, a thread)     computation
    // asks                                                 waits for the latch
    //                       ask: time out
    // has the value                                        goes on, answers
    @Test func aQuestionThatTimesOutLeavesTheOthers() async throws {
        let cache = SingleFlightCache<Int, Int>()
        let open = Latch(count: 1)
        let patient = Task {
            try await cache.value(forKey: 7, until: .now + .seconds(1_000)) {
                try await open.wait()
                return 1
            }
        }
        #expect(await eventuallySuspending { cache.waiters(forKey: 7) == 1 })
        let error = await #expect(throws: SingleFlightTimedOut.self) {
            try await cache.value(forKey: 7, timeout: Self.soon) { -1 }
        }
        #expect(error.map { "\($0)" } == "the value of 7 was not there in time")
        await #expect(throws: SingleFlightTimedOut.self) {
            try await cache.value(forKey: 7, until: .now + Self.soon) { -1 }
        }
        onThreads(1) { _ in
            #expect(throws: SingleFlightTimedOut.self) {
                try cache.value(forKey: 7, timeout: Self.soon) { -1 }
            }
            #expect(throws: SingleFlightTimedOut.self) {
                try cache.value(forKey: 7, until: .now + Self.soon) { -1 }
            }
        }
        #expect(cache.waiters(forKey: 7) == 1)
        open.countDown()
        #expect(try await patient.value == 1)
        #expect(cache.cachedValue(forKey: 7) == 1)
    }

    @Test func theLastTaskToTimeOutCancelsTheComputation() async throws {
        let cache = SingleFlightCache<Int, Int>()
        let (begun, never, ended) = (Counter(), Latch(count: 1), Counter())
        // Each attempt starts a computation, until one has begun in time.
        while begun.value == 0 {
            await #expect(throws: SingleFlightTimedOut.self) {
                try await cache.value(forKey: 1, timeout: Self.soon) {
                    begun.increment()
                    // Ends when it is cancelled.
                    try? await never.wait()
                    ended.increment()
                    return 1
                }
            }
        }
        #expect(await eventuallySuspending { ended.value == begun.value })
        #expect(cache.waiters(forKey: 1) == 0)
        #expect(try await cache.value(forKey: 1) { 2 } == 2, "what was given up is not kept")
    }

    @Test func aLimitThatHasPassedStillTakesWhatIsKeptAndStartsNothing() async throws {
        let cache = SingleFlightCache<Int, Int>()
        cache.updateValue(1, forKey: 1)
        let past = ContinuousClock.now - .seconds(1)
        #expect(try await cache.value(forKey: 1, until: past) { -1 } == 1)
        #expect(try await cache.value(forKey: 1, timeout: .seconds(-1)) { -1 } == 1)
        let begun = Counter()
        let compute: @Sendable () -> Int = {
            begun.increment()
            return -1
        }
        await #expect(throws: SingleFlightTimedOut.self) {
            try await cache.value(forKey: 2, until: past) { compute() }
        }
        await #expect(throws: SingleFlightTimedOut.self) {
            try await cache.value(forKey: 2, timeout: .zero) { compute() }
        }
        onThreads(1) { _ in
            let kept = [
                try? cache.value(forKey: 1, until: past, orCompute: compute),
                try? cache.value(forKey: 1, timeout: .zero, orCompute: compute),
            ]
            #expect(kept == [1, 1])
            #expect(throws: SingleFlightTimedOut.self) {
                try cache.value(forKey: 2, until: past, orCompute: compute)
            }
            // A thread that had it to compute might not begin in time.
            for _ in 0..<100 {
                #expect(throws: SingleFlightTimedOut.self) {
                    try cache.value(forKey: 2, timeout: .zero, orCompute: compute)
                }
            }
        }
        #expect(cache.waiters(forKey: 2) == 0 && begun.value == 0)
    }

    @Test func limitsThatAreNotReachedChangeNothing() async throws {
        let cache = SingleFlightCache<Int, String>()
        #expect(try await cache.value(forKey: 1, timeout: .seconds(1_000)) { "task" } == "task")
        onThreads(1) { _ in
            let name = try? cache.value(forKey: 2, timeout: .seconds(1 << 60)) { threadName() }
            #expect(name?.hasPrefix("blocking") == true)
            let value = try? cache.value(forKey: 3, until: .now + .seconds(1_000)) { "thread" }
            #expect(value == "thread")
            #expect(throws: Refusal(number: 4)) {
                try cache.value(forKey: 4, timeout: .seconds(1_000)) { throw Refusal(number: 4) }
            }
        }
        #expect(cache.count == 3)
    }

    @Test(arguments: [Duration.seconds(Int64.max), .nanoseconds(Int64.max), .seconds(Int64.min)])
    func limitsThatDoNotFitTheClockNeverComeOrHavePassed(far: Duration) async throws {
        let cache = SingleFlightCache<Int, Int>()
        let blocked = await blocking { try? Self.ask(cache, 1, timeout: far) { 1 } }
        let suspended = try? await cache.value(forKey: 2, timeout: far) { 2 }
        #expect(blocked == (far > .zero ? 1 : nil) && suspended == (far > .zero ? 2 : nil))
        let instant = ContinuousClock.now + far / 4
        #expect((try? await cache.value(forKey: 3, until: instant) { 3 }) == (far > .zero ? 3 : nil))
    }

    // hurried (a thread)          computation              task
    // asks with a limit           begins, waits
    // times out                                            asks: joins
    //                             answers                  has the value, which is kept
    @Test func aBlockingComputationThatHasBegunGoesOn() async throws {
        let cache = SingleFlightCache<Int, Int>()
        let (begun, open) = (Event(), Event())
        onThreads(1) { _ in
            let ask = {
                try cache.value(forKey: 1, until: .now + Self.soon) {
                    begun.happen()
                    open.wait()
                    return 1
                }
            }
            // Each attempt starts a computation, until one has begun in time.
            repeat {
                #expect(throws: SingleFlightTimedOut.self) { try ask() }
            } while !begun.wait(.milliseconds(1))
        }
        let second = Task { try await cache.value(forKey: 1) { -1 } }
        #expect(await eventuallySuspending { cache.waiters(forKey: 1) == 1 })
        open.happen()
        #expect(try await second.value == 1)
        #expect(cache.cachedValue(forKey: 1) == 1)
    }

    // Its first waiter, which had the closure too, has gone before the last one.
    @Test func whatIsGivenUpIsReleasedOutsideTheLock() {
        let cache = SingleFlightCache<Int, Int>()
        let released = Counter()
        func start() -> Flight<Int>? {
            // Under the cache's lock it would wait for itself.
            let look = AtRelease { if cache.count == 0 { released.increment() } }
            let compute: @Sendable () -> Int = { withExtendedLifetime(look) { 1 } }
            guard case .start(let flight) = cache.ask(1, .blocking(compute), startsIfMissing: true) else {
                return nil
            }
            return flight
        }
        if let flight = start() { cache.leave(flight, 1) }
        #expect(released.value == 1 && cache.waiters(forKey: 1) == 0)
    }

    // The pool's threads are all busy: what is asked for cannot begin.
    @Test(.ownThreads) func whatHasNotBegunIsReleasedWithItsLastWaiter() async {
        await #expect(processExitsWith: .success) {
            alarm(240)
            let (busy, open) = (Counter(), Latch(count: 1))
            for _ in 0..<512 {
                _ = WorkerPool.blocking.submit {
                    busy.increment()
                    open.wait()
                }
            }
            guard eventually({ busy.value == 512 }) else { exit(1) }
            let lifetimes = LifetimeCounter()
            let cache = SingleFlightCache<Int, Int>()
            func ask() throws -> Int {
                let capture = Counted(1, lifetimes)
                return try SingleFlightCacheWaitTests.ask(cache, 1, timeout: .milliseconds(5)) { capture.id }
            }
            do { _ = try ask() } catch is SingleFlightTimedOut {
                guard lifetimes.total == 1, lifetimes.living == 0 else { exit(2) }
                guard cache.waiters(forKey: 1) == 0 else { exit(3) }
                open.countDown()
                guard try SingleFlightCacheWaitTests.ask(cache, 1, timeout: .seconds(100), { 2 }) == 2 else {
                    exit(4)
                }
                exit(EXIT_SUCCESS)
            }
            exit(5)
        }
    }

    // The cooperative threads are all busy: the task cannot begin.
    @Test(.ownThreads) func aTaskThatHasNotBegunIsReleasedWithItsLastWaiter() async {
        await #expect(processExitsWith: .success) {
            alarm(240)
            let pool = try WorkerPool(name: "asks", threads: 1)
            let outcome = Promise<Int32>()
            Task(executorPreference: pool) { outcome.fulfil(await SingleFlightCacheWaitTests.askInVain()) }
            // Takes no cooperative thread meanwhile.
            _ = await outcome.wait()
            exit(outcome.value ?? 9)
        }
    }

    /// EXIT_SUCCESS if the closure of a computation that never began has been released.
    private static func askInVain() async -> Int32 {
        let lifetimes = LifetimeCounter()
        let cache = SingleFlightCache<Int, Int>()
        func ask() async throws -> Int {
            let capture = Counted(1, lifetimes)
            return try await cache.value(forKey: 1, timeout: .milliseconds(5)) { capture.id }
        }
        let (busy, open) = (Counter(), Event())
        defer { open.happen() }
        let threads = ProcessInfo.processInfo.activeProcessorCount
        for _ in 0..<threads {
            Task.detached { block(busy, open) }
        }
        guard await eventuallySuspending({ busy.value == threads }) else { return 1 }
        do {
            _ = try await ask()
            return 2
        } catch {
            guard error is SingleFlightTimedOut else { return 3 }
        }
        return lifetimes.total == 1 && lifetimes.living == 0 ? EXIT_SUCCESS : 4
    }

    private static func block(_ busy: Counter, _ open: Event) {
        busy.increment()
        open.wait()
    }
}
