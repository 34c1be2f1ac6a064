// SPDX-License-Identifier: Apache-2.0
//
// Blocking calls on a pool's only thread, which wait for what a later job of the pool does: another thread takes its
// place.

import Dispatch
import Foundation
import Testing

import Interlock
// contract: WorkerPool
@Suite(.timeLimit(.minutes(10))) struct BlockingOnWorkersTests {
    /// A call that blocks, and what ends it.
    struct Wait: Sendable, CustomTestStringConvertible {
        let name: String
        let make: @Sendable () -> (block: @Sendable () -> Void, end: @Sendable () -> Void)
        var testDescription: String { name }
    }

    static let waits = [
        Wait(name: "AsyncOperation.wait") {
            let operation = AsyncOperation<Void> {}
            return ({ operation.wait() }, { operation.start() })
        },
        Wait(name: "AsyncOperation.wait(timeout:)") {
            let operation = AsyncOperation<Void> {}
            return ({ operation.wait(timeout: .seconds(600)) }, { operation.start() })
        },
        Wait(name: "Job.wait") {
            let queue = InterlockQueue(isSuspended: true)
            let job = queue.job {}
            return ({ _ = job.wait() }, { queue.resume() })
        },
        Wait(name: "InterlockQueue.wait") {
            let queue = InterlockQueue(isSuspended: true)
            queue.job {}
            return ({ queue.wait() }, { queue.resume() })
        },
        Wait(name: "InterlockQueue.shutDown") {
            let queue = InterlockQueue(isSuspended: true)
            queue.job {}
            return ({ _ = queue.shutDown(within: .seconds(600)) }, { queue.resume() })
        },
        Wait(name: "WorkerGroup.wait, of another pool") {
            let held = try! HeldPool()
            let group = WorkerGroup(on: held.pool)
            _ = group.submit {}
            return ({ block(group) }, { held.release() })
        },
        Wait(name: "WorkerPool.run, of another pool") {
            let held = try! HeldPool()
            return ({ _ = try? held.pool.run { 1 } }, { held.release() })
        },
        Wait(name: "DispatchGroup.waitReport") {
            let group = DispatchGroup()
            group.enter()
            return ({ _ = group.waitReport(timeout: .seconds(600)) }, { group.leave() })
        },
        Wait(name: "DispatchGroup.collect") {
            let group = DispatchGroup()
            group.enter()
            return (
                { let _: CollectedResults<Int> = group.collect(timeout: .seconds(600)) }, { group.leave() }
            )
        },
        Wait(name: "BoundedRunner.waitUntilIdle") {
            let runner = BoundedRunner(limit: 1)
            let end = Event()
            runner.submit { end.wait() }
            return ({ runner.waitUntilIdle() }, { end.happen() })
        },
        Wait(name: "FIFOSemaphore.wait") {
            let semaphore = FIFOSemaphore(permits: 0)
            return ({ semaphore.wait() }, { semaphore.signal() })
        },
        Wait(name: "Barrier.wait") {
            let barrier = Barrier(parties: 2)
            return ({ barrier.wait() }, { barrier.wait() })
        },
        Wait(name: "SingleFlightCache.value") {
            let cache = SingleFlightCache<Int, Int>()
            let (begun, end) = (Event(), Event())
            let thread = TestThread {
                _ = try? cache.value(forKey: 1) {
                    begun.happen()
                    end.wait()
                    return 1
                }
            }
            begun.wait()
            return (
                { _ = try? cache.value(forKey: 1) { 2 } },
                {
                    end.happen()
                    thread.join()
                }
            )
        },
        Wait(name: "GCD.sync(timeout:)") {
            let queue = DispatchQueue(label: "held")
            let end = Event()
            queue.async { end.wait() }
            return ({ _ = GCD.sync(on: queue, timeout: .seconds(600)) { 1 } }, { end.happen() })
        },
        Wait(name: "WorkerPool.wait") {
            let held = try! HeldPool()
            held.pool.close()
            return ({ block(held.pool) }, { held.release() })
        },
        Wait(name: "WorkerThread.join") {
            let end = Event()
            let thread = try! WorkerThread<Int>(name: "joined", mailboxCapacity: 1) { _ in _ = end.wait() }
            _ = thread.post(1)
            try! thread.start()
            thread.close()
            return ({ try? thread.join() }, { end.happen() })
        },
    ]

    @Test func aWaitThatTimesOutGivesItsPlaceBack() async throws {
        let pool = try WorkerPool(name: "one", threads: 1)
        let semaphore = FIFOSemaphore(permits: 0)
        let (isServed, blocked) = try await pool.run {
            (semaphore.wait(timeout: .milliseconds(1)), pool.info.blockedThreads)
        }
        #expect(!isServed && blocked == 0)
    }

    @Test(arguments: waits) func anotherThreadTakesThePlaceOfOneThatBlocks(in wait: Wait) async throws {
        let pool = try WorkerPool(name: "one", threads: 1)
        let (block, end) = await blocking { wait.make() }
        let (ended, over) = (Event(), Event())
        #expect(
            pool.submit {
                block()
                over.happen()
            }
        )
        #expect(
            pool.submit {
                end()
                ended.happen()
            }
        )
        let isServed = await blocking { ended.wait() }
        #expect(isServed, "the pool's only thread is blocked")
        if !isServed { end() }
        #expect(await blocking { over.wait() })
    }
}
