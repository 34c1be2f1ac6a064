// SPDX-License-Identifier: Apache-2.0
//
// A group of jobs over the C group. That one has a single follower at a time; here any number of tasks and closures
// wait for the end. One of them arms the follower, and those that come while it is armed wait for its run:
//
//   register                              the follower
//   lock: not armed? armed = [entry]      lock: takes `armed`; `later` becomes `armed`
//         armed?     later += [entry]     is there something in `armed`: follows the group again
//   was not armed: follows the group      performs what it took
//
// What is in `later` may have been registered after the group's end and beside new jobs, so it waits for those as well.
// Where there are none, a group without jobs runs its follower at once.

import CInterlock
import InterlockSync

/// Jobs of a ``WorkerPool`` that are waited for together.
///
/// ```swift
/// let group = WorkerGroup(on: .shared)
/// for url in urls {
///     guard group.submit({ crawl(url) }) else { break }
/// }
/// try await group.wait()
/// ```
///
/// Every method is thread-safe. Jobs may submit more jobs of their group. The group keeps its pool. A group that is
/// released leaves its jobs alone: they run.
///
/// What the jobs did is visible after a wait, and to what ``notify(_:)`` runs. Source: `ilk_group` in
/// `<interlock/pool.h>`.
public final class WorkerGroup: Sendable {
    /// The pool that runs the jobs.
    public let pool: WorkerPool
    private let group = PoolGroup()
    private let followers = VisibleMutex(Followers())

    private enum Follower: Sendable {
        case closure(@Sendable () -> Void)
        case waiter(Promise<Void>)
    }

    private struct Followers { var isArmed = false, armed: [Follower] = [], later: [Follower] = [] }

    /// A group without jobs. Allocates.
    public init(on pool: WorkerPool) { self.pool = pool }

    deinit { group.retire(on: pool.core) }

    /// Has `work` run on the pool as a job of the group. Does not wait.
    ///
    /// - Returns: Whether the pool has accepted it. If not, the pool is closed: `work` does not run, and the group does
    ///   not count it.
    public func submit(priority: WorkerPool.Priority = .normal, _ work: @escaping @Sendable () -> Void)
        -> Bool
    {
        pool.core.submit(.closure(work), priority.inC, group: group.pointer)
    }

    /// Has `work` run on the pool when the jobs of the group have ended: at once, if it has none. Does not wait.
    ///
    /// It runs after all jobs that were submitted before this call, and may run after later ones. May be called any
    /// number of times; what was given to several calls may run at the same time.
    ///
    /// - Returns: Whether it was accepted. If not, the pool is closed, and `work` does not run.
    public func notify(_ work: @escaping @Sendable () -> Void) -> Bool {
        if pool.core.isClosed { return false }
        register(.closure(work))
        return true
    }

    // MARK: Blocking

    /// Waits until all jobs of the group have ended. Blocks the thread; a worker of the pool runs jobs of the group.
    @available(*, noasync, message: "it blocks the thread; use `try await wait()`")
    public func wait() { _ = block(until: forever) }

    /// Waits until all jobs of the group have ended, until `deadline` at most. Blocks the thread; a worker of the pool
    /// runs jobs of the group, and ends the one that it has begun.
    ///
    /// - Returns: Whether all jobs have ended.
    @available(*, noasync, message: "it blocks the thread; use `try await wait(until:)`")
    public func wait(until deadline: ContinuousClock.Instant) -> Bool {
        block(until: InterlockSync.deadline(at: deadline))
    }

    /// Waits until all jobs of the group have ended, for `timeout` at most. Blocks the thread; a worker of the pool
    /// runs jobs of the group, and ends the one that it has begun.
    ///
    /// - Returns: Whether all jobs have ended.
    @available(*, noasync, message: "it blocks the thread; use `try await wait(timeout:)`")
    public func wait(timeout: Duration) -> Bool { block(until: InterlockSync.deadline(in: timeout)) }

    private func block(until deadline: UInt64) -> Bool {
        ThreadDiagnosis.waiting(for: self, until: deadline, "a group of jobs") {
            ilk_group_wait_until(group.pointer, deadline) == ILK_OK
        }
    }

    // MARK: Suspending

    /// Waits until all jobs of the group have ended. Suspends the task.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first; the jobs go on.
    public func wait() async throws(CancellationError) { _ = try await suspend(until: nil) }

    /// Waits until all jobs of the group have ended, until `deadline` at most. Suspends the task.
    ///
    /// - Returns: Whether all jobs have ended.
    /// - Throws: `CancellationError` if the task is cancelled first; the jobs go on.
    public func wait(until deadline: ContinuousClock.Instant) async throws(CancellationError) -> Bool {
        try await suspend(until: deadline)
    }

    /// Waits until all jobs of the group have ended, for `timeout` at most. Suspends the task.
    ///
    /// - Returns: Whether all jobs have ended.
    /// - Throws: `CancellationError` if the task is cancelled first; the jobs go on.
    public func wait(timeout: Duration) async throws(CancellationError) -> Bool {
        try await suspend(until: moment(in: timeout))
    }

    private func suspend(until deadline: ContinuousClock.Instant?) async throws(CancellationError) -> Bool {
        // The group holds the promise until its end, also where this wait gives up.
        let end = Promise<Void>()
        register(.waiter(end))
        return try await end.wait(until: deadline).isGranted()
    }

    // MARK: Following

    private func register(_ follower: Follower) {
        let arms = followers.withLock { followers in
            if followers.isArmed {
                followers.later.append(follower)
                return false
            }
            followers.isArmed = true
            followers.armed = [follower]
            return true
        }
        if arms { arm() }
    }

    private func arm() { pool.core.follow(group.pointer, .object(self)) }

    /// Wakes the waiters that are armed, and gives the closures to `take`, in the order in which they came.
    private func takeFollowers(_ take: (@escaping @Sendable () -> Void) -> Void) {
        let (taken, isArmed) = followers.withLock { followers in
            let taken = followers.armed
            followers.armed = followers.later
            followers.later = []
            followers.isArmed = !followers.armed.isEmpty
            return (taken, followers.isArmed)
        }
        if isArmed { arm() }
        for follower in taken {
            switch follower {
            case .closure(let closure): take(closure)
            case .waiter(let promise): promise.fulfil(())
            }
        }
    }
}

// The group's own follower. It keeps the group until it has run.
extension WorkerGroup: PoolObject {
    package func run() {
        var closures: [@Sendable () -> Void] = []
        takeFollowers { closures.append($0) }
        // The last one here; each other one here as well where the pool was closed meanwhile.
        let last = closures.popLast()
        for closure in closures where !pool.core.submit(.closure(closure)) { closure() }
        last?()
    }

    package func handBack(to core: PoolCore) { takeFollowers { core.returnToCaller($0) } }
}
