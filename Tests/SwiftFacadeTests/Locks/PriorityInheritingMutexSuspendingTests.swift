// SPDX-License-Identifier: Apache-2.0
//
// The inheriting mutex with tasks: exclusion with threads, limits, cancellation, errors, lending, and that a waiting
// task holds no thread of the cooperative pool.

import Foundation
import Synchronization
import Testing

import Interlock
@testable import InterlockSync
// contract: PriorityInheritingMutex
@Suite(.serialized, .timeLimit(.minutes(10))) struct PriorityInheritingMutexSuspendingTests {
    private final class Shared<Value: ~Copyable>: Sendable {
        let mutex: PriorityInheritingMutex<Value>

        init(_ value: consuming sending Value) { mutex = PriorityInheritingMutex(value) }

        func hold() -> LockHolder { LockHolder { section in self.mutex.withLock { _ in section() } } }
    }

    /// The threads that wait for tasks, as the system shows them.
    private static func waitingThreads() -> Int { threadNames().count { $0.hasPrefix("interlock.mutex") } }

    @Test func threadsAndTasksNeverOverlap() async throws {
        let shared = Shared(0)
        let threads = (0..<2).map { _ in
            TestThread { for _ in 0..<2_000 { shared.mutex.withLock { $0 += 1 } } }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<500 { try await shared.mutex.withLock { $0 += 1 } } }
            }
            try await group.waitForAll()
        }
        threads.forEach { $0.join() }
        #expect(try await shared.mutex.withLock { $0 } == 6_000)
    }

    /// holder: [ has the mutex ································ lets go ]
    /// tasks:        wait, more of them than the pool has threads      [ one after another ]
    /// others:       run all the same
    @Test func tasksThatWaitHoldNoThreadOfThePool() async throws {
        let shared = Shared(0)
        let holder = shared.hold()
        let count = 4 * ProcessInfo.processInfo.activeProcessorCount
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count { group.addTask { try await shared.mutex.withLock { $0 += 1 } } }
            #expect(await eventuallySuspending { shared.mutex.storage.errands.count == count })
            await withTaskGroup(of: Void.self) { others in
                for _ in 0..<100 { others.addTask { await Task.yield() } }
            }
            holder.letGo()
            try await group.waitForAll()
        }
        #expect(try await shared.mutex.withLock { $0 } == count)
        #expect(await eventuallySuspending { Self.waitingThreads() == 0 })
    }

    /// holder: [ has the mutex ················································· lets go ]
    /// tasks:        wait: one thread ── all but one cancelled, and go on              [ the one ]
    @Test func waitingAndCancelledTasksShareOneThread() async throws {
        let shared = Shared(0)
        let holder = shared.hold()
        let count = 500
        let tasks = (0..<count).map { _ in Task { try await shared.mutex.withLock { $0 += 1 } } }
        #expect(await eventuallySuspending { shared.mutex.storage.errands.count == count })
        // A thread names itself, later.
        #expect(await eventuallySuspending { Self.waitingThreads() == 1 })
        for task in tasks.dropFirst() { task.cancel() }
        for task in tasks.dropFirst() {
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(shared.mutex.storage.errands.count == 1 && Self.waitingThreads() == 1)
        holder.letGo()
        try await tasks[0].value
        #expect(try await shared.mutex.withLock { $0 } == 1)
        #expect(await eventuallySuspending { Self.waitingThreads() == 0 })
    }

    /// Where a task is resumed, there it finds a mutex free or held.
    private final class Probe: TaskExecutor {
        let shared: Shared<Int>
        let isWaiting = Atomic<Bool>(false)
        let resumed = Atomic<Int>(0)
        let foundItHeld = Atomic<Int>(0)

        init(_ shared: Shared<Int>) { self.shared = shared }

        func enqueue(_ job: consuming ExecutorJob) {
            if isWaiting.load(ordering: .acquiring) {
                resumed.add(1, ordering: .relaxed)
                if shared.mutex.withLockIfAvailable({ $0 }) == nil { foundItHeld.add(1, ordering: .relaxed) }
            }
            let job = UnownedJob(job)
            DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    /// thread: runs the closure ── unlocks ── resumes the task, whose executor tries the mutex
    @Test func theMutexIsFreeWhenItsTaskGoesOn() async throws {
        var resumed = 0
        // A task that gets the mutex before it has quite suspended is not resumed.
        for _ in 0..<100 where resumed == 0 {
            let shared = Shared(0)
            let holder = shared.hold()
            let probe = Probe(shared)
            let task = Task(executorPreference: probe) { try await shared.mutex.withLock { $0 += 1 } }
            #expect(await eventuallySuspending { shared.mutex.storage.errands.count == 1 })
            probe.isWaiting.store(true, ordering: .releasing)
            holder.letGo()
            try await task.value
            resumed = probe.resumed.load(ordering: .relaxed)
            #expect(probe.foundItHeld.load(ordering: .relaxed) == 0)
        }
        #expect(resumed > 0)
    }

    private enum Trace { @TaskLocal static var id = "none" }

    @Test(arguments: [false, true]) func theClosureHasTheTaskLocalsOfItsCaller(waiting: Bool) async throws {
        let shared = Shared(0)
        let holder = waiting ? shared.hold() : nil
        let task = Trace.$id.withValue("request 7") {
            Task { try await shared.mutex.withLock { _ in Trace.id } }
        }
        if let holder {
            #expect(await eventuallySuspending { Self.waitingThreads() == 1 })
            holder.letGo()
        }
        #expect(try await task.value == "request 7")
    }

    /// closure:   begins ············ sees it, ends
    /// canceller:        ── cancels ──▶
    @Test(arguments: [false, true]) func theClosureSeesThatItsTaskIsCancelled(waiting: Bool) async throws {
        let shared = Shared(0)
        let holder = waiting ? shared.hold() : nil
        let begun = Event()
        let task = Task {
            try await shared.mutex.withLock { _ in
                let before = Task.isCancelled
                begun.happen()
                return !before && eventually { Task.isCancelled }
            }
        }
        let canceller = TestThread {
            begun.wait()
            task.cancel()
        }
        if let holder {
            #expect(await eventuallySuspending { Self.waitingThreads() == 1 })
            holder.letGo()
        }
        #expect(try await task.value)
        canceller.join()
    }

    /// task:   waits ── cancelled: goes on, and what its closure captured is gone
    /// holder: has the mutex all the time; then it and the mutex go
    @Test func aCancelledWaitEndsAtOnceAndLeavesNothingBehind() async throws {
        let values = LifetimeCounter()
        let captures = LifetimeCounter()
        do {
            let shared = Shared(Counted(0, values))
            let holder = shared.hold()
            let captured = Counted(1, captures)
            let task = Task { [captured] in
                try await shared.mutex.withLock { _ in Issue.record("ran \(captured)") }
            }
            #expect(await eventuallySuspending { Self.waitingThreads() == 1 })
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            holder.letGo()
        }
        #expect(await eventuallySuspending { captures.living == 0 && values.living == 0 })
        #expect(await eventuallySuspending { Self.waitingThreads() == 0 })
    }

    @Test func whatACancelledClosureCapturedIsReleasedWhileTheMutexIsStillHeld() async throws {
        let captures = LifetimeCounter()
        let shared = Shared(0)
        let holder = shared.hold()
        let task = Task {
            let captured = Counted(1, captures)
            try await shared.mutex.withLock { $0 += captured.id }
        }
        #expect(await eventuallySuspending { Self.waitingThreads() == 1 })
        task.cancel()
        _ = await task.result
        #expect(captures.living == 0)
        #expect(Self.waitingThreads() == 1, "the thread cannot be called back")
        holder.letGo()
        #expect(await eventuallySuspending { Self.waitingThreads() == 0 })
        #expect(try await shared.mutex.withLock { $0 } == 0)
    }

    @Test func aCancelledTaskStillTakesAFreeMutexAndDoesNotWaitForATakenOne() async throws {
        let shared = Shared(0)
        let free = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await shared.mutex.withLock { $0 += 1 }
        }
        try await free.value
        let holder = shared.hold()
        let taken = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await shared.mutex.withLock { $0 += 1 }
        }
        await #expect(throws: CancellationError.self) { try await taken.value }
        #expect(Self.waitingThreads() == 0, "none was made")
        holder.letGo()
        #expect(try await shared.mutex.withLock { $0 } == 1)
    }

    /// The closure has run and its result comes, or it never runs.
    @Test func cancellationRacingAReleaseRunsAllOrNothing() async throws {
        for _ in 0..<200 {
            let shared = Shared(0)
            let holder = shared.hold()
            let task = Task {
                try await shared.mutex.withLock {
                    $0 += 1
                    return $0
                }
            }
            async let released: Void = Task.detached { holder.letGo() }.value
            task.cancel()
            await released
            let result = try? await task.value
            #expect(try await shared.mutex.withLock { $0 } == (result == nil ? 0 : 1))
        }
        #expect(await eventuallySuspending { Self.waitingThreads() == 0 })
    }

    @Test func limitsAreKept() async throws {
        let shared = Shared(0)
        let holder = shared.hold()
        let begin = ContinuousClock.now
        let late: Void? = try await shared.mutex.withLock(timeout: .milliseconds(20)) { _ in
            Issue.record("ran")
        }
        #expect(late == nil && ContinuousClock.now - begin >= .milliseconds(20))
        let passed: Void? = try await shared.mutex.withLock(until: begin) { _ in Issue.record("ran") }
        #expect(passed == nil)
        let waiting = Task { try await shared.mutex.withLock(timeout: .seconds(Int64.max)) { $0 + 1 } }
        #expect(await eventuallySuspending { Self.waitingThreads() == 1 })
        holder.letGo()
        #expect(try await waiting.value == 1)
        #expect(
            try await shared.mutex.withLock(until: begin) { $0 } == 0,
            "a passed deadline takes a free one"
        )
        #expect(await eventuallySuspending { Self.waitingThreads() == 0 })
    }

    enum Refusal: Error, Equatable { case refused }

    @Test(arguments: [false, true]) func errorsComeThroughAndTheMutexIsGivenUp(waiting: Bool) async throws {
        let shared = Shared(0)
        for limited in [false, true] {
            let holder = waiting ? shared.hold() : nil
            let task = Task {
                if limited {
                    try await shared.mutex.withLock(timeout: .seconds(60)) { (value) throws(Refusal) in
                        value += 1
                        throw .refused
                    }
                } else {
                    try await shared.mutex.withLock { (value) throws(Refusal) in
                        value += 1
                        throw .refused
                    }
                }
            }
            if let holder {
                #expect(await eventuallySuspending { Self.waitingThreads() == 1 })
                holder.letGo()
            }
            await #expect(throws: Refusal.refused) { try await task.value }
            #expect(await eventuallySuspending { Self.waitingThreads() == 0 })
        }
        #expect(try await shared.mutex.withLock { $0 } == 2)
        let holder = shared.hold()
        let cancelled = Task { try await shared.mutex.withLock { _ in throw Refusal.refused } }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        holder.letGo()
    }

    @Test func noncopyableValuesAndResultsGoThrough() async throws {
        let counter = LifetimeCounter()
        do {
            let shared = Shared(Optional(CountedUnique(7, counter)))
            let holder = shared.hold()
            let task = Task {
                let taken = try await shared.mutex.withLock { value in value.take() }
                return id(taken)
            }
            #expect(await eventuallySuspending { Self.waitingThreads() == 1 })
            holder.letGo()
            #expect(try await task.value == 7)
            #expect(counter.living == 0)
        }
        #expect(counter.total == 1)
    }

    @MainActor @Test func theCallerStaysOnItsActor() async throws {
        let shared = Shared(0)
        let holder = shared.hold()
        Task.detached {
            #expect(await eventuallySuspending { Self.waitingThreads() == 1 })
            holder.letGo()
        }
        try await shared.mutex.withLock { $0 += 1 }
        MainActor.assertIsolated()
    }

    /// An ordinary thread takes the mutex, and lets go once it runs at priority 20. The answer waits for it.
    private static func holdUntilRaised<Value: ~Copyable>(_ shared: Shared<Value>) -> () -> Bool {
        let held = Event()
        let raised = Event()
        let low = TestThread {
            shared.mutex.withLock { _ in
                held.happen()
                if eventually({ RealTime.effective == 20 }) { raised.happen() }
            }
        }
        held.wait()
        return {
            low.join()
            return raised.wait(.seconds(0))
        }
    }

    /// low:    [ holds ──────────────── its own priority seen to be the task's ── lets go ]
    /// task:            waits, on an executor of priority 20 ·········· [ runs at priority 20 ]
    @Test(.enabled(if: RealTime.isAllowed, "no privilege for SCHED_FIFO"))
    func aTaskLendsThePriorityOfTheThreadItRunsOn() async throws {
        let shared = Shared(0)
        let wasRaised = Self.holdUntilRaised(shared)
        let executor = ScheduledExecutor(priority: 20)
        let task = Task(executorPreference: executor) {
            let before = RealTime.own
            let inside = try await shared.mutex.withLock { _ in RealTime.own }
            return [before, inside]
        }
        #expect(try await task.value == [20, 20])
        #expect(wasRaised())
        executor.stop()
    }

    @Test(.enabled(if: RealTime.isAllowed, "no privilege for SCHED_FIFO"))
    func aThreadThatHandsNoSchedulingOnLendsNone() async throws {
        let shared = Shared(0)
        let holder = shared.hold()
        let executor = ScheduledExecutor(priority: 20, inherited: false)
        let task = Task(executorPreference: executor) {
            let before = RealTime.effective
            let inside = try await shared.mutex.withLock { _ in RealTime.effective }
            return [before, inside]
        }
        #expect(await eventuallySuspending { shared.mutex.storage.errands.count == 1 })
        holder.letGo()
        #expect(try await task.value == [20, 0])
        executor.stop()
    }

    /// low:      [ holds ────────────────────── its own priority seen to be the later task's ── lets go ]
    /// ordinary:       waits ································································ [ last ]
    /// later:                 waits, on an executor of priority 20 ·············· [ first, at priority 20 ]
    @Test(.enabled(if: RealTime.isAllowed, "no privilege for SCHED_FIFO"))
    func aLaterTaskLendsItsPriorityAndGoesFirst() async throws {
        let shared = Shared([Int32]())
        let wasRaised = Self.holdUntilRaised(shared)
        let ordinary = (0..<4).map { _ in
            Task { try await shared.mutex.withLock { $0.append(RealTime.own) } }
        }
        #expect(await eventuallySuspending { shared.mutex.storage.errands.count == 4 })
        let executor = ScheduledExecutor(priority: 20)
        let later = Task(executorPreference: executor) {
            try await shared.mutex.withLock { $0.append(RealTime.own) }
        }
        try await later.value
        for task in ordinary { try await task.value }
        #expect(wasRaised())
        executor.stop()
        #expect(try await shared.mutex.withLock { $0 } == [20, 0, 0, 0, 0])
    }

    /// holder:   [ holds ··············································· lets go ]
    /// ordinary:       waits: one thread
    /// nice:                  waits, on an executor of nice value 7: another thread [ runs at 7 ]
    @Test func tasksWhoseThreadsAreOfDifferentNiceValuesShareNoThread() async throws {
        let shared = Shared(0)
        let holder = shared.hold()
        let ordinary = Task { try await shared.mutex.withLock { _ in RealTime.nice } }
        #expect(await eventuallySuspending { shared.mutex.storage.errands.count == 1 })
        let executor = ScheduledExecutor(nice: 7)
        let nice = Task(executorPreference: executor) {
            try await shared.mutex.withLock { _ in RealTime.nice }
        }
        #expect(await eventuallySuspending { shared.mutex.storage.errands.count == 2 })
        holder.letGo()
        #expect(try await nice.value == 7)
        #expect(try await ordinary.value != 7)
        executor.stop()
    }
}
