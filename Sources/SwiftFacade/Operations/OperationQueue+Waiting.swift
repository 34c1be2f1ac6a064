// SPDX-License-Identifier: Apache-2.0
//
// What `async` code misses in `OperationQueue`. A wait is an operation that depends on the others: it works for every
// kind and needs no barrier, which can deadlock beside cancelled ones.

import Foundation
import InterlockSync

extension OperationQueue {
    /// Adds the operations in their order and returns at once: `queue.enqueue(load, decode, write)`.
    ///
    /// May be called from any thread, in `async` code too. An operation is added once, to one queue. Misuse, reported
    /// with its name: an `AsyncOperation` that was added by a call of this module before, or has started. Otherwise
    /// Foundation stops the program.
    public func enqueue(_ operations: Operation...) {
        for operation in operations {
            (operation as? any GatedOperation)?.enlist(in: self)
            (operation as? any ObservedOperation)?.announceEnqueued()
            addOperation(operation)
        }
    }

    /// Suspends until all of these operations have finished, in whatever queues. What they did is visible.
    ///
    /// One of another class than `AsyncOperation` that never finishes keeps what waits for it in memory, also after the
    /// wait was cancelled.
    ///
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the operations go on.
    public static func finished(_ operations: [Operation]) async throws(CancellationError) {
        let arrival = AsyncOperation<Void> {}
        for operation in operations where !operation.isFinished { arrival.addDependency(operation) }
        arrivals.addOperation(arrival)
        do {
            _ = try await arrival.wait()
        } catch {
            // Frees it now, not when the last of them ends.
            arrival.cancel()
            throw error
        }
    }

    /// Suspends until every operation in the queue has finished, those added meanwhile included:
    /// `waitUntilAllOperationsAreFinished()` for `async` code. What they did is visible.
    ///
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the operations go on.
    public func allFinished() async throws(CancellationError) {
        while true {
            let waiting = operations
            if waiting.isEmpty { return }
            try await Self.finished(waiting)
        }
    }

    private static let arrivals = relays("interlock.arrivals")

    /// A queue for operations of this module that only pass on that others have finished.
    static func relays(_ name: String) -> OperationQueue {
        let queue = OperationQueue()
        queue.name = name
        queue.qualityOfService = .userInitiated
        return queue
    }
}
