// SPDX-License-Identifier: Apache-2.0
//
// The executor of actors on a pool, and what it shares with Threads/ThreadExecutor.swift. Jobs wait in an array under a
// lock; one job of the pool at a time, the drain, runs them in order. The drain takes the array as a whole and leaves
// its own emptied one, so that the two arrays are used again and a job allocates nothing. After `drainLength` jobs it
// submits itself anew: one actor does not keep a worker from the others.
//
//   enqueue                            drain
//   lock: append; was it idle?         lock: take all; none: idle, end
//   idle: submit the drain             run each
//
// Must not happen: a job is appended to an idle queue and no drain is submitted. Both sides decide under the lock.

import CInterlock
import InterlockSync

/// How many jobs of one actor run before others have a turn.
private let drainLength = 64

/// The jobs of a serial executor that wait.
// `batch` and `next` are the drain's, of which there is one; the lock and the pool's queues order it after the last.
final class SerialQueue: @unchecked Sendable {
    private struct Waiting {
        var jobs: [UnownedJob] = []
        var isDraining = false
        /// No drain begins any more; the one under way takes what comes until it finds nothing.
        var isClosed = false
    }

    private let waiting = VisibleMutex(Waiting())
    private var batch: [UnownedJob] = []
    private var next = 0

    /// Appends a job. True: the caller submits the drain; `nil`: the queue has ended, and the job is not in it.
    func append(_ job: UnownedJob) -> Bool? {
        waiting.withLock { waiting in
            if waiting.isClosed, !waiting.isDraining { return nil }
            waiting.jobs.append(job)
            defer { waiting.isDraining = true }
            return !waiting.isDraining
        }
    }

    /// Has the queue end with the drain under way, or at once.
    func close() { waiting.withLock { $0.isClosed = true } }

    /// Whether the queue is closed and idle: it stays so.
    var hasEnded: Bool { waiting.withLock { $0.isClosed && !$0.isDraining } }

    /// The jobs that no drain has taken yet; for tests.
    var count: Int { waiting.withLock { $0.jobs.count } }

    /// Runs jobs by `run`. True: there are more, and the caller submits the drain again.
    func drain(_ run: (UnownedJob) -> Void) -> Bool {
        for _ in 0..<drainLength {
            if next == batch.count, !takeBatch() { return false }
            let job = batch[next]
            next += 1
            run(job)
        }
        return true
    }

    private func takeBatch() -> Bool {
        // A burst's memory is not kept.
        batch.removeAll(keepingCapacity: batch.capacity <= 4_096)
        next = 0
        // Idle is the last step: from then on the next drain has `batch`.
        return waiting.withLock { waiting in
            if waiting.jobs.isEmpty {
                waiting.isDraining = false
                return false
            }
            swap(&waiting.jobs, &batch)
            return true
        }
    }
}

/// What the executors of actors share.
protocol QueuedExecutor: SerialExecutor, PoolObject {
    var pool: WorkerPool { get }
    var queue: SerialQueue { get }
}

extension QueuedExecutor {
    func append(_ job: UnownedJob) {
        switch queue.append(job) {
        case true: submitDrain(on: pool.core, poolPriority(job))
        case false: break
        case nil:
            let sentence =
                "a job of an actor for an executor that has ended: it cannot run on its thread, and what awaits it would "
                + "wait for ever"
            misuse("\(Self.self).enqueue", "\"\(pool.name)\"", sentence)
        }
    }

    private func submitDrain(on core: PoolCore, _ priority: ilk_priority = ILK_PRIORITY_NORMAL) {
        if !core.submitLast(.object(self), priority) {
            // The pool is closed, and the actor still has to run.
            submitDrain(on: WorkerPool.shared.core, priority)
        }
    }

    package func run() {
        var hasMore = false
        let unowned = asUnownedSerialExecutor()
        PoolThread.runsJob(of: self) {
            hasMore = queue.drain { $0.runSynchronously(on: unowned) }
        }
        if hasMore { submitDrain(on: pool.core) }
    }

    package func handBack(to _: PoolCore) { submitDrain(on: WorkerPool.shared.core) }
}

/// An executor for actors on the threads of a ``WorkerPool``: the jobs of its actors run one at a time, in order, on
/// whichever worker is free.
///
/// ```swift
/// actor Index {
///     nonisolated let executor: SerialPoolExecutor
///     nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
///     init(on pool: WorkerPool) { executor = SerialPoolExecutor(on: pool) }
/// }
/// ```
///
/// Actors that share an executor exclude each other. An actor does not own its executor: it must hold it, as above.
/// When the pool is closed, the jobs go on, still one at a time, on ``WorkerPool/shared``.
public final class SerialPoolExecutor: SerialExecutor, QueuedExecutor {
    /// The pool that runs the jobs.
    public let pool: WorkerPool
    let queue = SerialQueue()

    /// An executor on `pool`, which it keeps. Allocates.
    public init(on pool: WorkerPool) { self.pool = pool }

    /// Runs a job of an actor after those before it. For the Swift runtime. Thread-safe; blocks for the few
    /// instructions in which another thread appends or takes jobs. O(1) amortised.
    public func enqueue(_ job: consuming ExecutorJob) { append(UnownedJob(job)) }

    /// Whether the calling thread runs a job of this executor.
    public func isIsolatingCurrentContext() -> Bool? { PoolThread.isInJob(of: self) }

    /// Reports code that claims to be on this executor and is not, and ends the process.
    public func checkIsolated() {
        requireIsolation(PoolThread.isInJob(of: self), "SerialPoolExecutor", pool.name)
    }
}

func requireIsolation(_ isIsolated: Bool, _ type: String, _ name: String) {
    if !isIsolated {
        misuse("\(type).checkIsolated", "\"\(name)\"", "called outside the jobs of this executor")
    }
}
