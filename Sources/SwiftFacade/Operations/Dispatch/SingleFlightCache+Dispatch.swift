// SPDX-License-Identifier: Apache-2.0
//
// Questions to a cache that are called back.

import Dispatch
import InterlockPool

extension SingleFlightCache {
    /// Delivers the value of `key` on a queue; has `compute` compute it if it is missing and not being computed yet.
    /// Returns at once.
    ///
    /// The computation may block: it runs on a thread of ``WorkerPool/blocking``. A question that is called back has no
    /// cancellation; while it waits, its computation is not given up.
    ///
    /// - Parameters:
    ///   - delivery: Where `completion` runs, by default the main queue, which needs a program that drains it.
    ///   - compute: Computes the value; called at most once, not by this call. May throw.
    ///   - completion: Called once, later and never inside this call, with the value, or with what the computation
    ///     throws, or a kept failure.
    public func value(
        forKey key: Key,
        deliverOn delivery: DispatchQueue = .main,
        orCompute compute: @escaping @Sendable () throws -> Value,
        completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        _ = QueueTag.of(delivery)
        let delivery: Delivery<Value> = { result in delivery.async { completion(result) } }
        if let value = cachedValue(forKey: key) {
            delivery(.success(value))
        } else {
            deliverMissingValue(forKey: key, delivery, compute)
        }
    }
}
