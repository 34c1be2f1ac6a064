// SPDX-License-Identifier: Apache-2.0
//
// Waiting until a runner has no job.

import InterlockSync

extension BoundedRunner {
    // MARK: Blocking

    /// Blocks until the runner has no job: none runs and none waits, also of those submitted meanwhile. What the jobs
    /// did is visible.
    ///
    /// A suspended runner with jobs is not idle. A job of the runner would wait for itself: that is misuse.
    @available(*, noasync, message: "it blocks the thread; use `try await waitUntilIdle()`")
    public func waitUntilIdle() {
        if EnteredQueues.isInJob(of: core) {
            let sentence =
                "called by a job of the runner, which is not idle before the job has ended: it would wait for itself "
                + "for ever"
            misuse("BoundedRunner.waitUntilIdle", misuseName(name, of: self), sentence)
        }
        _ = core.block(until: forever)
    }

    /// Blocks until the runner has no job, for `timeout` at most. A call by one of its own jobs
    /// waits as long, for itself.
    ///
    /// - Returns: whether the runner was idle.
    @available(*, noasync, message: "it blocks the thread; use `try await waitUntilIdle(timeout:)`")
    public func waitUntilIdle(timeout: Duration) -> Bool {
        core.block(until: InterlockSync.deadline(in: timeout))
    }

    // MARK: Suspending

    /// Suspends until the runner has no job. What the jobs did is visible.
    ///
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the jobs go on.
    public func waitUntilIdle() async throws(CancellationError) { _ = try await core.suspend(until: nil) }

    /// Suspends until the runner has no job, for `timeout` at most.
    ///
    /// - Returns: whether the runner was idle.
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the jobs go on.
    public func waitUntilIdle(timeout: Duration) async throws(CancellationError) -> Bool {
        try await core.suspend(until: moment(in: timeout))
    }
}
