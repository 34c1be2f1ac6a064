// SPDX-License-Identifier: Apache-2.0
//
// The executor of actors on one thread: a pool of one worker, and the queue of SerialExecutors.swift in front of it.
// The pool is closed by the drain that finds the closed queue empty, so a drain is never refused.

import InterlockSync

/// An executor for actors with one thread of its own: all jobs of its actors run on that thread, in the order in which
/// they were enqueued. For code that must stay on its thread, such as a library with thread-local state.
///
/// ```swift
/// actor Camera {
///     nonisolated let thread: ThreadExecutor
///     nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
///     init() throws { thread = try ThreadExecutor(name: "camera") }
/// }
/// ```
///
/// An actor does not own its executor: it must hold it, as above. When the executor is released, by a job of its own
/// too, its thread ends after the jobs that were accepted. Every method is thread-safe.
///
/// **Ending.** ``close()`` lets the thread end as soon as no job waits. A job that comes later has no thread that it
/// may run on, and what awaits it would wait for ever: it is reported and ends the process. So close it when its actors
/// have no more to do.
public final class ThreadExecutor: SerialExecutor, QueuedExecutor {
    let pool: WorkerPool
    let queue = SerialQueue()

    /// An executor with a thread. Allocates, and starts the thread.
    ///
    /// - Parameters:
    ///   - name: The name of the thread; the system shows 15 bytes, with a number behind.
    ///   - stackSize: The size of its stack, in bytes; `nil`: the system's.
    ///   - nice: The nice value of the thread, added to the process's: from -20 to 19, below 0 only with privilege.
    /// - Throws: ``WorkerPoolError/unavailable(pool:)`` where the system makes no thread;
    ///   ``WorkerPoolError/invalidOption(_:_:)``.
    public init(name: String = "actor", stackSize: Int? = nil, nice: Int = 0) throws(WorkerPoolError) {
        pool = try WorkerPool(name: name, threads: 1, maximumThreads: 1, stackSize: stackSize, nice: nice)
    }

    /// The name that the executor was made with.
    public var name: String { pool.name }

    /// Whether the calling thread runs a job of this executor. Never blocks.
    public var isCurrent: Bool { PoolThread.isInJob(of: self) }

    /// Runs a job of an actor after those before it. For the Swift runtime. Thread-safe; blocks for the few
    /// instructions in which another thread appends or takes jobs. O(1) amortised.
    ///
    /// - Precondition: The executor has not ended (``close()``); a later job is reported and ends the process.
    public func enqueue(_ job: consuming ExecutorJob) { append(UnownedJob(job)) }

    /// Whether the calling thread runs a job of this executor.
    public func isIsolatingCurrentContext() -> Bool? { isCurrent }

    /// Reports code that claims to be on this executor and is not, and ends the process.
    public func checkIsolated() { requireIsolation(isCurrent, "ThreadExecutor", name) }

    package func run() {
        let unowned = asUnownedSerialExecutor()
        PoolThread.runsJob(of: self) {
            // The thread is this executor's own: no other executor waits for a turn.
            while queue.drain({ $0.runSynchronously(on: unowned) }) {}
        }
        if queue.hasEnded { pool.close() }
    }

    // MARK: Ending

    /// Has the thread end when it has run what waits, jobs that come until then included. Thread-safe; does not wait. A
    /// second call does nothing.
    public func close() {
        queue.close()
        if queue.hasEnded { pool.close() }
    }

    /// Waits until the executor is closed and its last job has run. Blocks the thread.
    ///
    /// - Precondition: The caller is no job of this executor, which would wait for itself; that is reported and ends
    ///   the process.
    @available(*, noasync, message: "it blocks the thread; use `try await wait()`")
    public func wait() {
        requireAnotherThread()
        pool.wait()
    }

    /// Waits until the executor is closed and its last job has run, until `deadline` at most; returns whether it has.
    /// Blocks the thread.
    ///
    /// - Precondition: The caller is no job of this executor.
    @available(*, noasync, message: "it blocks the thread; use `try await wait(until:)`")
    public func wait(until deadline: ContinuousClock.Instant) -> Bool {
        requireAnotherThread()
        return pool.wait(until: deadline)
    }

    /// Waits until the executor is closed and its last job has run, for `timeout` at most; returns whether it has.
    /// Blocks the thread.
    ///
    /// - Precondition: The caller is no job of this executor.
    @available(*, noasync, message: "it blocks the thread; use `try await wait(timeout:)`")
    public func wait(timeout: Duration) -> Bool {
        requireAnotherThread()
        return pool.wait(timeout: timeout)
    }

    private func requireAnotherThread() {
        if isCurrent {
            let sentence = "called by one of its own jobs, which it would wait for"
            misuse("ThreadExecutor.wait", "\"\(name)\"", sentence)
        }
    }

    /// Waits until the executor is closed and its last job has run. Suspends the task.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first; the executor goes on.
    public func wait() async throws(CancellationError) { try await pool.wait() }

    /// Waits until the executor is closed and its last job has run, until `deadline` at most; returns whether it has.
    /// Suspends the task.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first; the executor goes on.
    public func wait(until deadline: ContinuousClock.Instant) async throws(CancellationError) -> Bool {
        try await pool.wait(until: deadline)
    }

    /// Waits until the executor is closed and its last job has run, for `timeout` at most; returns whether it has.
    /// Suspends the task.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first; the executor goes on.
    public func wait(timeout: Duration) async throws(CancellationError) -> Bool {
        try await pool.wait(timeout: timeout)
    }
}
