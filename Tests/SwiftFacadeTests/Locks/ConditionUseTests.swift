// SPDX-License-Identifier: Apache-2.0
//
// Waiting for a predicate in use: a bounded buffer, and what single types promise beyond ConditionTests.swift.

import Foundation
import Synchronization
import Testing

import Interlock
@testable import InterlockSync

/// The guide's: at most `capacity` elements between threads and tasks, first in, first out.
private final class BoundedBuffer<Element: Sendable>: Sendable {
    private let elements = ReadWriteLock<[Element]>([])
    private let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    func put(_ element: Element) {
        elements.withWriteLock(when: { [capacity] in $0.count < capacity }) { $0.append(element) }
    }

    func put(_ element: Element) async throws {
        try await elements.withWriteLock(when: { [capacity] in $0.count < capacity }) { $0.append(element) }
    }

    func take() -> Element {
        elements.withWriteLock(when: { !$0.isEmpty }) { $0.removeFirst() }
    }

    func take() async throws -> Element {
        try await elements.withWriteLock(when: { !$0.isEmpty }) { $0.removeFirst() }
    }
}

@Suite(.timeLimit(.minutes(10))) struct ConditionUseTests {
    /// Two threads and two tasks put, and as many take.
    private func move(
        _ each: Int,
        put: @escaping @Sendable (Counted) -> Void,
        putSuspending: @escaping @Sendable (Counted) async throws -> Void,
        take: @escaping @Sendable () -> Counted,
        takeSuspending: @escaping @Sendable () async throws -> Counted
    ) async throws {
        let counter = LifetimeCounter()
        let arrived = Pointer(VisibleMutex([Int]()))
        let threads = (0..<2).flatMap { index in
            [
                TestThread { for n in 0..<each { put(Counted(index * each + n, counter)) } },
                TestThread {
                    for _ in 0..<each {
                        let id = take().id
                        arrived.value.withLock { $0.append(id) }
                    }
                },
            ]
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 2..<4 {
                group.addTask {
                    for n in 0..<each { try await putSuspending(Counted(index * each + n, counter)) }
                }
                group.addTask {
                    for _ in 0..<each {
                        let id = try await takeSuspending().id
                        arrived.value.withLock { $0.append(id) }
                    }
                }
            }
            try await group.waitForAll()
        }
        for thread in threads { thread.join() }
        #expect(arrived.value.withLock { $0.sorted() } == Array(0..<4 * each))
        #expect(counter.living == 0 && counter.total == 4 * each)
    }

    // contract: ReadWriteLock
    @Test(arguments: [1, 3]) func eachElementOfABufferIsMovedOnce(capacity: Int) async throws {
        let buffer = BoundedBuffer<Counted>(capacity: capacity)
        try await move(
            2_000,
            put: { buffer.put($0) },
            putSuspending: { try await buffer.put($0) },
            take: { buffer.take() },
            takeSuspending: { try await buffer.take() }
        )
    }

    // contract: PriorityInheritingMutex
    @Test(arguments: [1, 3]) func eachElementOfAMutexBufferIsMovedOnce(capacity: Int) async throws {
        let elements = Pointer(PriorityInheritingMutex([Counted]()))
        try await move(
            1_000,
            put: { new in elements.value.withLock(when: { $0.count < capacity }) { $0.append(new) } },
            putSuspending: { new in
                try await elements.value.withLock(when: { $0.count < capacity }) { $0.append(new) }
            },
            take: { elements.value.withLock(when: { !$0.isEmpty }) { $0.removeFirst() } },
            takeSuspending: { try await elements.value.withLock(when: { !$0.isEmpty }) { $0.removeFirst() } }
        )
    }

    // contract: AsyncMutex
    @Test func eachElementOfAnAsyncBufferIsMovedOnce() async throws {
        let elements = AsyncMutex<[Int]>([])
        let count = 1_000
        let taken = try await withThrowingTaskGroup(of: [Int].self) { group in
            for producer in 0..<4 {
                group.addTask {
                    for n in 0..<count {
                        try await elements.withLock(when: { $0.count < 2 }) { elements in
                            await Task.yield()
                            elements.append(producer * count + n)
                        }
                    }
                    return []
                }
                group.addTask {
                    var taken: [Int] = []
                    for _ in 0..<count {
                        taken.append(try await elements.withLock(when: { !$0.isEmpty }) { $0.removeFirst() })
                    }
                    return taken
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(taken.sorted() == Array(0..<4 * count))
    }

    /// Without a change that a waiter asks for, the mutex is others'.
    // contract: AsyncMutex
    @Test func aWaiterWhosePredicateIsFalseIsPassedOver() async throws {
        let mutex = AsyncMutex(0)
        let holder = try await AsyncMutexTests.Holder(of: mutex)
        let first = Task { try await mutex.withLock(when: { $0 == 2 }) { $0 += 1 } }
        #expect(await eventuallySuspending { mutex.waiterCount == 1 })
        let second = Task { try await mutex.withLock { $0 += 1 } }
        #expect(await eventuallySuspending { mutex.waiterCount == 2 })
        let third = Task { try await mutex.withLock(when: { $0 == 1 }) { $0 += 1 } }
        #expect(await eventuallySuspending { mutex.waiterCount == 3 })
        try await holder.letGo()
        try await second.value
        try await third.value
        try await first.value
        #expect(try await mutex.withLock { $0 } == 3)
    }

    /// All are inside at once.
    // contract: ReadWriteLock
    @Test func oneChangeLetsAllReadersIn() async throws {
        let shared = SharedReadWriteLock(0)
        let readers = 4
        let judged = Pointer(Atomic<Int>(0))
        let meeting = Barrier(parties: readers)
        let threads = (0..<readers).map { _ in
            TestThread {
                let isFirst = Atomic<Bool>(true)
                shared.lock.withReadLock(when: { number in
                    if isFirst.exchange(false, ordering: .relaxed) { judged.value.add(1, ordering: .relaxed) }
                    return number > 0
                }) { _ in _ = meeting.wait() }
            }
        }
        #expect(await eventuallySuspending { judged.value.load(ordering: .relaxed) == readers })
        shared.withWriteLock { $0 = 1 }
        for thread in threads { thread.join() }
    }

    /// The thread that downgrades judges for those that wait, and is not taken for a section of its own.
    @Test func aDowngradeServesThoseThatWait() async throws {
        let shared = SharedReadWriteLock(0)
        let judged = Pointer(Atomic<Int>(0))
        let wanted: @Sendable (borrowing Int) -> Bool = { number in
            judged.value.add(1, ordering: .relaxed)
            return number == 1
        }
        let threads = [
            TestThread { shared.lock.withWriteLock(when: wanted) { _ in } },
            TestThread { shared.lock.withReadLock(when: wanted) { _ in } },
        ]
        async let writing: Void = shared.lock.withWriteLock(when: wanted) { _ in }
        async let reading: Void = shared.lock.withReadLock(when: wanted) { _ in }
        #expect(await eventuallySuspending { judged.value.load(ordering: .relaxed) >= 4 })
        shared.lock.withWriteLock({ $0 = 1 }, downgrading: { number, _ in #expect(number == 1) })
        for thread in threads { thread.join() }
        _ = try await (writing, reading)
    }

    /// What a worker waits for comes from a job of its own pool.
    // contract: WorkerPool
    @Test func aWorkerThatWaitsForAPredicateLeavesItsJobsToAnother() async throws {
        let pool = try WorkerPool(name: "conditions", threads: 1)
        let shared = SharedReadWriteLock(0)
        let isJudged = Pointer(Atomic<Bool>(false))
        let waiting = Task {
            try await pool.run {
                shared.lock.withWriteLock(when: {
                    isJudged.value.store(true, ordering: .releasing)
                    return $0 > 0
                }) { $0 -= 1 }
            }
        }
        #expect(await eventuallySuspending { isJudged.value.load(ordering: .acquiring) })
        try await pool.run { shared.withWriteLock { $0 += 1 } }
        try await waiting.value
        #expect(shared.withReadLock { $0 } == 0)
    }

    private actor Owner {
        var count = 0

        func add(when lock: SharedReadWriteLock<Int>, is wanted: Int) async throws {
            try await lock.lock.withWriteLock(when: { $0 == wanted }) {
                // The body is this actor's.
                count += $0
                assertIsolated()
            }
        }
    }

    // contract: ReadWriteLock
    @Test func theBodyRunsOnTheCallersActor() async throws {
        let shared = SharedReadWriteLock(0)
        let owner = Owner()
        let waiting = (1...8).map { wanted in Task { try await owner.add(when: shared, is: wanted) } }
        for number in 1...8 {
            shared.withWriteLock { $0 = number }
            try await waiting[number - 1].value
        }
        #expect(await owner.count == 36)
    }

    private struct Unique: ~Copyable, Sendable {
        var number = 0
    }

    // contract: ReadWriteLock, PriorityInheritingMutex, AsyncMutex
    @Test func noncopyableValuesAndOutputs() async throws {
        let past = ContinuousClock.now
        let shared = SharedReadWriteLock(Unique(number: 1))
        let mutex = Pointer(PriorityInheritingMutex(Unique(number: 1)))
        let asyncMutex = AsyncMutex(Unique(number: 1))
        func number(_ output: consuming Unique?) -> Int? {
            switch consume output {
            case .some(let output): output.number
            case .none: nil
            }
        }
        let written = number(
            try await shared.lock.withWriteLock(when: { $0.number == 1 }) { Unique(number: $0.number) }
        )
        let read = number(
            try await shared.lock.withReadLock(when: { $0.number == 1 }, until: past) {
                Unique(number: $0.number)
            }
        )
        let locked = number(
            try await mutex.value.withLock(when: { $0.number == 1 }) { Unique(number: $0.number) }
        )
        let asyncLocked = number(
            try await asyncMutex.withLock(when: { $0.number == 1 }) { Unique(number: $0.number) }
        )
        #expect([written, read, locked, asyncLocked] == [1, 1, 1, 1])
        func inThread() -> [Int?] {
            [
                number(mutex.value.withLock(when: { $0.number == 1 }) { Unique(number: $0.number) }),
                number(
                    shared.lock.withReadLock(when: { $0.number == 2 }, until: past) {
                        Unique(number: $0.number)
                    }
                ),
            ]
        }
        #expect(inThread() == [1, nil])
    }

    // contract: SafeArray, SafeDictionary, SafeSet
    @Test func observersSeeWhatAWaitersBodyChanged() async throws {
        let array = SafeArray([Int]())
        let changes = array.changes()
        let task = Task { try await array.withWriteLock(when: { $0.count == 1 }) { $0.append(2) } }
        array.append(1)
        try await task.value
        var seen: [Int] = []
        for await change in changes {
            change.apply(to: &seen)
            if seen.count == 2 { break }
        }
        #expect(seen == [1, 2])
    }

    /// holder:  [ holds ················· lets go ]
    /// waiter:          asks for the lock, late
    // contract: ReadWriteLock, PriorityInheritingMutex, SafeArray, SafeDictionary, SafeSet
    @Test(arguments: ConditionSubject.Kind.ofThreads)
    func theLimitIsAlsoThatOfTheWaitForTheLock(_ kind: ConditionSubject.Kind) async throws {
        let subject = kind.make()
        let (isHeld, end) = (Event(), Event())
        let hold: @Sendable (Int) -> Void = { _ in
            isHeld.happen()
            end.wait()
        }
        // Readers hold it together.
        let holder =
            subject.isExclusive
            ? subject.wait(inThread: true, for: { _ in true }, { hold($0) })
            : Task(executorPreference: WorkerPool.blocking) {
                await subject.change { hold($0) }
                return true
            }
        #expect(await blocking { isHeld.wait() })
        // The forms that suspend wait for the other locks in a thread.
        for inThread in kind == .mutex ? [true, false] : [true] {
            let limit = ContinuousClock.now + .milliseconds(20)
            let waiter = subject.wait(inThread: inThread, until: limit, for: { _ in true }) { _ in
                Issue.record("the lock was held until then")
            }
            #expect(try await !waiter.value)
        }
        end.happen()
        #expect(try await holder.value)
    }

    private enum Trace { @TaskLocal static var id = "none" }

    /// holder: [ holds ─ changes, gives up ]
    /// next:        waits in the mutex     [ holds ································ lets go ]
    /// task:     waits for the change       is woken, finds the mutex taken: a thread waits   [ runs the body ]
    // contract: PriorityInheritingMutex
    @Test func aWokenTaskFindsTheMutexTaken() async throws {
        let mutex = Pointer(PriorityInheritingMutex(0))
        let isJudged = Pointer(Atomic<Bool>(false))
        let task = Trace.$id.withValue("mine") {
            Task {
                try await mutex.value.withLock(when: {
                    isJudged.value.store(true, ordering: .releasing)
                    return $0 == 1
                }) { number in
                    number = 2
                    return Trace.id
                }
            }
        }
        #expect(await eventuallySuspending { isJudged.value.load(ordering: .acquiring) })
        let end = Event()
        let isTaken = Event()
        let thread = TestThread {
            mutex.value.withLock { $0 = 0 }
            let next = VisibleMutex<TestThread?>(nil)
            mutex.value.withLock { number in
                next.withLock {
                    $0 = TestThread {
                        mutex.value.withLock { _ in
                            isTaken.happen()
                            end.wait()
                        }
                    }
                }
                // Bit 31: the next sleeps in the kernel, which hands the mutex over.
                _ = eventually {
                    mutex.value.storage.storage.base.assumingMemoryBound(to: Atomic<UInt32>.self)
                        .pointee.load(ordering: .relaxed) >> 31 == 1
                }
                number = 1
            }
            next.withLock { $0.take() }?.join()
        }
        isTaken.wait()
        #expect(await eventuallySuspending { mutex.value.storage.errands.count == 1 })
        end.happen()
        #expect(try await task.value == "mine")
        thread.join()
        #expect(try await mutex.value.withLock { $0 } == 2)
    }

    /// holder:             [ holds ················ lets go ]
    /// task:     waits          late, finds it taken           leaves
    // contract: PriorityInheritingMutex
    @Test func aTaskLateWhileTheMutexIsTakenLeaves() async throws {
        let mutex = Pointer(PriorityInheritingMutex(0))
        // A limit that passes before the mutex is taken, on a busy machine, shows nothing.
        for limit in [Duration.milliseconds(50), .milliseconds(500), .seconds(5), .seconds(20)] {
            let (judged, isOver) = (Pointer(Atomic<Bool>(false)), Pointer(Atomic<Bool>(false)))
            let deadline = ContinuousClock.now + limit
            let task = Task {
                defer { isOver.value.store(true, ordering: .releasing) }
                return try await mutex.value.withLock(
                    when: {
                        judged.value.store(true, ordering: .releasing)
                        return $0 > 0
                    },
                    until: deadline
                ) { _ in Issue.record("ran") } != nil
            }
            #expect(await eventuallySuspending { judged.value.load(ordering: .acquiring) })
            let holder = await blocking { LockHolder { section in mutex.value.withLock { _ in section() } } }
            let inTime = ContinuousClock.now < deadline
            if inTime {
                #expect(
                    await eventuallySuspending {
                        mutex.value.storage.errands.count == 1 || isOver.value.load(ordering: .acquiring)
                    }
                )
                let hasLeft = isOver.value.load(ordering: .acquiring)
                #expect(!hasLeft, "it leaves under the mutex")
            }
            holder.letGo()
            #expect(try await !task.value)
            if inTime { return }
        }
        Issue.record("the limit passed before the mutex was taken")
    }

    /// holder:             [ holds ················ lets go ]
    /// task:     waits          cancelled, finds it taken      leaves
    /// other:    waits                                                 is woken by the next change
    // contract: PriorityInheritingMutex
    @Test func aTaskCancelledWhileTheMutexIsTakenLeaves() async throws {
        let mutex = Pointer(PriorityInheritingMutex(0))
        let subject = ConditionSubject(
            name: "",
            change: { body in try! await Task { try await mutex.value.withLock { body(&$0) } }.value },
            block: nil,
            suspend: { predicate, _, body in
                try await mutex.value.withLock(when: { predicate($0) }) { try body(&$0) }
                return true
            }
        )
        let one = await subject.waiter(inThread: false, for: { $0 > 0 }) { $0 -= 1 }
        let other = await subject.waiter(inThread: false, for: { $0 > 0 }) { $0 -= 1 }
        let holder = LockHolder { section in mutex.value.withLock { _ in section() } }
        one.cancel()
        #expect(await eventuallySuspending { mutex.value.storage.errands.count == 1 })
        holder.letGo()
        await #expect(throws: CancellationError.self) { try await one.value }
        await subject.change { $0 += 1 }
        #expect(try await other.value)
    }
}
