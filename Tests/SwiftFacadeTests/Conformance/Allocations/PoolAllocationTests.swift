// SPDX-License-Identifier: Apache-2.0
//
// What the pool allocates for a job. The jobs run on the pool's thread and the allocator counts by thread, so each test
// reads the count of the submitting thread, and a job reads that of the worker.

import CountingAllocator
import Dispatch
import Interlock
import Testing
// contract: WorkerPool
@Suite("allocations of the pool", .serialized)
struct PoolAllocationTests {
    /// The worker's count, read in a job.
    private func allocationsOfTheWorker(_ pool: WorkerPool) -> Int {
        Int((try? pool.run { counting_allocator_allocations() }) ?? 0)
    }

    /// Has the pool's ring filled with nodes: as many jobs have waited as will wait.
    private func warmUp(_ pool: WorkerPool) {
        let (begun, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        _ = pool.submit {
            begun.signal()
            end.wait()
        }
        begun.wait()
        for _ in 0..<1_100 { _ = pool.submit(PoolAllocationTests.nothing) }
        end.signal()
        let group = WorkerGroup(on: pool)
        _ = group.submit(PoolAllocationTests.nothing)
        group.wait()
    }

    /// A closure without captures needs no memory of its own.
    private static let nothing: @Sendable () -> Void = {}

    @Test(.whereAllocationsCount)
    func submissionsDoNotAllocate() throws {
        let pool = try WorkerPool(threads: 1)
        warmUp(pool)
        let group = WorkerGroup(on: pool)
        let worker = allocationsOfTheWorker(pool)
        let before = counting_allocator_allocations()
        for _ in 0..<1_000 { _ = pool.submit(PoolAllocationTests.nothing) }
        #expect(counting_allocator_allocations() - before == 0)
        let withGroup = counting_allocator_allocations()
        for _ in 0..<10 { _ = group.submit(PoolAllocationTests.nothing) }
        #expect(counting_allocator_allocations() - withGroup == 0)
        group.wait()
        // The run that reads the count is one job, and its own outcome.
        #expect(allocationsOfTheWorker(pool) - worker <= 2)
    }

    // An outcome is an object, its group, and what the claim needs.
    @Test(.whereAllocationsCount)
    func aRunAllocatesAFewObjects() throws {
        let pool = try WorkerPool(threads: 1)
        warmUp(pool)
        for _ in 0..<100 { _ = try pool.run { 1 } }
        let before = counting_allocator_allocations()
        for _ in 0..<1_000 { _ = try pool.run { 1 } }
        #expect(counting_allocator_allocations() - before <= 6_000)
    }

    // The same tasks on the default executor: the difference is the pool's.
    @Test(.whereAllocationsCount)
    func tasksOnThePoolAllocateWhatTheRuntimeDoes() async throws {
        let pool = try WorkerPool(threads: 1, maximumThreads: 1)
        warmUp(pool)
        // All parts run on the one worker, which counts them.
        let allocations = await Task(executorPreference: pool) {
            func round() async -> Int {
                let before = counting_allocator_allocations()
                for _ in 0..<1_000 { await Task.yield() }
                return Int(counting_allocator_allocations() - before)
            }
            _ = await round()
            return await round()
        }.value
        // A yield is one part of a task, given to the executor anew; the runtime makes one job for it.
        #expect(allocations <= 1_000)
    }

    @Test(.whereAllocationsCount)
    func callsOfAnActorAllocateNothingOfThePools() async throws {
        actor Counter {
            let executor: SerialPoolExecutor
            nonisolated let unownedExecutor: UnownedSerialExecutor
            var count = 0
            init(_ pool: WorkerPool) {
                executor = SerialPoolExecutor(on: pool)
                unownedExecutor = executor.asUnownedSerialExecutor()
            }
            func add() { count += 1 }
        }
        let pool = try WorkerPool(threads: 1, maximumThreads: 1)
        warmUp(pool)
        let counter = Counter(pool)
        let allocations = await Task(executorPreference: pool) {
            func round() async -> Int {
                let before = counting_allocator_allocations()
                for _ in 0..<1_000 { await counter.add() }
                return Int(counting_allocator_allocations() - before)
            }
            _ = await round()
            return await round()
        }.value
        #expect(allocations == 0)
    }
}
