// SPDX-License-Identifier: Apache-2.0
//
// If operations come in quick succession, at most one an interval runs: the first, the last, or both.

import Foundation
import InterlockPool
import InterlockSync

/// Runs at most one operation an interval of those that come in quick succession.
///
/// An interval begins with an operation that comes when none is under way. In ``DeliveryEdges/leading`` mode that
/// operation runs at once and the others of the interval do not run. In ``DeliveryEdges/trailing`` mode the last one of
/// the interval runs at its end. With ``DeliveryEdges/both`` the first runs at once and the last, if it is another, at
/// the end, where it begins the next interval.
///
/// Each operation that is submitted finishes: run by the queue; with ``OperationSuperseded`` as soon as it is known
/// that it will not run; or at once when it is cancelled before the queue has it. Dropping the throttler does not drop
/// the last operation. May be used from any thread; no call blocks, and no thread is held by a wait.
public final class OperationThrottler: Sendable {
    private let pacer: Pacer<any HeldBackOperation>

    /// Makes a throttler.
    ///
    /// - Parameters:
    ///   - interval: in which one operation runs at most. Zero or less lets every operation run.
    ///   - queue: runs the operations.
    ///   - edges: which operations of an interval run.
    ///   - clock: measures the interval.
    public init(
        for interval: Duration,
        on queue: OperationQueue,
        edges: DeliveryEdges = .both,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        pacer = Pacer(for: interval, .throttle, edges, on: clock, wake: queue.takeReady)
    }

    /// A throttler for a queue of the other kind.
    public init(
        for interval: Duration,
        on queue: InterlockQueue,
        edges: DeliveryEdges = .both,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        pacer = Pacer(for: interval, .throttle, edges, on: clock, wake: queue.core.takeReady)
    }

    /// Submits `operation`, which is in no queue and not started, and gives it back; another one is misuse, as is a
    /// second time.
    @discardableResult
    public func submit<Output>(_ operation: AsyncOperation<Output>) -> AsyncOperation<Output> {
        pacer.hold(operation, for: "OperationThrottler.submit")
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
    var isIdle: Bool { pacer.isIdle }
}
