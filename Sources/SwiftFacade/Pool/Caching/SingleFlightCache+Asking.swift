// SPDX-License-Identifier: Apache-2.0
//
// The path of one question whose value is missing.
//
//   asks first                    asks meanwhile                  the computation
//   finds nothing, leaves a
//   flight under the lock
//   starts the computation ──────────────────────────────────▶  runs outside every lock
//   waits for the flight          finds the flight, joins it
//                                                                ends: under the lock the flight goes
//                                                                and the value is kept
//   given the result ◀──────────── given the result ◀──────────  hands the result to the waiters
//
// Invariant: a key has at most one flight in `flights`, and a caller that finds it there registers in `waiters` under
// the same lock. So that computation is not given up before its result is handed out, unless that caller gives up too.

import InterlockSync

extension SingleFlightCache {
    // MARK: Waiting

    /// Starts or joins the computation, and suspends until it ends.
    @inlinable
    func missingValue(
        forKey key: Key,
        until deadline: ContinuousClock.Instant?,
        _ compute: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let isLate = deadline.map { $0 <= .now } ?? false
        switch ask(key, .suspending(compute), startsIfMissing: !isLate && !Task.isCancelled) {
        case .kept(let result): return try result.get()
        case .nothing:
            try Task.checkCancellation()
            throw SingleFlightTimedOut(key: key)
        case .join(let flight): return try await wait(for: flight, key, until: deadline)
        case .start(let flight):
            let task = Task {
                if let result = await flight.compute() { self.finish(flight, key, result) }
            }
            // The first caller stays registered until its wait is over: the task is not read earlier.
            state.withWriteLock { _ in flight.task = task }
            return try await wait(for: flight, key, until: deadline)
        }
    }

    /// Computes on this thread, or joins the computation and blocks until it ends.
    @inlinable
    func missingValue(forKey key: Key, _ compute: () throws -> Value) throws -> Value {
        switch ask(key, nil, startsIfMissing: true) {
        case .kept(let result): return try result.get()
        case .nothing: throw CancellationError()
        case .join(let flight): return try block(for: flight, key, until: forever)
        case .start(let flight):
            // A computation waits for one that it runs itself as it does for another's.
            let edge = FlightWaits.begin(starting: flight)
            defer { FlightWaits.end(edge) }
            let result = FlightWaits.inside(flight) { Result { try compute() } }
            finish(flight, key, result)
            return try result.get()
        }
    }

    /// Has a thread of ``WorkerPool/blocking`` compute, or joins the computation, and blocks until it ends.
    @inlinable
    func missingValue(
        forKey key: Key,
        until deadline: UInt64,
        isLate: Bool,
        _ compute: @escaping @Sendable () throws -> Value
    ) throws -> Value {
        switch ask(key, .blocking(compute), startsIfMissing: !isLate) {
        case .kept(let result): return try result.get()
        case .nothing: throw SingleFlightTimedOut(key: key)
        case .join(let flight): return try block(for: flight, key, until: deadline)
        case .start(let flight):
            submit(flight, key)
            return try block(for: flight, key, until: deadline)
        }
    }

    /// Has a thread of ``WorkerPool/blocking`` compute, or joins the computation, which calls back.
    package func deliverMissingValue(
        forKey key: Key,
        _ delivery: @escaping Delivery<Value>,
        _ compute: @escaping @Sendable () throws -> Value
    ) {
        switch ask(key, .blocking(compute), startsIfMissing: true, delivery) {
        case .kept(let result): delivery(result)
        case .nothing, .join: break
        case .start(let flight): submit(flight, key)
        }
    }

    @inlinable
    func wait(
        for flight: Flight<Value>,
        _ key: Key,
        until deadline: ContinuousClock.Instant?
    ) async throws -> Value {
        let edge = try beginWaiting(for: flight, key)
        defer { FlightWaits.end(edge) }
        switch await flight.suspend(until: deadline) {
        case .granted: return try flight.outcome.get()
        case .cancelled:
            leave(flight, key)
            throw CancellationError()
        case .timedOut:
            leave(flight, key)
            throw SingleFlightTimedOut(key: key)
        }
    }

    @inlinable
    func block(for flight: Flight<Value>, _ key: Key, until deadline: UInt64) throws -> Value {
        let edge = try beginWaiting(for: flight, key)
        defer { FlightWaits.end(edge) }
        if flight.block(until: deadline) { return try flight.outcome.get() }
        leave(flight, key)
        throw SingleFlightTimedOut(key: key)
    }

    @inlinable
    func beginWaiting(for flight: Flight<Value>, _ key: Key) throws(CircularComputation)
        -> FlightWaits.Edge?
    {
        do {
            return try FlightWaits.begin(flight, orFail: CircularComputation(key: key))
        } catch {
            leave(flight, key)
            throw error
        }
    }

    // MARK: Under the lock

    @usableFromInline
    enum Answer: Sendable {
        case kept(Result<Value, any Error>)
        case join(Flight<Value>)
        case start(Flight<Value>)
        case nothing
    }

    @inlinable
    func ask(
        _ key: Key,
        _ computation: Computation<Value>?,
        startsIfMissing: Bool,
        _ delivery: Delivery<Value>? = nil
    ) -> Answer {
        let time = age()
        var removed = CacheState<Key, Value>.Removed()
        return state.withWriteLock { state -> Answer in
            if let result = state.result(forKey: key, at: time, &removed) { return .kept(result) }
            guard startsIfMissing else { return .nothing }
            let known = state.flights[key]
            let flight = known ?? Flight(computation)
            if let delivery { flight.deliveries.append(delivery) }
            guard known == nil else {
                flight.waiters += 1
                return .join(flight)
            }
            state.flights[key] = flight
            return .start(flight)
        }
    }

    /// A waiter has gone without the result. With the last one the computation is given up, unless it is one that has
    /// begun on a thread.
    @inlinable
    func leave(_ flight: Flight<Value>, _ key: Key) {
        let (task, unbegun) = state.withWriteLock { state -> (Task<Void, Never>?, Computation<Value>?) in
            flight.waiters -= 1
            guard flight.waiters == 0 else { return (nil, nil) }
            let unbegun = flight.computation?.claim()
            if unbegun != nil || flight.task != nil, state.flights[key] === flight {
                state.flights[key] = nil
            }
            return (flight.task, unbegun)
        }
        withExtendedLifetime(unbegun) {}
        task?.cancel()
    }

    @inlinable
    func finish(_ flight: Flight<Value>, _ key: Key, _ result: Result<Value, any Error>) {
        let time = age()
        var removed = CacheState<Key, Value>.Removed()
        let (value, failure) = nodes(of: result, flight, key, at: time)
        let deliveries = state.withWriteLock { state -> [Delivery<Value>] in
            // Otherwise it was given up, or a change of the key has overtaken it.
            let isKept = state.flights[key] === flight
            if isKept { state.flights[key] = nil }
            if let value {
                if isKept { state.insert(value, at: time, &removed) } else { removed.values.add(value) }
            }
            if let failure {
                isKept ? state.insertFailure(failure, at: time, &removed) : removed.failures.add(failure)
            }
            defer { flight.deliveries = [] }
            return flight.deliveries
        }
        flight.finish(result)
        for delivery in deliveries { delivery(result) }
    }

    @inlinable
    func nodes(
        of result: Result<Value, any Error>,
        _ flight: Flight<Value>,
        _ key: Key,
        at time: Duration
    ) -> (value: SieveStore<Key, Value>.Node?, failure: SieveStore<Key, any Error>.Node?) {
        switch result {
        case .success(let value):
            // The cost is a part of the computation: it may ask for other values.
            FlightWaits.inside(cost == nil ? nil : flight) {
                (node(value, key, at: time, "SingleFlightCache.value"), nil)
            }
        case .failure(let error) where failureAge != nil && !isAboutAWait(error):
            (nil, SieveNode.allocate(key, error, born: time, cost: 0))
        case .failure: (nil, nil)
        }
    }

    @inlinable
    func submit(_ flight: Flight<Value>, _ key: Key) {
        // Not refused: this pool is not closed.
        _ = WorkerPool.blocking.submit {
            if let result = flight.computeOnThread() { self.finish(flight, key, result) }
        }
    }

    /// The number of waiters for `key`, with a thread that computes it; for tests.
    func waiters(forKey key: Key) -> Int {
        state.withReadLock { $0.flights[key]?.waiters ?? 0 }
    }
}
