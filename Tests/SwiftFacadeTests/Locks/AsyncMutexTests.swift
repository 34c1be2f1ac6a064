// SPDX-License-Identifier: Apache-2.0
//
// The mutex of tasks: exclusion across suspensions, order, limits, cancellation, errors, isolation, and the report of a
// task that would wait for itself.

import Foundation
import Synchronization
import Testing

import Interlock
@testable import InterlockSync
// contract: AsyncMutex
@Suite(.timeLimit(.minutes(10))) struct AsyncMutexTests {
    /// A task that holds a mutex, suspended, until it is let go.
    struct Holder {
        private let end = Latch(count: 1)
        private let task: Task<Void, any Error>

        init<Value: ~Copyable>(of mutex: AsyncMutex<Value>) async throws {
            let held = Latch(count: 1)
            task = Task { [end] in
                try await mutex.withLock { _ in
                    held.countDown()
                    try await end.wait()
                }
            }
            try await held.wait()
        }

        func letGo() async throws {
            end.countDown()
            try await task.value
        }
    }

    private static func count<Value: ~Copyable>(of mutex: AsyncMutex<Value>, becomes count: Int) async -> Bool
    {
        await eventuallySuspending { mutex.waiterCount == count }
    }

    @Test func closuresNeverOverlapThoughTheySuspend() async throws {
        let mutex = AsyncMutex(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<200 {
                        try await mutex.withLock { value in
                            let before = value
                            await Task.yield()
                            value = before + 1
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await mutex.withLock { $0 } == 1_600)
    }

    /// holder: [ has the mutex, suspended ·································· lets go ]
    /// tasks:        wait, more of them than the pool has threads                    [ one after another ]
    /// others:       run all the same
    @Test func neitherWaitersNorASuspendedHolderHoldAThread() async throws {
        let mutex = AsyncMutex(0)
        let holder = try await Holder(of: mutex)
        let count = 4_000
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count { group.addTask { try await mutex.withLock { $0 += 1 } } }
            #expect(await Self.count(of: mutex, becomes: count))
            #expect(threadNames().count < count / 4)
            try await holder.letGo()
            try await group.waitForAll()
        }
        #expect(try await mutex.withLock { $0 } == count)
    }

    /// Each is seen in the queue before the next comes; those cancelled, and the late one, leave it.
    @Test func tasksAreServedFirstComeFirstServed() async throws {
        let mutex = AsyncMutex([Int]())
        let holder = try await Holder(of: mutex)
        var tasks: [Task<Void, any Error>] = []
        for place in 0..<9 {
            tasks.append(Task { try await mutex.withLock { $0.append(place) } })
            #expect(await Self.count(of: mutex, becomes: place + 1))
        }
        for place in [0, 4, 8] {
            tasks[place].cancel()
            await #expect(throws: CancellationError.self) { try await tasks[place].value }
        }
        #expect(mutex.waiterCount == 6)
        try await holder.letGo()
        for place in [1, 2, 3, 5, 6, 7] { try await tasks[place].value }
        #expect(try await mutex.withLock { $0 } == [1, 2, 3, 5, 6, 7])
    }

    /// holder: [ holds ── lets go ]  asks: held
    /// waiter:      waits ──────── [ has been given it ····· ends ]
    @Test func aMutexHandedOverCannotBeTakenByALaterComer() async throws {
        let mutex = AsyncMutex(0)
        let end = Latch(count: 1)
        let waiter = try await mutex.withLock { _ in
            let waiter = Task {
                try await mutex.withLock { _ in try await end.wait() }
            }
            #expect(await Self.count(of: mutex, becomes: 1))
            return waiter
        }
        #expect(await mutex.withLockIfAvailable { $0 } == nil)
        end.countDown()
        try await waiter.value
        #expect(await mutex.withLockIfAvailable { $0 } == 0)
    }

    /// holder: [ holds ························ lets go ]
    /// task:     finds it held, leaves its actor           joins no queue: [ takes it ]
    @Test func aMutexGivenUpBeforeATaskJoinsTheQueueIsTaken() async throws {
        let mutex = AsyncMutex(0)
        let holder = try await Holder(of: mutex)
        let gate = Gate()
        @MainActor @Sendable func change() async throws -> Bool {
            gate.close()
            let changed: Void? = try await mutex.withLock(timeout: .seconds(60)) { $0 += 1 }
            return changed != nil
        }
        let task = Task(executorPreference: gate) { try await change() }
        #expect(await eventuallySuspending { gate.isKeepingOne })
        #expect(mutex.waiterCount == 0)
        try await holder.letGo()
        gate.open()
        #expect(try await task.value)
        #expect(try await mutex.withLock { $0 } == 1)
    }

    /// The closure has run, or it never runs; the mutex is free afterwards.
    @Test func cancellationRacingAReleaseRunsAllOrNothing() async throws {
        for _ in 0..<500 {
            let mutex = AsyncMutex(0)
            let holder = try await Holder(of: mutex)
            let task = Task { try await mutex.withLock { $0 += 1 } }
            async let released: Void = holder.letGo()
            task.cancel()
            try await released
            let ran = (try? await task.value) != nil
            #expect(await mutex.withLockIfAvailable { $0 } == (ran ? 1 : 0))
        }
    }

    @Test func aTimeOutRacingAReleaseRunsAllOrNothing() async throws {
        for round in 0..<200 {
            let mutex = AsyncMutex(0)
            let holder = try await Holder(of: mutex)
            let task = Task { try await mutex.withLock(timeout: .microseconds(round)) { $0 += 1 } }
            try await holder.letGo()
            let ran = try await task.value != nil
            #expect(await mutex.withLockIfAvailable { $0 } == (ran ? 1 : 0))
        }
    }

    @Test func limitsAreKept() async throws {
        let mutex = AsyncMutex(0)
        let begin = ContinuousClock.now
        #expect(try await mutex.withLock(until: begin) { $0 } == 0, "a passed deadline takes a free one")
        let holder = try await Holder(of: mutex)
        let late: Void? = try await mutex.withLock(timeout: .milliseconds(20)) { _ in Issue.record("ran") }
        #expect(late == nil && ContinuousClock.now - begin >= .milliseconds(20))
        let passed: Void? = try await mutex.withLock(until: begin) { _ in Issue.record("ran") }
        #expect(passed == nil && mutex.waiterCount == 0)
        let waiting = Task { try await mutex.withLock(timeout: .seconds(Int64.max)) { $0 + 1 } }
        #expect(await Self.count(of: mutex, becomes: 1))
        try await holder.letGo()
        #expect(try await waiting.value == 1)
    }

    @Test func aCancelledTaskTakesAFreeMutexAndDoesNotWaitForAHeldOne() async throws {
        let mutex = AsyncMutex(0)
        let free = Task {
            await untilCancelled()
            try await mutex.withLock { $0 += 1 }
            return await mutex.withLockIfAvailable { $0 }
        }
        free.cancel()
        #expect(try await free.value == 1)
        let holder = try await Holder(of: mutex)
        let held = Task {
            await untilCancelled()
            try await mutex.withLock { $0 += 1 }
        }
        held.cancel()
        await #expect(throws: CancellationError.self) { try await held.value }
        try await holder.letGo()
        #expect(try await mutex.withLock { $0 } == 1)
    }

    enum Refusal: Error, Equatable { case refused }

    @Test(arguments: [false, true]) func errorsComeThroughAndTheMutexIsGivenUp(limited: Bool) async throws {
        let mutex = AsyncMutex(0)
        @Sendable func fail() async throws {
            if limited {
                try await mutex.withLock(timeout: .seconds(60)) { (value) throws(Refusal) in
                    value += 1
                    throw .refused
                }
            } else {
                try await mutex.withLock { (value) throws(Refusal) in
                    value += 1
                    throw .refused
                }
            }
        }
        await #expect(throws: Refusal.refused) { try await fail() }
        await #expect(throws: Refusal.refused) {
            try await mutex.withLockIfAvailable { (value) throws(Refusal) in
                value += 1
                throw .refused
            }
        }
        let holder = try await Holder(of: mutex)
        let (waiting, cancelled) = (Task { try await fail() }, Task { try await fail() })
        #expect(await Self.count(of: mutex, becomes: 2))
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        try await holder.letGo()
        await #expect(throws: Refusal.refused) { try await waiting.value }
        #expect(try await mutex.withLock { $0 } == 3)
    }

    @Test func noncopyableValuesAndResultsGoThroughAndAreReleased() async throws {
        let counter = LifetimeCounter()
        do {
            let mutex = AsyncMutex(Optional(CountedUnique(7, counter)))
            let holder = try await Holder(of: mutex)
            let task = Task {
                let taken = try await mutex.withLock { value in
                    await Task.yield()
                    return value.take()
                }
                return id(taken)
            }
            #expect(await Self.count(of: mutex, becomes: 1))
            try await holder.letGo()
            #expect(try await task.value == 7)
            try await mutex.withLock { $0 = CountedUnique(8, counter) }
            #expect(counter.living == 1)
        }
        #expect(await eventuallySuspending { counter.living == 0 })
        #expect(counter.total == 2)
    }

    private final class Box { var number = 0 }

    private actor Account {
        private(set) var count = 0

        func add(with mutex: AsyncMutex<Box>) async throws {
            try await mutex.withLock { box in
                self.assertIsolated()
                box.number += 1
                await Task.yield()
                self.assertIsolated()
                count = box.number
            }
        }
    }

    /// Once at once, and once after waiting; the value is not Sendable.
    @Test func aClosureRunsInTheIsolationOfItsCaller() async throws {
        let mutex = AsyncMutex(Box())
        let account = Account()
        try await account.add(with: mutex)
        let holder = try await Holder(of: mutex)
        let task = Task { try await account.add(with: mutex) }
        #expect(await Self.count(of: mutex, becomes: 1))
        try await holder.letGo()
        try await task.value
        #expect(await account.count == 2)
    }

    @Test func aClosureMayTryItsOwnMutex() async throws {
        let mutex = AsyncMutex(1)
        let inside = try await mutex.withLock { _ in await mutex.withLockIfAvailable { $0 } }
        #expect(inside == nil)
        #expect(await mutex.withLockIfAvailable { $0 } == 1)
    }

    /// The task comes back on any thread; another task has held it in between.
    @Test(.ownThreads, arguments: [nil, 60, 0]) func aTaskThatWouldWaitForItselfIsReported(
        limit seconds: Int?
    ) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [seconds] in
            alarm(240)
            let mutex = AsyncMutex(1, name: "sessions")
            let other = try await mutex.withLock { _ in
                let other = Task { try await mutex.withLock { $0 += 1 } }
                #expect(await AsyncMutexTests.count(of: mutex, becomes: 1))
                return other
            }
            try await other.value
            try await mutex.withLock { _ in
                await Task.yield()
                if let seconds {
                    _ = try await mutex.withLock(timeout: .seconds(seconds)) { $0 }
                } else {
                    _ = try await mutex.withLock { $0 }
                }
            }
        }
        #expect(result?.report.contains("interlock: AsyncMutex<Int>.withLock(0x") == true)
        #expect(
            result?.report.contains("\"sessions\"): called from inside a closure of the same mutex") == true
        )
    }
}
