// SPDX-License-Identifier: Apache-2.0
//
// Averages computed off the caller's thread, each once: the cache keeps the operation, for which callers wait.

import Dispatch
import Foundation
import Interlock

/// Computes averages in the background and keeps them. Thread-safe.
package final class SalesAverages: Sendable {
    private let computations = ReadWriteLock<[SalesData: AsyncOperation<Double>]>([:])
    private let queue: OperationQueue
    private let compute: @Sendable (SalesData) throws -> Double

    /// - Parameter compute: Takes the average; called on a background thread, once for each value of the data.
    package init(compute: @escaping @Sendable (SalesData) throws -> Double = { try $0.average }) {
        queue = OperationQueue()
        queue.name = "sales averages"
        self.compute = compute
    }

    /// The average of `data`: the first call computes it off the calling thread, later calls answer at once.
    ///
    /// Suspends. A cancelled task stops waiting; the computation goes on for the others.
    ///
    /// - Throws: ``SalesError/noRevenue`` when there is no revenue, `CancellationError` when the task was cancelled.
    package func calculateAverage(of data: SalesData) async throws -> Double {
        try await computation(of: data).value
    }

    /// The same without `async`: returns at once, and calls `completion` once, on the main queue or the one given.
    package func calculateAverage(
        of data: SalesData,
        deliverOn delivery: DispatchQueue = .main,
        completion: @escaping @Sendable (Result<Double, any Error>) -> Void
    ) {
        computation(of: data).onFinish { result in delivery.async { completion(result) } }
    }

    /// The one operation for `data`; mostly a read finds it.
    private func computation(of data: SalesData) -> AsyncOperation<Double> {
        if let known = computations.withReadLock({ $0[data] }) { return known }
        let (operation, isNew) = computations.withWriteLock { computations in
            if let known = computations[data] { return (known, false) }
            let new = AsyncOperation<Double>(name: "average of \(data.revenue.count)") { [compute] in
                try compute(data)
            }
            computations[data] = new
            return (new, true)
        }
        // Outside the lock: adding to a queue runs Foundation's code.
        if isNew { queue.addOperation(operation) }
        return operation
    }
}
