// SPDX-License-Identifier: Apache-2.0
//
// A limit on the jobs that run at once, without a thread for those that wait. The work is in RunnerCore.swift.

import Dispatch
import InterlockSync

/// Runs closures on a queue, at most ``limit`` at a time, first come, first served.
///
/// ```swift
/// let downloads = BoundedRunner(limit: 4, on: .global(qos: .utility))
/// for url in urls {
///     downloads.submit { crawl(url) }
/// }
/// downloads.waitUntilIdle()
/// ```
///
/// A job that waits holds no thread. With a semaphore each would hold one: `queue.async { permits.wait(); …;
/// permits.signal() }` parks a thread of the pool for every closure that has no permit, and on Linux, where the pool
/// starts with one thread for each processor, fifteen such closures keep all other work from beginning.
///
/// A permit is held by closures until they return, by a function with a callback until its ``Completion`` is called,
/// by a task for the time of ``withPermit(isolation:_:)``. Every method is thread-safe. Jobs begin in the order of
/// submission; what a thread did before it submitted a job is visible to the job. The queue supplies the threads: more
/// jobs that block than its pool has threads begin late, whatever the limit. At most 32 jobs run in a row before other
/// work of the queue gets its turn.
///
/// Released, the runner still runs the jobs it was given, suspended or not.
public final class BoundedRunner: Sendable {
    let core: RunnerCore
    /// Names the runner in reports.
    public let name: String

    /// Makes a runner that holds no thread while it has no job.
    ///
    /// - Parameters:
    ///   - limit: how many jobs run at once, at most. Below 1 is misuse.
    ///   - queue: runs the jobs, by default a global queue. With a serial queue they run one at a time.
    public init(limit: Int, on queue: DispatchQueue = .global(qos: .utility), name: String = "") {
        if limit < 1 {
            misuse("BoundedRunner.init", "limit: \(limit)", "at least one job must be allowed at a time")
        }
        core = RunnerCore(limit: limit, queue: queue)
        self.name = name
    }

    deinit { core.resume() }

    /// How many jobs run at once, at most.
    public var limit: Int { core.limit }

    // MARK: Jobs

    /// Runs `work` when its turn has come and a permit is free. Does not wait.
    ///
    /// - Returns: the handle that cancels it.
    /// - Complexity: O(1); allocates the handle.
    @discardableResult
    public func submit(_ work: @escaping @Sendable () -> Void) -> RunnerJob {
        core.submit(RunnerJob(core, .work(work)))
    }

    // MARK: Suspension

    /// Begins no further job until ``resume()``; those that run go on. Jobs may be submitted meanwhile. May be called
    /// any number of times; does not wait.
    public func suspend() { core.suspend() }

    /// Lets jobs begin again. One call ends any number of suspensions. Does not wait.
    public func resume() { core.resume() }

    /// Whether no further job begins.
    public var isSuspended: Bool { core.isSuspended }

    /// The jobs that have a permit now. A snapshot.
    public var runningCount: Int { core.counts.running }

    /// The jobs that wait for a permit. A snapshot.
    public var queuedCount: Int { core.counts.queued }
}
