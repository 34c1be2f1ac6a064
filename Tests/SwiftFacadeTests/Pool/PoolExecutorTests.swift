// SPDX-License-Identifier: Apache-2.0
//
// Tasks and actors on a pool.

import Foundation
import Testing

import Interlock
@testable import InterlockPool

/// An actor on an executor of the toolkit. Its count is wrong if two of its jobs run at a time.
private actor Record {
    nonisolated let executor: any SerialExecutor
    nonisolated let unowned: UnownedSerialExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { unowned }
    var order: [Int] = []
    var threads: Set<UInt> = []
    private var isInside = false
    private(set) var overlaps = 0

    init(_ executor: some SerialExecutor) {
        self.executor = executor
        unowned = executor.asUnownedSerialExecutor()
    }

    func add(_ number: Int) {
        if isInside { overlaps += 1 }
        isInside = true
        order.append(number)
        threads.insert(UInt(pthread_self()))
        isInside = false
    }

    func threadName() -> String { InterlockTests.threadName() }

    func isIsolated(_ body: @Sendable () -> Bool) -> Bool { body() }

    /// A part, a suspension, and a part.
    func addTwice(_ number: Int) async {
        add(number)
        await Task.yield()
        add(number)
    }
}
// contract: SerialPoolExecutor, ThreadExecutor, WorkerPool
@Suite(.timeLimit(.minutes(10))) struct PoolExecutorTests {
    // MARK: Tasks

    @Test func tasksOfThePoolRunOnItsThreads() async throws {
        let pool = try WorkerPool(name: "tasks", threads: 2)
        let names = await Task(executorPreference: pool) {
            var names = [threadName()]
            await Task.yield()
            names.append(threadName())
            async let child = threadName()
            names.append(await child)
            return names
        }.value
        #expect(names.allSatisfy { $0.hasPrefix("tasks-") })
        let inGroup = await withTaskExecutorPreference(pool) {
            await withTaskGroup(of: String.self) { group in
                for _ in 0..<50 { group.addTask { threadName() } }
                return await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
        }
        #expect(inGroup.allSatisfy { $0.hasPrefix("tasks-") })
    }

    @Test func manyTasksAllRun() async throws {
        let pool = try WorkerPool(threads: 2)
        let sum = await withTaskExecutorPreference(pool) {
            await withTaskGroup(of: Int.self) { group in
                for number in 0..<10_000 {
                    group.addTask {
                        if number.isMultiple(of: 8) { await Task.yield() }
                        return number
                    }
                }
                return await group.reduce(0, +)
            }
        }
        #expect(sum == 10_000 * 9_999 / 2)
    }

    // The only worker is in a job; a high and a low task wait.
    @Test func theirPriorityIsThatOfTheirJobs() async throws {
        let held = try HeldPool()
        let order = Trace<String>()
        let low = Task(executorPreference: held.pool, priority: .background) { order.add("low") }
        let normal = Task(executorPreference: held.pool, priority: .medium) { order.add("normal") }
        let high = Task(executorPreference: held.pool, priority: .high) { order.add("high") }
        held.release()
        // Without raising their priorities by awaiting them.
        await eventually("all have run") { order.events.count == 3 }
        #expect(order.events == ["high", "normal", "low"])
        _ = (low, normal, high)
    }

    // task      on the pool, suspended                       goes on elsewhere
    // closer                            closes, waits for the end
    @Test func aTaskOfAClosedPoolGoesOn() async throws {
        let pool = try WorkerPool(name: "shut", threads: 1)
        let (suspended, goOn) = (Handshake(), Promise<Void>())
        let task = Task(executorPreference: pool) {
            let before = threadName()
            suspended.give()
            _ = await goOn.wait()
            return (before, threadName())
        }
        await suspended.taken()
        pool.close()
        try await pool.wait()
        goOn.fulfil(())
        let (before, after) = await task.value
        #expect(before.hasPrefix("shut-") && after.hasPrefix("shared-"))
    }

    @Test func tasksGoOnWhereThePoolIsClosedAtOnce() async throws {
        let held = try HeldPool()
        let tasks = (0..<20).map { number in Task(executorPreference: held.pool) { number } }
        held.pool.closeNow()
        var sum = 0
        for task in tasks { sum += await task.value }
        #expect(sum == 190)
        held.release()
    }

    // The task has the last reference to its executor.
    @Test func aTaskKeepsItsPool() async throws {
        func start() throws -> Task<String, Never> {
            Task(executorPreference: try WorkerPool(name: "kept", threads: 1)) {
                for _ in 0..<10 { await Task.yield() }
                return threadName()
            }
        }
        #expect(try await start().value.hasPrefix("kept-"))
    }

    // MARK: Actors

    @Test func theJobsOfAnActorRunOneAtATime() async throws {
        let pool = try WorkerPool(threads: 2)
        let record = Record(SerialPoolExecutor(on: pool))
        await withTaskExecutorPreference(pool) {
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<2_000 { group.addTask { await record.addTwice(number) } }
            }
        }
        #expect(await record.order.count == 4_000)
        #expect(await record.overlaps == 0)
    }

    // Each job is in the queue before the next one is made; the drain is held back.
    @Test func theJobsOfAnActorRunInTheirOrder() async throws {
        let held = try HeldPool()
        let record = Record(SerialPoolExecutor(on: held.pool))
        var tasks: [Task<Void, Never>] = []
        for number in 0..<200 {
            tasks.append(Task { await record.add(number) })
            let queue = (record.executor as! SerialPoolExecutor).queue
            try #require(await eventuallySuspending { queue.count == number + 1 }, "job \(number) is missing")
        }
        held.release()
        for task in tasks { await task.value }
        #expect(await record.order == Array(0..<200))
    }

    // An actor with more jobs than one drain runs lets others in between.
    @Test func anActorsJobsLetOthersIn() async throws {
        let held = try HeldPool()
        let record = Record(SerialPoolExecutor(on: held.pool))
        let queue = (record.executor as! SerialPoolExecutor).queue
        let ran = Counter()
        let tasks = (0..<3_000).map { _ in Task { await record.isIsolated { ran.increment() > 0 } } }
        await eventually("they wait") { queue.count == 3_000 }
        let before = Trace<Int>()
        #expect(held.pool.submit { before.add(ran.value) })
        held.release()
        for task in tasks { _ = await task.value }
        #expect(try #require(before.events.first) < 1_000, "it ran long before the last of the actor's jobs")
    }

    // The only worker has a task that yields until another, submitted after it on the same worker, has run.
    @Test func aTaskThatYieldsLetsOthersIn() async throws {
        let pool = try WorkerPool(threads: 1, maximumThreads: 1)
        let hasRun = Counter()
        await Task(executorPreference: pool) {
            let other = Task(executorPreference: pool) { _ = hasRun.increment() }
            while hasRun.value == 0 { await Task.yield() }
            await other.value
        }.value
        #expect(hasRun.value == 1)
    }

    @Test func anActorGoesOnWhereItsPoolIsClosed() async throws {
        let pool = try WorkerPool(name: "shut", threads: 1)
        let record = Record(SerialPoolExecutor(on: pool))
        #expect(await record.threadName().hasPrefix("shut-"))
        pool.close()
        try await pool.wait()
        #expect(await record.threadName().hasPrefix("shared-"))
        let held = try HeldPool()
        let other = Record(SerialPoolExecutor(on: held.pool))
        let tasks = (0..<20).map { number in Task { await other.add(number) } }
        held.pool.closeNow()
        for task in tasks { await task.value }
        held.release()
        #expect(await other.order.count == 20)
    }

    @Test func aClosedPoolDoesNotKeepTheExecutorsWhoseJobsItRefuses() async throws {
        weak var executor: SerialPoolExecutor?
        let pool = try WorkerPool(threads: 1)
        pool.close()
        do {
            let own = SerialPoolExecutor(on: pool)
            executor = own
            let record = Record(own)
            for number in 0..<10 { await record.add(number) }
        }
        #expect(await eventuallySuspending { executor == nil }, "the drain on the shared pool ends")
    }

    @Test func anActorOfAThreadRunsOnThatThread() async throws {
        let record = Record(try ThreadExecutor(name: "pinned"))
        #expect(await record.threadName() == "pinned-0")
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<500 { group.addTask { await record.addTwice(number) } }
        }
        #expect(await record.threads.count == 1)
        #expect(await record.overlaps == 0)
        #expect(await record.order.count == 1_000)
    }

    // MARK: Isolation

    @Test func anExecutorKnowsItsOwnJobs() async throws {
        let pool = try WorkerPool(threads: 1, maximumThreads: 1)
        let mine = SerialPoolExecutor(on: pool)
        let other = SerialPoolExecutor(on: pool)
        let record = Record(mine)
        #expect(mine.isIsolatingCurrentContext() == false)
        #expect(await record.isIsolated { mine.isIsolatingCurrentContext() == true })
        #expect(await record.isIsolated { other.isIsolatingCurrentContext() == false })
        // A thread of the pool is not in the actor by that alone.
        #expect(try await pool.run { mine.isIsolatingCurrentContext() == false })
        let thread = try ThreadExecutor()
        #expect(thread.isIsolatingCurrentContext() == false)
        #expect(await Record(thread).isIsolated { thread.isIsolatingCurrentContext() == true })
    }

    // worker    a job of the actor waits for a job of the pool, and runs it on top: that one is not the actor's
    @Test func aJobOnTopOfAnActorsIsNotTheActors() async throws {
        let pool = try WorkerPool(threads: 1, maximumThreads: 1)
        let mine = SerialPoolExecutor(on: pool)
        let record = Record(mine)
        #expect(
            await record.isIsolated {
                let nested = try! PoolRunTests.block(pool) { mine.isIsolatingCurrentContext() }
                return nested == false && mine.isIsolatingCurrentContext() == true
            }
        )
    }

    // Two elements wait for each other: one is on the actor's thread, the other on a helper.
    @Test func ofALoopOnlyTheCallingThreadsPartIsTheActors() async throws {
        let pool = try WorkerPool(threads: 2)
        let mine = SerialPoolExecutor(on: pool)
        let record = Record(mine)
        let (arrivals, both) = (Counter(), Handshake())
        #expect(
            await record.isIsolated {
                let isolated = (0..<2).concurrentMap(on: pool, maxConcurrency: 2) { _ in
                    if arrivals.increment() == 2 { both.give(2) }
                    both.take()
                    return mine.isIsolatingCurrentContext() == true
                }
                return Set(isolated) == [true, false]
            }
        )
    }

    @Test(.ownThreads) func theIsolationOfItsJobsMayBeClaimed() async {
        await #expect(processExitsWith: .success) {
            alarm(240)
            let executor = try ThreadExecutor()
            let record = Record(executor)
            _ = await record.isIsolated {
                executor.checkIsolated()
                return true
            }
            // The runtime asks the executor, on a thread that it knows nothing of.
            exit(EXIT_SUCCESS)
        }
    }
}
