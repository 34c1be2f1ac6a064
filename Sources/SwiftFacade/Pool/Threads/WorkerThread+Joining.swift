// SPDX-License-Identifier: Apache-2.0
//
// Waiting for the end of a worker thread. It is announced when the handler has been released, as the thread's last step
// but for what the system does.

import InterlockSync

extension WorkerThread {
    // MARK: Blocking

    /// Waits until the thread has ended. Blocks the thread.
    ///
    /// - Throws: What the handler threw, for each caller.
    /// - Precondition: The caller is not the thread itself; that is reported and ends the process.
    @available(*, noasync, message: "it blocks the thread; use `try await join()`")
    public func join() throws { _ = try block(until: forever) }

    /// Waits until the thread has ended, until `deadline` at most. Blocks the thread.
    ///
    /// - Returns: Whether the thread has ended. After the deadline, too, one that has ended answers `true`.
    /// - Throws: What the handler threw, for each caller.
    /// - Precondition: The caller is not the thread itself.
    @available(*, noasync, message: "it blocks the thread; use `try await join(until:)`")
    public func join(until deadline: ContinuousClock.Instant) throws -> Bool {
        try block(until: InterlockSync.deadline(at: deadline))
    }

    /// Waits until the thread has ended, for `timeout` at most. Blocks the thread.
    ///
    /// - Returns: Whether the thread has ended.
    /// - Throws: What the handler threw, for each caller.
    /// - Precondition: The caller is not the thread itself.
    @available(*, noasync, message: "it blocks the thread; use `try await join(timeout:)`")
    public func join(timeout: Duration) throws -> Bool {
        try block(until: InterlockSync.deadline(in: timeout))
    }

    private func block(until deadline: UInt64) throws -> Bool {
        requireAnotherThread("join", "it has not ended")
        guard core.end.block(until: deadline) else { return false }
        try core.end.value!.get()
        return true
    }

    // MARK: Suspending

    /// Waits until the thread has ended. Suspends the task.
    ///
    /// - Throws: What the handler threw; `CancellationError` if the task is cancelled first. The thread goes on.
    public func join() async throws { _ = try await suspend(until: nil) }

    /// Waits until the thread has ended, until `deadline` at most; returns whether it has. Suspends the task.
    ///
    /// - Throws: What the handler threw; `CancellationError` if the task is cancelled first. The thread goes on.
    public func join(until deadline: ContinuousClock.Instant) async throws -> Bool {
        try await suspend(until: deadline)
    }

    /// Waits until the thread has ended, for `timeout` at most; returns whether it has. Suspends the task.
    ///
    /// - Throws: What the handler threw; `CancellationError` if the task is cancelled first. The thread goes on.
    public func join(timeout: Duration) async throws -> Bool { try await suspend(until: moment(in: timeout)) }

    private func suspend(until deadline: ContinuousClock.Instant?) async throws -> Bool {
        guard try await core.end.wait(until: deadline).isGranted() else { return false }
        try core.end.value!.get()
        return true
    }
}
