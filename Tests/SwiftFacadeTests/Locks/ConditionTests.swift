// SPDX-License-Identifier: Apache-2.0
//
// Waiting under a lock for a predicate, in threads and in tasks: what every type promises. A waiter is known to wait
// when its predicate was false and the lock has been given up since.

import Foundation
import Synchronization
import Testing

import Interlock

// contract: ReadWriteLock, PriorityInheritingMutex, AsyncMutex, SafeArray, SafeDictionary, SafeSet
@Suite(.timeLimit(.minutes(10))) struct ConditionTests {
    struct Failure: Error {}

    static let kinds = [true, false]

    @Test(arguments: ConditionSubject.Kind.allCases, kinds)
    func theBodyRunsWhereThePredicateHolds(_ kind: ConditionSubject.Kind, inThread: Bool) async throws {
        let subject = kind.make()
        let seen = Pointer(Atomic<Int>(0))
        let task = await subject.waiter(inThread: inThread, for: { $0 >= 2 }) {
            seen.value.store($0, ordering: .releasing)
        }
        await subject.change { $0 = 1 }
        #expect(seen.value.load(ordering: .acquiring) == 0)
        await subject.change { $0 = 2 }
        #expect(try await task.value)
        #expect(seen.value.load(ordering: .acquiring) == 2)
        // Where it holds at once, nothing is waited for.
        #expect(try await subject.wait(inThread: inThread, for: { $0 == 2 }) { _ in }.value)
    }

    @Test(arguments: ConditionSubject.Kind.allCases, kinds)
    func aPassedLimitJudgesOnce(_ kind: ConditionSubject.Kind, inThread: Bool) async throws {
        let subject = kind.make()
        let past = ContinuousClock.now - .seconds(1)
        let judged = Pointer(Atomic<Int>(0))
        let isLate = try await !subject.wait(
            inThread: inThread,
            until: past,
            for: { _ in
                judged.value.add(1, ordering: .relaxed)
                return false
            },
            { _ in Issue.record("ran") }
        ).value
        #expect(isLate)
        #expect(judged.value.load(ordering: .relaxed) == 1)
        #expect(try await subject.wait(inThread: inThread, until: past, for: { $0 == 0 }) { _ in }.value)
    }

    @Test(arguments: ConditionSubject.Kind.allCases, kinds)
    func aWaitEndsAtItsLimit(_ kind: ConditionSubject.Kind, inThread: Bool) async throws {
        let subject = kind.make()
        let limit = ContinuousClock.now + .milliseconds(20)
        let task = subject.wait(inThread: inThread, until: limit, for: { $0 == 1 }) { _ in
            Issue.record("ran")
        }
        #expect(try await !task.value)
        #expect(ContinuousClock.now >= limit)
        // It has left nothing behind that a change would judge.
        await subject.change { $0 = 1 }
        // One in time.
        let next = await subject.waiter(inThread: inThread, for: { $0 == 2 }) { _ in }
        await subject.change { $0 = 2 }
        #expect(try await next.value)
    }

    @Test(arguments: ConditionSubject.Kind.allCases, kinds)
    func anErrorGivesTheLockUp(_ kind: ConditionSubject.Kind, inThread: Bool) async throws {
        let subject = kind.make()
        let task = await subject.waiter(inThread: inThread, for: { $0 == 1 }) {
            $0 += 1
            throw Failure()
        }
        await subject.change { $0 = 1 }
        await #expect(throws: Failure.self) { try await task.value }
        await #expect(throws: Failure.self) {
            try await subject.wait(inThread: inThread, for: { $0 > 0 }) { _ in throw Failure() }.value
        }
        let rest = subject.isExclusive ? 2 : 1
        await subject.change { #expect($0 == rest) }
    }

    @Test(arguments: ConditionSubject.Kind.allCases)
    func aCancelledTaskHasNotRun(_ kind: ConditionSubject.Kind) async throws {
        let subject = kind.make()
        let task = await subject.waiter(inThread: false, for: { $0 == 1 }) { _ in Issue.record("ran") }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        // It waits no more: no change resumes it a second time.
        await subject.change { $0 = 1 }

        let early = Task {
            await untilCancelled()
            return try await subject.suspend({ $0 == 2 }, nil) { _ in Issue.record("ran") }
        }
        early.cancel()
        await #expect(throws: CancellationError.self) { try await early.value }

        let free = Task {
            await untilCancelled()
            return try await subject.suspend({ $0 == 1 }, nil) { _ in }
        }
        free.cancel()
        #expect(try await free.value, "what needs no waiting is had though cancelled")
    }

    /// Tasks wait in this order for the same: each change lets one in, which undoes it. (A thread behind a woken task
    /// is woken too, and may come first.)
    @Test(arguments: ConditionSubject.Kind.exclusive)
    func tasksAreServedFirstComeFirstServed(_ kind: ConditionSubject.Kind) async throws {
        let subject = kind.make()
        let order = VisibleMutex([Int]())
        var tasks: [Task<Bool, any Error>] = []
        for place in 0..<8 {
            tasks.append(
                await subject.waiter(inThread: false, for: { $0 > 0 }) {
                    $0 -= 1
                    order.withLock { $0.append(place) }
                }
            )
        }
        // One leaves.
        tasks[3].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[3].value }
        for place in [0, 1, 2, 4, 5, 6, 7] {
            await subject.change { $0 += 1 }
            #expect(try await tasks[place].value)
        }
        #expect(order.withLock { $0 } == [0, 1, 2, 4, 5, 6, 7])
    }

    /// Each waits for its own number. All changes are judged by the changing thread; a waiter's own thread judges again
    /// only after a wake-up.
    @Test(arguments: ConditionSubject.Kind.ofThreads)
    func eachThreadIsWokenByItsOwnChangeAlone(_ kind: ConditionSubject.Kind) async throws {
        let subject = kind.make()
        let count = 100
        let wakeUps = VisibleMutex([Int](repeating: 0, count: count + 1))
        var tasks: [Task<Bool, any Error>] = []
        for own in 1...count {
            let thread = VisibleMutex(ObjectIdentifier?.none)
            tasks.append(
                await subject.waiter(
                    inThread: true,
                    for: { number in
                        let current = ObjectIdentifier(Thread.current)
                        let isOwn = thread.withLock { thread in
                            if thread == nil { thread = current }
                            return thread == current
                        }
                        if isOwn { wakeUps.withLock { $0[own] += 1 } }
                        return number == own
                    },
                    { _ in }
                )
            )
        }
        // The calls themselves have judged, before they waited.
        wakeUps.withLock { $0 = [Int](repeating: 0, count: count + 1) }
        for own in (1...count).shuffled() {
            await subject.change { $0 = own }
            #expect(try await tasks[own - 1].value)
        }
        #expect(wakeUps.withLock { $0.allSatisfy { $0 <= 1 } && $0.reduce(0, +) == count })
    }

    /// Each waits for its own number, on an executor that counts how often it is resumed.
    @Test(arguments: ConditionSubject.Kind.allCases)
    func eachTaskIsWokenByItsOwnChangeAlone(_ kind: ConditionSubject.Kind) async throws {
        let subject = kind.make()
        let count = 100
        let judgedTrue = VisibleMutex([Int](repeating: 0, count: count + 1))
        let executors = (0...count).map { _ in ResumptionCounter() }
        var tasks: [Task<Bool, any Error>] = []
        for own in 1...count {
            let predicate: ConditionSubject.Predicate = { number in
                if number == own { judgedTrue.withLock { $0[own] += 1 } }
                return number == own
            }
            tasks.append(await subject.waiter(on: executors[own], for: predicate) { _ in })
        }
        #expect(await eventuallySuspending { executors.dropFirst().allSatisfy(\.isIdle) })
        for executor in executors { executor.reset() }
        for own in (1...count).shuffled() {
            let others = executors.enumerated().filter { $0.offset != own }.map(\.element)
            let before = others.map(\.count)
            await subject.change { $0 = own }
            #expect(try await tasks[own - 1].value)
            #expect(others.map(\.count) == before)
        }
        // By the thread that chose the task, and by the task.
        #expect(judgedTrue.withLock { $0.allSatisfy { $0 <= 2 } })
    }

    /// All wait for one unit: a change that brings one resumes one.
    @Test(arguments: ConditionSubject.Kind.exclusive)
    func oneChangeResumesOneOfTheTasksThatItServes(_ kind: ConditionSubject.Kind) async throws {
        let subject = kind.make()
        let executors = (0..<4).map { _ in ResumptionCounter() }
        var tasks: [Task<Bool, any Error>] = []
        for executor in executors {
            tasks.append(await subject.waiter(on: executor, for: { $0 > 0 }) { $0 -= 1 })
            #expect(await eventuallySuspending { executor.isIdle })
        }
        for (served, task) in tasks.enumerated() {
            let others = executors[(served + 1)...]
            let before = others.map(\.count)
            await subject.change { $0 += 1 }
            #expect(try await task.value)
            #expect(others.map(\.count) == before)
        }
    }

    /// Both wait for one unit. One is cancelled, or late, beside the change that wakes one of them: it has the unit, or
    /// the other has.
    @Test(arguments: ConditionSubject.Kind.exclusive, kinds)
    func aWakeUpBesideACancellationIsNotLost(_ kind: ConditionSubject.Kind, otherIsThread: Bool) async throws
    {
        let subject = kind.make()
        var taken = 0
        for round in 0..<1_000 {
            let one = await subject.waiter(inThread: false, for: { $0 > 0 }) { $0 -= 1 }
            let other = await subject.waiter(inThread: otherIsThread, for: { $0 > 0 }) { $0 -= 1 }
            let cancelling = Task {
                for _ in 0..<round % 8 { await Task.yield() }
                one.cancel()
            }
            for _ in 0..<round / 8 % 8 { await Task.yield() }
            await subject.change { $0 += 1 }
            await cancelling.value
            let hasRun = try await one.hasRun
            if hasRun {
                taken += 1
                await subject.change { $0 += 1 }
            }
            #expect(try await other.value)
            await subject.change { #expect($0 == 0) }
        }
        print("\(subject.name): \(taken) of 1,000 before their cancellation")
    }

    @Test(arguments: ConditionSubject.Kind.exclusive, kinds)
    func aWakeUpBesideATimeOutIsNotLost(_ kind: ConditionSubject.Kind, inThread: Bool) async throws {
        let subject = kind.make()
        var taken = 0
        for round in 0..<1_000 {
            let limit = ContinuousClock.now + .microseconds(round % 200)
            let one = subject.wait(inThread: inThread, until: limit, for: { $0 > 0 }) { $0 -= 1 }
            let other = await subject.waiter(inThread: !inThread, for: { $0 > 0 }) { $0 -= 1 }
            await subject.change { $0 += 1 }
            if try await one.value {
                taken += 1
                await subject.change { $0 += 1 }
            }
            #expect(try await other.value)
            await subject.change { #expect($0 == 0) }
        }
        print("\(subject.name): \(taken) of 1,000 in time")
    }

    /// More tasks wait than the pool has threads; others run all the same.
    @Test(arguments: ConditionSubject.Kind.allCases)
    func tasksThatWaitHoldNoThread(_ kind: ConditionSubject.Kind) async throws {
        let subject = kind.make()
        let judged = Pointer(Atomic<Int>(0))
        // More than the threads of the tests beside it, which are counted too.
        let count = 1_500
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<count {
                group.addTask {
                    let isFirst = Pointer(Atomic<Bool>(true))
                    return try await subject.suspend(
                        { number in
                            if isFirst.value.exchange(false, ordering: .relaxed) {
                                judged.value.add(1, ordering: .relaxed)
                            }
                            return number > 0
                        },
                        nil
                    ) { _ in }
                }
            }
            #expect(await eventuallySuspending { judged.value.load(ordering: .relaxed) == count })
            #expect(threadNames().count < count / 2)
            await subject.change { $0 = 1 }
            for try await holds in group { #expect(holds) }
        }
    }

    /// The captures of a wait go with it, whichever way it ends.
    @Test(arguments: ConditionSubject.Kind.allCases, kinds)
    func aWaitKeepsNothing(_ kind: ConditionSubject.Kind, inThread: Bool) async throws {
        let subject = kind.make()
        let counter = LifetimeCounter()
        for round in 0..<3 {
            let captured = Counted(0, counter)
            let task = await subject.waiter(
                inThread: inThread,
                for: {
                    _ = captured; return $0 > 0
                }
            ) { _ in
                _ = captured
            }
            if round == 0, !inThread || subject.block == nil {
                task.cancel()
                _ = try await task.hasRun
            } else {
                await subject.change { $0 = 1 }
                #expect(try await task.value)
                await subject.change { $0 = 0 }
            }
        }
        #expect(await eventuallySuspending { counter.living == 0 })
    }
}

extension Task where Success == Bool, Failure == any Error {
    /// False if it was cancelled first.
    fileprivate var hasRun: Bool {
        get async throws {
            do { return try await value } catch is CancellationError { return false }
        }
    }
}

/// Runs jobs, and counts those it has been given.
private final class ResumptionCounter: TaskExecutor {
    private let given = Atomic<Int>(0)
    private let open = Atomic<Int>(0)

    var count: Int { given.load(ordering: .acquiring) }
    var isIdle: Bool { open.load(ordering: .acquiring) == 0 }
    func reset() { given.store(0, ordering: .releasing) }

    func enqueue(_ job: consuming ExecutorJob) {
        given.add(1, ordering: .acquiringAndReleasing)
        open.add(1, ordering: .acquiringAndReleasing)
        let job = UnownedJob(job)
        DispatchQueue.global().async {
            job.runSynchronously(on: self.asUnownedTaskExecutor())
            self.open.subtract(1, ordering: .acquiringAndReleasing)
        }
    }
}
