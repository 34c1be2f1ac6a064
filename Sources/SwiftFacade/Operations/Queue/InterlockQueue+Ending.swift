// SPDX-License-Identifier: Apache-2.0
//
// Waiting until a queue is empty, and its end.

extension InterlockQueue {
    // MARK: Blocking

    /// Blocks until the queue is empty: all has ended, also what was added meanwhile.
    ///
    /// Not for work of the queue, which would wait for itself. A suspended queue does not become empty.
    @available(*, noasync, message: "it would block a thread of the cooperative pool; use `try await wait()`")
    public func wait() {
        _ = core.block(until: forever)
    }

    /// As `wait()`, until `deadline` at most.
    ///
    /// - Returns: whether the queue was empty.
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; use `try await wait(until:)`"
    )
    public func wait(until deadline: ContinuousClock.Instant) -> Bool {
        core.block(until: Interlock.deadline(at: deadline))
    }

    // MARK: Suspending

    /// Suspends until the queue is empty.
    ///
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the queue goes on.
    public func wait() async throws(CancellationError) {
        if await core.suspend(until: nil) == .cancelled { throw CancellationError() }
    }

    /// As the suspending `wait()`, until `deadline` at most.
    ///
    /// - Returns: whether the queue was empty.
    public func wait(until deadline: ContinuousClock.Instant) async throws(CancellationError) -> Bool {
        switch await core.suspend(until: deadline) {
        case .granted: return true
        case .timedOut: return false
        case .cancelled: throw CancellationError()
        }
    }

    // MARK: Ending

    /// Waits until the queue is empty, for `limit` at most; the queue stays open.
    ///
    /// - Returns: the names of what had not ended, sorted; of what has none, type and address.
    public func drain(within limit: Duration) async -> [String] {
        _ = await core.suspend(until: moment(in: limit))
        return left.map(\.bareName).sorted()
    }

    /// Lets nothing more in, waits until the queue is empty, for `limit` at most, and cancels what is left then. A
    /// suspended queue stays suspended until then.
    ///
    /// What is cancelled and had not begun ends; what runs goes on until it ends.
    ///
    /// - Returns: the names of what was cancelled, sorted.
    public func shutDown(within limit: Duration) async -> [String] {
        core.close()
        _ = await core.suspend(until: moment(in: limit))
        let left = left
        // Before the cancellation: an operation that has ended is not known any more.
        let names = left.map(\.bareName).sorted()
        for node in left { node.cancel() }
        // A cancelled operation ends by its start.
        core.letEnd()
        return names
    }

    private var left: [JobNode] {
        core.stripes.nodes.filter { !$0.isFinished }
    }
}
