// SPDX-License-Identifier: Apache-2.0
//
// Making a pool, submitting to it, its priorities and its threads.

import Foundation
import Testing

import Interlock
// contract: WorkerPool
@Suite(.timeLimit(.minutes(10))) struct WorkerPoolTests {
    @Test func anOptionThatNoPoolCanHaveIsNamed() {
        func name(_ make: () throws(WorkerPoolError) -> WorkerPool) -> String? {
            do throws(WorkerPoolError) {
                _ = try make()
                return nil
            } catch {
                guard case .invalidOption(let name, let reason) = error else { return "\(error)" }
                #expect(!reason.isEmpty && error.description.hasPrefix("\(name): "))
                return name
            }
        }
        #expect(name { () throws(WorkerPoolError) in try WorkerPool(threads: 0) } == "threads")
        #expect(name { () throws(WorkerPoolError) in try WorkerPool(threads: -1) } == "threads")
        #expect(name { () throws(WorkerPoolError) in try WorkerPool(threads: 1_025) } == "threads")
        #expect(
            name { () throws(WorkerPoolError) in try WorkerPool(threads: 4, maximumThreads: 3) }
                == "maximumThreads"
        )
        #expect(
            name { () throws(WorkerPoolError) in try WorkerPool(maximumThreads: 2_000) } == "maximumThreads"
        )
        #expect(
            name { () throws(WorkerPoolError) in try WorkerPool(threads: 1, maximumThreads: 2, keptThreads: 3)
            }
                == "keptThreads"
        )
        #expect(name { () throws(WorkerPoolError) in try WorkerPool(keptThreads: -1) } == "keptThreads")
        #expect(name { () throws(WorkerPoolError) in try WorkerPool(idleTime: .zero) } == "idleTime")
        #expect(name { () throws(WorkerPoolError) in try WorkerPool(stackSize: 1) } == "stackSize")
        #expect(name { () throws(WorkerPoolError) in try WorkerPool(nice: 20) } == "nice")
        #expect(
            name { () throws(WorkerPoolError) in try WorkerPool(threads: 1, keptThreads: 0, nice: 19) } == nil
        )
    }

    #if os(Linux)
    @Test func theThreadsAreAsAskedFor() async throws {
        let pool = try WorkerPool(name: "thumbnails", threads: 1, nice: 3)
        let (name, nice) = try await pool.run {
            (threadName(), getpriority(numericCast(PRIO_PROCESS.rawValue), 0))
        }
        #expect(name == "thumbnails-0")
        let ours = getpriority(numericCast(PRIO_PROCESS.rawValue), id_t(getpid()))
        #expect(nice == min(ours + 3, 19))
    }
    #endif

    @Test func everyAcceptedClosureRunsOnceAndIsReleasedOnce() async throws {
        let pool = try WorkerPool(threads: 2)
        let (freed, ran) = (Counter(), Counter())
        for _ in 0..<5_000 { #expect(pool.submit(counted(ran, freed))) }
        pool.close()
        try await pool.wait()
        #expect(ran.value == 5_000 && freed.value == 5_000)
    }

    @Test func aClosedPoolRefusesAndReleases() throws {
        let pool = try WorkerPool(threads: 1)
        pool.close()
        let (ran, freed) = (Counter(), Counter())
        #expect(!pool.submit(counted(ran, freed)))
        #expect(freed.value == 1 && ran.value == 0)
    }

    // thread     in a job       low, normal and high wait
    @Test func ofJobsThatWaitHighBeginsFirstAndLowLast() async throws {
        let held = try HeldPool()
        let order = Trace<WorkerPool.Priority>()
        for priority in [WorkerPool.Priority.low, .normal, .high] {
            #expect(held.pool.submit(priority: priority) { order.add(priority) })
        }
        try await held.finish()
        #expect(order.events == [.high, .normal, .low])
    }

    // worker 1    in a blocking call, waits for the other job
    // worker 2                        takes over: runs it
    @Test func anotherThreadTakesOverForABlockedOne() async throws {
        let pool = try WorkerPool(threads: 1, maximumThreads: 2)
        let (met, blocked) = (Handshake(), Trace<Int>())
        try await pool.run {
            WorkerPool.withBlockingCall {
                #expect(
                    pool.submit {
                        blocked.add(pool.info.blockedThreads)
                        met.give()
                    }
                )
                met.take()
            }
        }
        #expect(blocked.events == [1])
    }

    @Test func aBlockingCallPassesOnWhatItsBodyGives() {
        #expect(WorkerPool.withBlockingCall { 7 } == 7)
        #expect(throws: JobFailure()) {
            try WorkerPool.withBlockingCall { () throws(JobFailure) in throw JobFailure() }
        }
    }

    @Test func theInfoCountsThreadsAndDelayedTasks() throws {
        let pool = try WorkerPool(threads: 3, keptThreads: 2)
        #expect(pool.info.threads >= 2 && pool.info.blockedThreads == 0 && pool.info.refusedThreads == 0)
        let task = try pool.after(.seconds(3_600)) {}
        #expect(pool.info.delayedTasks == 1)
        #expect(task.cancel())
        #expect(pool.info.delayedTasks == 0)
    }

    // The pool starts the threads that it keeps.
    @Test func aPoolThatIsToKeepNoThreadKeepsOne() throws {
        #expect(try WorkerPool(threads: 3, keptThreads: 0).info.threads == 1)
    }

    // Jobs that wait for each other go on only if all have a thread.
    @Test func theBlockingPoolHasAThreadForEachJob() async throws {
        let (arrivals, allArrived, ended) = (Counter(), Handshake(), Handshake())
        for _ in 0..<20 {
            #expect(
                WorkerPool.blocking.submit {
                    if arrivals.increment() == 20 { allArrived.give(20) }
                    allArrived.take()
                    ended.give()
                }
            )
        }
        await ended.taken(20)
        #expect(arrivals.value == 20)
    }

    @Test func thePoolsOfTheProcessAreOneEach() {
        #expect(WorkerPool.shared === WorkerPool.shared && WorkerPool.blocking === WorkerPool.blocking)
        #expect(WorkerPool.shared.name == "shared" && WorkerPool.blocking.name == "blocking")
    }

    // MARK: Misuse, also of loops and executors

    private static let misuses: [Misuse] = [
        .named("closing a pool of the process", #"interlock: WorkerPool.close("shared"): "#) {
            WorkerPool.shared.close()
        },
        .named("closing one at once", #"interlock: WorkerPool.closeNow("blocking"): "#) {
            WorkerPool.blocking.closeNow()
        },
        .named("waiting for one", #"interlock: WorkerPool.wait("shared"): "#) {
            try await WorkerPool.shared.wait()
        },
        .named("a job that waits for its own pool", "called by one of the pool's own jobs") {
            let pool = try WorkerPool(threads: 1)
            try await pool.run { block(pool) }
        },
        .named("claiming another's isolation", #"SerialPoolExecutor.checkIsolated("actors"): "#) {
            let executor = SerialPoolExecutor(on: try WorkerPool(name: "actors", threads: 1))
            executor.checkIsolated()
        },
        .named("no element at once", "concurrentForEach(maxConcurrency: 0): at least one element") {
            try await (0..<3).concurrentForEach(maxConcurrency: 0) { _ in }
        },
        .named("less than none", "concurrentMap(maxConcurrency: -1): at least one element") {
            _ = try await (0..<3).concurrentMap(maxConcurrency: -1) { _ async in }
        },
        .named("no chunk at once", "concurrentForEachChunk(maxConcurrency: 0): at least one element") {
            try await (0..<3).concurrentForEachChunk(maxConcurrency: 0) { _ in }
        },
    ]

    @Test(.serialized, .ownThreads, arguments: misuses.map(\.name))
    func aMisuseIsReported(name: String) async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            [name] in
            try await WorkerPoolTests.misuses[name].happen()
        }
        Self.misuses[name].expectReport(result)
    }

    #if os(Linux)
    @Test(.ownThreads) func aPoolWithoutAThreadIsAnError() async {
        await #expect(processExitsWith: .success) {
            refuseThreads()
            do throws(WorkerPoolError) {
                _ = try WorkerPool(name: "none", threads: 1)
                exit(1)
            } catch {
                exit(error == .unavailable(pool: "none") ? EXIT_SUCCESS : 2)
            }
        }
    }
    #endif
}
