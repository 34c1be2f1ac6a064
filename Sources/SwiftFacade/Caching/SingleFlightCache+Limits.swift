// SPDX-License-Identifier: Apache-2.0
//
// Questions that wait until a moment at most, and questions that are called back. A thread that must return in time
// cannot compute: a thread of WorkerPool.blocking does.

import Dispatch

extension SingleFlightCache {
    // MARK: Suspending

    /// As `value(forKey:orCompute:)`, until `deadline` at most.
    ///
    /// A deadline that has passed still takes a value or a failure that is kept, and starts nothing.
    ///
    /// - Throws: As without a limit, and ``SingleFlightTimedOut``.
    @inlinable
    nonisolated(nonsending) public func value(
        forKey key: Key,
        until deadline: ContinuousClock.Instant,
        orCompute compute: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        if let value = cachedValue(forKey: key) { return value }
        return try await missingValue(forKey: key, until: deadline, compute)
    }

    /// As with `until:`, for `timeout` at most.
    @inlinable
    nonisolated(nonsending) public func value(
        forKey key: Key,
        timeout: Duration,
        orCompute compute: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        if let value = cachedValue(forKey: key) { return value }
        return try await missingValue(forKey: key, until: moment(in: timeout), compute)
    }

    // MARK: Blocking

    /// As the suspending form with `until:`, blocking the thread. The computation runs on a thread of
    /// ``WorkerPool/blocking``.
    ///
    /// - Throws: What the computation throws, or a kept failure; ``SingleFlightTimedOut``; ``CircularComputation``.
    @inlinable
    @_disfavoredOverload
    @available(
        *,
        noasync,
        message:
            "it would block a thread of the cooperative pool; use `try await value(forKey:until:orCompute:)` in a function"
    )
    public func value(
        forKey key: Key,
        until deadline: ContinuousClock.Instant,
        orCompute compute: @escaping @Sendable () throws -> Value
    ) throws -> Value {
        if let value = cachedValue(forKey: key) { return value }
        let isLate = deadline <= .now
        return try missingValue(forKey: key, until: Interlock.deadline(at: deadline), isLate: isLate, compute)
    }

    /// As the blocking form with `until:`, for `timeout` at most.
    @inlinable
    @_disfavoredOverload
    @available(
        *,
        noasync,
        message:
            "it would block a thread of the cooperative pool; use `try await value(forKey:timeout:orCompute:)` in a function"
    )
    public func value(
        forKey key: Key,
        timeout: Duration,
        orCompute compute: @escaping @Sendable () throws -> Value
    ) throws -> Value {
        if let value = cachedValue(forKey: key) { return value }
        let isLate = timeout <= .zero
        return try missingValue(forKey: key, until: Interlock.deadline(in: timeout), isLate: isLate, compute)
    }

    // MARK: Called back

    /// Delivers the value of `key` on a queue; has `compute` compute it if it is missing and not being computed yet.
    /// Returns at once.
    ///
    /// The computation may block: it runs on a thread of ``WorkerPool/blocking``. A question that is called back has no
    /// cancellation; while it waits, its computation is not given up.
    ///
    /// - Parameters:
    ///   - delivery: Where `completion` runs, by default the main queue, which needs a program that drains it.
    ///   - compute: As of `value(forKey:orCompute:)`.
    ///   - completion: Called once, later and never inside this call, with the value, or with what the computation
    ///     throws, or a kept failure.
    public func value(
        forKey key: Key,
        deliverOn delivery: DispatchQueue = GCD.main,
        orCompute compute: @escaping @Sendable () throws -> Value,
        completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        _ = QueueTag.of(delivery)
        let delivery = Delivery(queue: delivery, completion: completion)
        if let value = cachedValue(forKey: key) {
            delivery(.success(value))
        } else {
            deliverMissingValue(forKey: key, delivery, compute)
        }
    }
}
