// SPDX-License-Identifier: Apache-2.0
//
// If operations come in quick succession, the last one runs, when no further one has come for a while.

import Foundation
import InterlockPool
import InterlockSync

/// Runs the last of operations that come in quick succession: an operation runs when none has come after it for the
/// interval.
///
/// ```swift
/// let search = OperationDebouncer(for: .milliseconds(300), on: operations)
/// let results = search.submit { try await render(url) }
/// ```
///
/// Each operation that is submitted finishes: run by the queue; with ``OperationSuperseded`` as soon as a later one
/// comes; or at once when it is cancelled before the queue has it. Dropping the debouncer does not drop the last
/// operation. May be used from any thread; no call blocks, and no thread is held by a wait.
public final class OperationDebouncer: Sendable {
    private let pacer: Pacer<any HeldBackOperation>

    /// Makes a debouncer.
    ///
    /// - Parameters:
    ///   - interval: how long no further operation must come. Zero or less lets every operation run.
    ///   - queue: runs the operations.
    ///   - clock: measures the interval.
    public init(
        for interval: Duration,
        on queue: OperationQueue,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        pacer = Pacer(for: interval, .debounce(limit: nil), .trailing, on: clock, wake: queue.takeReady)
    }

    /// A debouncer for a queue of the other kind.
    public init(
        for interval: Duration,
        on queue: InterlockQueue,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        pacer = Pacer(for: interval, .debounce(limit: nil), .trailing, on: clock, wake: queue.core.takeReady)
    }

    /// Submits `operation`, which is in no queue and not started, and gives it back; another one is misuse, as is a
    /// second time. The one before it, if it still waits, finishes with ``OperationSuperseded``.
    @discardableResult
    public func submit<Output>(_ operation: AsyncOperation<Output>) -> AsyncOperation<Output> {
        pacer.hold(operation, for: "OperationDebouncer.submit")
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

    /// Gives the operation that waits to the queue now, if there is one.
    public func flush() { _ = pacer.flush() }
}
