// SPDX-License-Identifier: Apache-2.0
//
// What `async` code misses in `OperationQueue`. A wait is an operation that depends on the others. So it
// works for operations of every kind and needs no barrier, which can deadlock beside cancelled ones.

import Foundation

extension OperationQueue {
    /// Adds the operations in their order and returns at once: `queue.enqueue(load, decode, write)`.
    ///
    /// May be called from any thread and from `async` code, where Foundation's
    /// `addOperations(_:waitUntilFinished:)` is not available. An operation is added to one queue once;
    /// Foundation stops the program otherwise.
    public func enqueue(_ operations: Operation...) {
        for operation in operations { addOperation(operation) }
    }

    /// Suspends until all of these operations have finished, in whatever queues they are.
    ///
    /// May be called from any task, with operations of any class. An operation of another class that never finishes
    /// keeps what waits for it in memory, also after the wait was cancelled.
    ///
    /// Everything the operations did is visible after the return.
    ///
    /// - Throws: `CancellationError` if the awaiting task is cancelled, at once; the operations go on.
    public static func finished(_ operations: [Operation]) async throws(CancellationError) {
        let arrival = AsyncOperation<Void> {}
        for operation in operations where !operation.isFinished { arrival.addDependency(operation) }
        arrivals.addOperation(arrival)
        do {
            _ = try await arrival.wait()
        } catch {
            // Frees it now instead of when the last of them ends.
            arrival.cancel()
            throw error
        }
    }

    /// Suspends until every operation in the queue has finished, those added meanwhile included: the
    /// form of `waitUntilAllOperationsAreFinished()` for `async` code. May be called from any task.
    ///
    /// Everything the operations did is visible after the return.
    ///
    /// - Throws: `CancellationError` if the awaiting task is cancelled, at once; the operations go on.
    public func allFinished() async throws(CancellationError) {
        while true {
            let waiting = operations
            if waiting.isEmpty { return }
            try await Self.finished(waiting)
        }
    }

    private static let arrivals: OperationQueue = {
        let queue = OperationQueue()
        queue.name = "interlock.arrivals"
        queue.qualityOfService = .userInitiated
        return queue
    }()
}
