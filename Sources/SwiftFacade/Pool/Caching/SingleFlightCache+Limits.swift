// SPDX-License-Identifier: Apache-2.0
//
// Questions that wait until a moment at most. A thread that must return in time cannot compute: a thread of
// WorkerPool.blocking does.

import InterlockSync

extension SingleFlightCache {
    // MARK: Suspending

    /// The value of `key`; has `compute` compute it if it is missing and not being computed yet. Suspends meanwhile,
    /// until `deadline` at most.
    ///
    /// A deadline that has passed still takes a value or a failure that is kept, and starts nothing.
    ///
    /// - Throws: What the computation throws, or a kept failure; ``SingleFlightTimedOut``; `CancellationError` if this
    ///   task is cancelled before there is a value; ``CircularComputation``.
    @inlinable
    nonisolated(nonsending) public func value(
        forKey key: Key,
        until deadline: ContinuousClock.Instant,
        orCompute compute: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        if let value = cachedValue(forKey: key) { return value }
        return try await missingValue(forKey: key, until: deadline, compute)
    }

    /// The value of `key`; has `compute` compute it if it is missing and not being computed yet. Suspends meanwhile,
    /// for `timeout` at most. A time of zero or less still takes a value or a failure that is kept, and starts nothing.
    ///
    /// - Throws: What the computation throws, or a kept failure; ``SingleFlightTimedOut``; `CancellationError` if this
    ///   task is cancelled before there is a value; ``CircularComputation``.
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

    /// The value of `key`; has `compute` compute it, on a thread of ``WorkerPool/blocking``, if it is missing and not
    /// being computed yet. Blocks the thread meanwhile, until `deadline` at most. A deadline that has passed still
    /// takes a value or a failure that is kept, and starts nothing.
    ///
    /// - Throws: What the computation throws, or a kept failure; ``SingleFlightTimedOut``; ``CircularComputation``.
    @inlinable
    @_disfavoredOverload
    @available(*, noasync, message: "it blocks the thread; use `try await value(forKey:until:orCompute:)`")
    public func value(
        forKey key: Key,
        until deadline: ContinuousClock.Instant,
        orCompute compute: @escaping @Sendable () throws -> Value
    ) throws -> Value {
        if let value = cachedValue(forKey: key) { return value }
        let (isLate, limit) = (deadline <= .now, InterlockSync.deadline(at: deadline))
        return try missingValue(forKey: key, until: limit, isLate: isLate, compute)
    }

    /// The value of `key`; has `compute` compute it, on a thread of ``WorkerPool/blocking``, if it is missing and not
    /// being computed yet. Blocks the thread meanwhile, for `timeout` at most. A time of zero or less still takes a
    /// value or a failure that is kept, and starts nothing.
    ///
    /// - Throws: What the computation throws, or a kept failure; ``SingleFlightTimedOut``; ``CircularComputation``.
    @inlinable
    @_disfavoredOverload
    @available(*, noasync, message: "it blocks the thread; use `try await value(forKey:timeout:orCompute:)`")
    public func value(
        forKey key: Key,
        timeout: Duration,
        orCompute compute: @escaping @Sendable () throws -> Value
    ) throws -> Value {
        if let value = cachedValue(forKey: key) { return value }
        let (isLate, limit) = (timeout <= .zero, InterlockSync.deadline(in: timeout))
        return try missingValue(forKey: key, until: limit, isLate: isLate, compute)
    }
}
