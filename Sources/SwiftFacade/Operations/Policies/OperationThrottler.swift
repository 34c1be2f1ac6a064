// SPDX-License-Identifier: Apache-2.0
//
// Of operations that come in quick succession at most one an interval runs: the first, the last, or both.

import Foundation

/// Runs at most one operation an interval of those that come in quick succession.
///
/// An interval begins with an operation that comes when none is under way. In ``Edges/leading`` mode that operation runs
/// at once and the others of the interval do not run. In ``Edges/trailing`` mode the last one of the interval runs at its
/// end. With ``Edges/both`` the first runs at once and the last, if it is another, at the end, where it begins the next
/// interval.
///
/// Each operation that is submitted finishes: run by the queue; with ``OperationSuperseded`` as soon as it is known that
/// it will not run; or at once when it is cancelled before the queue has it. Dropping the throttler does not drop the
/// last operation. May be used from any thread; no call blocks, and no thread is held by a wait.
public final class OperationThrottler: Sendable {
    /// Which operations of an interval run.
    public enum Edges: Sendable, Hashable {
        /// The first, at once.
        case leading
        /// The last, at the end.
        case trailing
        /// The first, and the last if it is another.
        case both
    }

    private struct State {
        var isUnderWay = false
        var pending = PendingOperation()
    }

    private enum Submitted {
        case runs
        case begins
        case waits
        case replaces(any HeldBackOperation)
        case isSuperseded
    }

    private let interval: Duration
    private let edges: Edges
    private let clock: any Clock<Duration>
    private let target: OperationTarget
    private let state = VisibleMutex(State())

    /// Makes a throttler.
    ///
    /// - Parameters:
    ///   - interval: in which one operation runs at most. Zero or less lets every operation run.
    ///   - queue: runs the operations.
    ///   - edges: which operations of an interval run.
    ///   - clock: measures the interval.
    public convenience init(
        for interval: Duration,
        on queue: OperationQueue,
        edges: Edges = .both,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.init(for: interval, on: OperationTarget { queue.addOperation($0) }, edges: edges, clock: clock)
    }

    init(for interval: Duration, on target: OperationTarget, edges: Edges, clock: any Clock<Duration>) {
        self.interval = interval
        self.target = target
        self.edges = edges
        self.clock = clock
    }

    /// Submits `operation`, which is in no queue and not started, and gives it back.
    @discardableResult
    public func submit<Output>(_ operation: AsyncOperation<Output>) -> AsyncOperation<Output> {
        if interval <= .zero {
            target.add(operation)
            return operation
        }
        switch take(operation) {
        case .runs:
            beginInterval()
            target.add(operation)
        case .begins:
            endWhenCancelled(operation)
            beginInterval()
        case .waits:
            endWhenCancelled(operation)
        case .replaces(let superseded):
            superseded.supersede()
            endWhenCancelled(operation)
        case .isSuperseded:
            operation.supersede()
        }
        return operation
    }

    /// Submits an operation made of a closure.
    @discardableResult
    public func submit<Output: Sendable>(
        name: String? = nil,
        _ body: @escaping @Sendable () throws -> Output
    ) -> AsyncOperation<Output> {
        submit(AsyncOperation(name: name, body))
    }

    /// Submits an operation made of an `async` closure.
    @discardableResult
    public func submit<Output: Sendable>(
        name: String? = nil,
        _ body: @escaping @Sendable () async throws -> Output
    ) -> AsyncOperation<Output> {
        submit(AsyncOperation(name: name, body))
    }

    /// Whether no interval is under way; for tests.
    var isIdle: Bool { state.withLock { !$0.isUnderWay } }

    /// What becomes of `operation`.
    private func take(_ operation: any HeldBackOperation) -> Submitted {
        state.withLock { state in
            let isFirst = !state.isUnderWay
            state.isUnderWay = true
            if isFirst, edges != .trailing { return .runs }
            if edges == .leading { return .isSuperseded }
            if let old = state.pending.replace(by: operation) { return .replaces(old) }
            return isFirst ? .begins : .waits
        }
    }

    private func beginInterval() {
        // Keeps the throttler to the interval's end.
        ClockAlarm { [self] in endInterval() }.arm(after: interval, on: clock)
    }

    /// The last one runs. With both edges it begins the next interval.
    private func endInterval() {
        let (operation, goesOn) = state.withLock { state in
            let operation = state.pending.take()
            state.isUnderWay = operation != nil && edges == .both
            return (operation, state.isUnderWay)
        }
        if goesOn { beginInterval() }
        if let operation { target.add(operation) }
    }

    private func endWhenCancelled(_ operation: any HeldBackOperation) {
        operation.onCancelBeforeStart { [weak self, weak operation] in
            guard let operation else { return }
            self?.state.withLock { $0.pending.take(operation) }?.start()
        }
    }
}
