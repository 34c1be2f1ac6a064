// SPDX-License-Identifier: Apache-2.0
//
// The worker pool: the C pool with closures for jobs. What a job holds is in a node of the core
// (Internal/PoolJob.swift), so a submission allocates what the compiler allocates for the closure, and nothing else.
//
// No call is `async` that need not wait, and the blocking forms share their names with the suspending ones, as in
// FIFOSemaphore.swift.

import CInterlock
import InterlockSync

/// Threads that run work as it comes, and steal it from each other.
///
/// ```swift
/// let pool = try WorkerPool(name: "thumbnails", threads: 4)
/// let image = try await pool.run { decode(name) }
/// let sizes = try await urls.concurrentMap(on: pool) { $0.path.count }
/// guard pool.submit({ crawl(url) }) else { fatalError("closed") }
/// ```
///
/// Every method is thread-safe. Work may submit more work, and may wait: a worker that waits for a `run(priority:_:)`
/// or a ``WorkerGroup`` of its own pool runs jobs that it waits for meanwhile, and no others; without one, another
/// thread takes its place. A loop that a worker makes (`concurrentForEach`) it works on itself. So a lock may be held
/// over such a wait. For a wait of another kind, ``withBlockingCall(_:)`` has another thread take over.
///
/// What was accepted runs, unless ``closeNow(returningTo:)`` hands it back. A pool that is released closes, and its
/// threads end when the last job has run: no release waits for them.
///
/// The pool is an executor of tasks: `withTaskExecutorPreference(pool)` and `Task(executorPreference: pool)` run on its
/// threads. ``SerialPoolExecutor`` and ``ThreadExecutor`` are executors of actors.
///
/// What a thread did before it submitted work is visible to the work. What the work did is visible to what waits for
/// it. Source: `ilk_pool` in `<interlock/pool.h>`, whose guarantees hold for closures as for C jobs.
public final class WorkerPool: Sendable {
    package let core: PoolCore

    /// Which of the jobs that wait begins first. None starves: of 64 jobs that a worker runs, one is the oldest low
    /// one.
    public enum Priority: Sendable, Hashable {
        /// Before all others.
        case high
        /// After the high ones.
        case normal
        /// A job runs when no other waits, and at its turn.
        case low
    }

    /// A pool with threads of its own. Allocates, and starts the threads that are kept.
    ///
    /// If the system refuses some of the threads, the pool goes on with those there are, and asks again later.
    ///
    /// - Parameters:
    ///   - name: The name of the threads, followed by a number; the system shows 15 bytes.
    ///   - threads: How many run jobs at a time, from 1 to 1,024; `nil`: as many as the process has
    ///     processors.
    ///   - maximumThreads: How many there are with those whose jobs are blocked; `nil`: `threads` + 64.
    ///   - keptThreads: How many stay when they are idle; `nil`: `threads`. One stays in any case.
    ///   - idleTime: After how long an idle thread beyond those ends; `nil`: ten seconds.
    ///   - stackSize: The size of a thread's stack, in bytes; `nil`: the system's.
    ///   - nice: The nice value of the threads, added to the process's: from -20 to 19, below 0 only with privilege.
    /// - Throws: ``WorkerPoolError/invalidOption(_:_:)`` with the name of the option; or
    ///   ``WorkerPoolError/unavailable(pool:)``: no thread could be started.
    public convenience init(
        name: String = "pool",
        threads: Int? = nil,
        maximumThreads: Int? = nil,
        keptThreads: Int? = nil,
        idleTime: Duration? = nil,
        stackSize: Int? = nil,
        nice: Int = 0
    ) throws(WorkerPoolError) {
        let most = Int(ILK_POOL_MAX_THREADS)
        func require(_ holds: Bool, _ option: String, _ reason: String) throws(WorkerPoolError) {
            if !holds { throw WorkerPoolError.invalidOption(option, reason) }
        }
        if let threads {
            try require((1...most).contains(threads), "threads", "\(threads); a pool has 1 to \(most)")
        }
        if let maximumThreads {
            let least = threads ?? 1
            let own = threads.map(String.init) ?? "its"
            let reason = "\(maximumThreads); with \(own) threads a pool has \(least) to \(most)"
            try require((least...most).contains(maximumThreads), "maximumThreads", reason)
        }
        if let keptThreads {
            let limit = maximumThreads ?? threads.map { min($0 + 64, most) } ?? most
            let reason = "\(keptThreads); a pool of \(limit) threads keeps 0 to \(limit)"
            try require((0...limit).contains(keptThreads), "keptThreads", reason)
        }
        if let idleTime { try require(idleTime > .zero, "idleTime", "\(idleTime); it is above zero") }
        if let stackSize {
            let reason = "\(stackSize); a thread needs \(WorkerPool.leastStack) bytes"
            try require(stackSize >= WorkerPool.leastStack, "stackSize", reason)
        }
        try require((-20...19).contains(nice), "nice", "\(nice); it is -20 to 19")
        let options = ilk_pool_options(
            name: nil,
            threads: UInt32(threads ?? 0),
            max_threads: UInt32(maximumThreads ?? 0),
            kept_threads: UInt32(keptThreads.map { max($0, 1) } ?? 0),
            idle_ns: idleTime.map(nanoseconds) ?? 0,
            stack_size: stackSize ?? 0,
            nice: Int32(nice)
        )
        self.init(try PoolCore(options, name: name, isPermanent: false))
    }

    init(_ core: PoolCore) {
        self.core = core
        core.taskExecutor = asUnownedTaskExecutor()
    }

    deinit { core.finish() }

    /// The name that the pool was made with.
    public var name: String { core.name }

    /// The least that every system takes for the stack of a thread, and that Swift code lives in.
    static let leastStack = 64 << 10

    // MARK: The pools of the process

    /// The pool of the process, with a thread for each of its processors. It is made when it is first used, and is not
    /// closed.
    ///
    /// If the system gives it no thread, that is reported and ends the process.
    public static let shared = permanent("shared", nil) ?? noThread("WorkerPool.shared")

    /// The pool for work that blocks: 512 jobs at a time, a thread for each, of which one stays when all are idle. It
    /// is made when it is first used, and is not closed.
    ///
    /// If the system gives it no thread, that is reported and ends the process.
    public static var blocking: WorkerPool { blockingIfAvailable ?? noThread("WorkerPool.blocking") }

    package static let blockingIfAvailable = permanent("blocking", 512)

    private static func permanent(_ name: String, _ threads: Int?) -> WorkerPool? {
        var options = ilk_pool_options()
        if let threads {
            options.threads = UInt32(threads)
            options.max_threads = UInt32(ILK_POOL_MAX_THREADS)
            options.kept_threads = 1
        }
        return (try? PoolCore(options, name: name, isPermanent: true)).map(WorkerPool.init)
    }

    private static func noThread(_ call: String) -> WorkerPool {
        misuse(call, "", "the system gives it no thread, and without one nothing would go on")
    }

    // MARK: Submitting

    /// Has `work` run on a thread of the pool. Does not wait.
    ///
    /// From outside, normal work is begun in about the order in which it was submitted; work that a job submits is
    /// begun by its own worker first, the last one first, unless another worker steals it.
    ///
    /// - Returns: Whether the pool has accepted it. If not, the pool is closed: `work` does not run, and has been
    ///   released by the pool.
    /// - Complexity: O(1). Allocates nothing beside the closure while no more than 1,024 jobs wait. Calls
    ///   `ilk_pool_submit`.
    public func submit(priority: Priority = .normal, _ work: @escaping @Sendable () -> Void) -> Bool {
        core.submit(.closure(work), priority.inC)
    }

    // MARK: Blocking calls

    /// Runs `body`, which blocks: another thread takes over the calling worker's jobs meanwhile, if the pool has fewer
    /// than its `maximumThreads`.
    ///
    /// May be nested. On a thread of no pool, only runs `body`. May be called in a task: `body` does not suspend.
    ///
    /// Interlock's own blocking waits do this by themselves: for operations, jobs, queues, groups, runners, cached
    /// values, work of another pool, the end of a thread or a pool, a predicate under a lock (`when:`),
    /// ``FIFOSemaphore``, ``Barrier``, ``Select``, and `GCD.sync` with a limit. Taking a lock, ``Latch``, its rings,
    /// the post to a full ``WorkerThread`` and `GCD.sync` without a limit do not: they hold their worker.
    ///
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    public static func withBlockingCall<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        ilk_pool_will_block()
        defer { ilk_pool_did_block() }
        return try body()
    }

    // MARK: Observing

    /// What a pool is doing, at one moment.
    public struct Info: Sendable, Hashable {
        /// The threads that were started and have not ended.
        public let threads: Int
        /// Those of them whose jobs are blocked.
        public let blockedThreads: Int
        /// How often the system has refused a thread since the pool was made.
        public let refusedThreads: Int
        /// The delayed tasks that are not due.
        public let delayedTasks: Int
    }

    /// What the pool is doing. Thread-safe; blocks briefly. It may have changed when the caller reads it.
    public var info: Info {
        let info = ilk_pool_get_info(core.pool)
        return Info(
            threads: Int(info.threads),
            blockedThreads: Int(info.blocked),
            refusedThreads: Int(info.refused),
            delayedTasks: Int(info.timers)
        )
    }
}

extension WorkerPool.Priority {
    package var inC: ilk_priority {
        switch self {
        case .high: ILK_PRIORITY_HIGH
        case .normal: ILK_PRIORITY_NORMAL
        case .low: ILK_PRIORITY_LOW
        }
    }
}
