// SPDX-License-Identifier: Apache-2.0
//
// Waiting until a queue is empty, and its end.

import InterlockSync

extension InterlockQueue {
    // MARK: Blocking

    /// Blocks until the queue is empty: all has ended, also what was added meanwhile.
    ///
    /// Work of the queue must not call this: it would wait for itself. A suspended queue does not become empty.
    @available(*, noasync, message: "it blocks the thread; use `try await wait()`")
    public func wait() { _ = core.block(until: forever) }

    /// Blocks until the queue is empty, until `deadline` at most. Work of the queue must not call this.
    ///
    /// - Returns: whether the queue was empty.
    @available(*, noasync, message: "it blocks the thread; use `try await wait(until:)`")
    public func wait(until deadline: ContinuousClock.Instant) -> Bool {
        core.block(until: InterlockSync.deadline(at: deadline))
    }

    /// Blocks until the queue is empty, for `timeout` at most. Work of the queue must not call this.
    ///
    /// - Returns: whether the queue was empty.
    @available(*, noasync, message: "it blocks the thread; use `try await wait(timeout:)`")
    public func wait(timeout: Duration) -> Bool { core.block(until: InterlockSync.deadline(in: timeout)) }

    // MARK: Suspending

    /// Suspends until the queue is empty.
    ///
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the queue goes on.
    public func wait() async throws(CancellationError) {
        if await core.suspend(until: nil) == .cancelled { throw CancellationError() }
    }

    /// Suspends until the queue is empty, until `deadline` at most.
    ///
    /// - Returns: whether the queue was empty.
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the queue goes on.
    public func wait(until deadline: ContinuousClock.Instant) async throws(CancellationError) -> Bool {
        try await core.suspend(until: deadline).isGranted()
    }

    /// Suspends until the queue is empty, for `timeout` at most.
    ///
    /// - Returns: whether the queue was empty.
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the queue goes on.
    public func wait(timeout: Duration) async throws(CancellationError) -> Bool {
        try await wait(until: moment(in: timeout))
    }

    // MARK: Ending

    /// Lets nothing more in, suspends until the queue is empty, for `limit` at most, in a cancelled task too, and
    /// cancels what is left then. A suspended queue stays suspended until then.
    ///
    /// What is cancelled and had not begun ends; what runs goes on until it ends.
    ///
    /// - Returns: the names of what had not ended when the time was over, sorted.
    public func shutDown(within limit: Duration) async -> [String] {
        core.close()
        let end = moment(in: limit)
        // In a task of its own: a cancellation of the caller's does not take the queue's time.
        _ = await Task { [core] in await core.suspend(until: end) }.value
        return cancelLeft()
    }

    /// Lets nothing more in, blocks the thread until the queue is empty, for `limit` at most, and cancels what is left
    /// then. What is cancelled and had not begun ends; what runs goes on until it ends.
    ///
    /// - Returns: the names of what was cancelled, sorted.
    @available(*, noasync, message: "it blocks the thread; use `await shutDown(within:)`")
    public func shutDown(within limit: Duration) -> [String] {
        core.close()
        _ = core.block(until: InterlockSync.deadline(in: limit))
        return cancelLeft()
    }

    private func cancelLeft() -> [String] {
        let left = core.stripes.nodes.filter { !$0.isFinished }
        // Before the cancellation: an operation that has ended is not known any more.
        let names = left.map(\.bareName).sorted()
        for node in left { node.cancel() }
        // A cancelled operation ends by its start.
        core.letEnd()
        return names
    }
}
