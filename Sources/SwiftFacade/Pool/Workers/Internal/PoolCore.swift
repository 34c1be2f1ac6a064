// SPDX-License-Identifier: Apache-2.0
//
// The C pool and what the facade keeps beside it: the nodes of jobs that are free, and what happens at the end.
//
// Lifetime. The core owns the C pool, which is destroyed with it, and must have ended by then. A `WorkerPool` that goes
// closes the pool and leaves the core to a thread of its own until the last job has run. So no thread waits in a
// `deinit`, which may be on a thread of the pool, and what was accepted runs. Groups, delayed tasks and executors hold
// the core as long as they refer to the C pool.
//
// Nodes. A ring of pointers holds the free ones: one pop a submission, one push as the job begins. A ring that is empty
// costs an allocation, one that is full a deallocation, so memory follows the number of jobs that wait and
// `freeNodes` are kept. Rejected: a list of free nodes under a lock (a lock's two operations instead of one
// compare-and-swap), and free lists of the threads (a producer outside has none to take from, and the workers' lists
// have to go back).

import CInterlock
import InterlockSync

/// The core of a pool.
// Any number of threads may call the C pool and the ring. `taskExecutor` is constant before the first job.
package final class PoolCore: @unchecked Sendable {
    /// How many nodes are kept: jobs that wait at a time without an allocation.
    private static let keptNodes = 1_024

    let pool: OpaquePointer
    package let name: String
    /// How many jobs run at a time.
    let threads: Int
    /// Whether it lives as long as the process, and cannot be closed.
    let isPermanent: Bool
    private let freeNodes: UnsafeMutablePointer<ilk_mpmc>
    private let ending = VisibleMutex(Ending())
    /// When the pool has ended; fulfilled where ``watchEnd()`` was called.
    private let ended = Promise<Void>()
    /// The pool as an executor of tasks; `nil` for the pool of a ``ThreadExecutor``.
    nonisolated(unsafe) var taskExecutor: UnownedTaskExecutor?

    private struct Ending {
        var isClosed = false
        var isWatched = false
        var caller: (@Sendable (@escaping @Sendable () -> Void) -> Void)?
    }

    init(_ options: ilk_pool_options, name: String, isPermanent: Bool) throws(WorkerPoolError) {
        var ring: UnsafeMutablePointer<ilk_mpmc>?
        let size = MemoryLayout<UnsafeMutableRawPointer>.size
        guard ilk_mpmc_create(&ring, PoolCore.keptNodes, size) == ILK_OK, let ring else {
            throw WorkerPoolError.unavailable(pool: name)
        }
        var pool: OpaquePointer?
        let status = withoutZeros(name).withCString { name in
            var options = options
            options.name = name
            return ilk_pool_create(&pool, &options)
        }
        guard status == ILK_OK, let pool else {
            ilk_mpmc_destroy(ring)
            throw WorkerPoolError.unavailable(pool: name)
        }
        self.pool = pool
        self.name = name
        threads = options.threads != 0 ? Int(options.threads) : max(Int(ilk_pool_get_info(pool).threads), 1)
        self.isPermanent = isPermanent
        freeNodes = ring
    }

    deinit {
        ilk_pool_destroy(pool)
        while let node = popNode() { node.memory.deallocate() }
        ilk_mpmc_destroy(freeNodes)
    }

    // MARK: Nodes

    @inline(__always)
    private func popNode() -> PoolNode? {
        var memory: UnsafeMutableRawPointer?
        return ilk_mpmc_try_pop(freeNodes, &memory, MemoryLayout<UnsafeMutableRawPointer>.size)
            ? PoolNode(memory: memory!) : nil
    }

    /// Takes back the node of a job that has begun, or was refused.
    @inline(__always)
    func recycle(_ node: PoolNode) {
        var memory = node.memory
        if !ilk_mpmc_try_push(freeNodes, &memory, MemoryLayout<UnsafeMutableRawPointer>.size) {
            node.memory.deallocate()
        }
    }

    /// A node with `work` in it, of which nothing else is set.
    @inline(__always)
    private func node(_ work: consuming PoolWork) -> PoolNode {
        let node = popNode() ?? .allocate()
        ilk_job_init(node.job, runPoolNode, node.header)
        node.header.initialize(to: PoolJobHeader(core: .passUnretained(self), work: work))
        return node
    }

    private func takeApart(_ node: PoolNode) {
        node.header.deinitialize(count: 1)
        recycle(node)
    }

    // MARK: Jobs

    /// Submits `work`; false if the pool is closed: the work has been released then.
    @inline(__always)
    package func submit(
        _ work: consuming PoolWork,
        _ priority: ilk_priority = ILK_PRIORITY_NORMAL,
        group: UnsafeMutablePointer<ilk_group>? = nil
    ) -> Bool {
        let node = node(work)
        if priority != ILK_PRIORITY_NORMAL { ilk_job_set_priority(node.job, priority) }
        if let group { ilk_job_set_group(node.job, group) }
        if ilk_pool_submit(pool, node.job) { return true }
        takeApart(node)
        return false
    }

    /// Submits `work` behind what waits already, also where a job of the pool calls: its worker would otherwise begin
    /// it first, and a task that yields, or an actor with many jobs, would keep others from their turn.
    @inline(__always)
    func submitLast(_ work: consuming PoolWork, _ priority: ilk_priority) -> Bool {
        let node = node(work)
        if priority != ILK_PRIORITY_NORMAL { ilk_job_set_priority(node.job, priority) }
        var job: UnsafeMutablePointer<ilk_job>? = node.job
        if ilk_pool_submit_many(pool, &job, 1) { return true }
        takeApart(node)
        return false
    }

    /// Submits `work` when the jobs of `group` have ended: here, or where this pool is closed, to the shared one.
    func follow(_ group: UnsafeMutablePointer<ilk_group>, _ work: PoolWork) {
        let node = node(work)
        if ilk_group_follow(group, pool, node.job) { return }
        takeApart(node)
        WorkerPool.shared.core.follow(group, work)
    }

    // MARK: Ending

    /// Whether `close` or `closeNow` was called.
    var isClosed: Bool { ending.withLock { $0.isClosed } }

    func close(_ call: String) {
        requireMortal(call)
        ending.withLock { $0.isClosed = true }
        ilk_pool_close(pool)
    }

    func closeNow(_ caller: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        requireMortal("WorkerPool.closeNow")
        ending.withLock { ending in
            ending.isClosed = true
            if ending.caller == nil { ending.caller = caller }
        }
        // The end releases the caller's function, which may hold the pool.
        _ = watchEnd()
        ilk_pool_close_now(pool, handBackPoolJob, Unmanaged.passUnretained(self).toOpaque())
        if hasEnded { releaseCaller() }
    }

    private func releaseCaller() { withExtendedLifetime(ending.withLock { $0.caller.take() }) {} }

    private func requireMortal(_ call: String) {
        if isPermanent {
            misuse(call, "\"\(name)\"", "the pools of the process are not closed: other code uses them")
        }
    }

    /// A wait for the end has one, or a limit.
    private func requireEnd(isLimited: Bool) {
        if isPermanent, !isLimited {
            let sentence = "the pools of the process have no end: the wait would have none"
            misuse("WorkerPool.wait", "\"\(name)\"", sentence)
        }
    }

    /// Gives a job that will not run to the function of `closeNow`.
    func returnToCaller(_ work: @escaping @Sendable () -> Void) { ending.withLock { $0.caller }?(work) }

    /// The owner has gone: closes the pool, and keeps the core until it has ended.
    func finish() {
        ending.withLock { $0.isClosed = true }
        ilk_pool_close(pool)
        if hasEnded { return }
        // Without a thread to wait on, the memory stays. What was accepted runs all the same.
        if !watchEnd() { _ = Unmanaged.passRetained(self) }
    }

    /// Whether the pool is closed, and nothing of what it had accepted is left.
    var hasEnded: Bool { isClosed && !isOnWorkerOfClosedPool && ilk_pool_wait_until(pool, 0) == ILK_OK }

    /// A loop in a closed pool runs where a job of the pool calls, and is refused elsewhere.
    private var isOnWorkerOfClosedPool: Bool { ilk_pool_for(pool, 0, 1, 1, { _, _, _ in }, nil) }

    func block(until deadline: UInt64) -> Bool {
        requireEnd(isLimited: deadline != forever)
        return ilk_pool_wait_until(pool, deadline) == ILK_OK
    }

    func suspend(until deadline: ContinuousClock.Instant?) async throws(CancellationError) -> Bool {
        requireEnd(isLimited: deadline != nil)
        guard watchEnd() else {
            misuse("WorkerPool.wait", "\"\(name)\"", "the system makes no thread to wait on")
        }
        return try await ended.wait(until: deadline).isGranted()
    }

    /// Has a thread wait for the end, unless one does. False: there is none to be had.
    private func watchEnd() -> Bool {
        ending.withLock { ending in
            if !ending.isWatched { ending.isWatched = startWatching() }
            return ending.isWatched
        }
    }

    private func startWatching() -> Bool {
        let watch: @Sendable () -> Void = { [self] in
            _ = ilk_pool_wait_until(pool, forever)
            releaseCaller()
            ended.fulfil(())
        }
        do throws(ThreadUnavailable) {
            try OwnThread.start(named: "pool.end", watch)
            return true
        } catch {
            let other = WorkerPool.blockingIfAvailable?.core
            return other?.submit(.closure { WorkerPool.withBlockingCall(watch) }) ?? false
        }
    }
}

/// A C group that outlives its owner until its last job has left it.
// Any number of threads may call the C group.
final class PoolGroup: PoolObject, @unchecked Sendable {
    let pointer: UnsafeMutablePointer<ilk_group>

    init() {
        pointer = .allocate(capacity: 1)
        ilk_group_init(pointer)
    }

    deinit { pointer.deallocate() }

    /// Frees the group, by a job that follows its last one.
    func retire(on core: PoolCore) { if !core.hasEnded { core.follow(pointer, .object(self)) } }

    package func run() {}
    package func handBack(to _: PoolCore) {}
}
