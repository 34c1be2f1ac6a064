// SPDX-License-Identifier: Apache-2.0
//
// The cache: the path of one question. CacheState.swift decides what is kept; Flight.swift is a computation under way.
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
// the same lock. So that computation is not cancelled before its result is handed out, unless that caller gives up too.

/// Values by key, each computed once however many threads and tasks ask for it at the same time.
///
/// The first question for a missing value has it computed; those asked meanwhile wait for it.
///
/// ```swift
/// let thumbnails = SingleFlightCache<URL, Image>(capacity: 500, maximumAge: .seconds(600))
///
/// func thumbnail(of url: URL) async throws -> Image {
///     try await thumbnails.value(forKey: url) { try await render(url) }
/// }
/// ```
///
/// **Errors** go to every waiter and are not kept: the next question has the value computed again.
///
/// **Cancellation** concerns the task that is cancelled: waiting, it throws `CancellationError`. The computation is
/// cancelled with its last waiter, and its result dropped.
///
/// **Limits.** With more values than `capacity` the least recently asked for goes. A value older than `maximumAge`
/// counts as missing; without a timer, it stays until a question for it, the need for room, or ``removeExpired()``
/// removes it.
///
/// **Computations that ask for each other's values** in a circle would wait for ever; the question that would close the
/// circle throws ``CircularComputation``, across caches too, whether it blocks or suspends. A question is known to be
/// part of a computation on its own thread or task, in a task started there (not by `Task.detached`), in a closure
/// given to `concurrentMap`, or in one given to `GCD.run` and awaited. A circle through any other thread or queue is
/// not seen and waits for ever.
///
/// Every method is thread-safe. Each holds the cache's lock for the steps of its complexity, and not while a
/// computation runs. Keys' `==` and `hash(into:)` run under that lock and must not call the cache; keys and values are
/// released outside it. What a computation did is visible to every caller it answers.
public final class SingleFlightCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    let state: ReadWriteLock<CacheState<Key, Value>>
    /// The time since the cache was made, by its clock.
    let age: @Sendable () -> Duration

    /// The most values kept.
    public let capacity: Int
    /// How long a value counts, from the end of its computation; at that age it still does. `nil`: as long as there is
    /// room.
    public let maximumAge: Duration?

    /// An empty cache.
    ///
    /// - Parameters:
    ///   - capacity: The most values kept. With 0 none: only questions at the same time share a computation.
    ///   - maximumAge: How long a value counts; `nil` for ever.
    ///   - clock: The clock of the ages, read only where there is a `maximumAge`.
    /// - Precondition: `capacity` is not negative; otherwise it is misuse.
    public init<Time: Clock>(
        capacity: Int = .max,
        maximumAge: Duration? = nil,
        clock: Time = ContinuousClock()
    ) where Time.Duration == Duration {
        guard capacity >= 0 else {
            misuse("SingleFlightCache.init", nil, "a capacity of \(capacity); it is 0 or more")
        }
        self.capacity = capacity
        self.maximumAge = maximumAge
        let start = maximumAge.map { _ in clock.now }
        age = { start?.duration(to: clock.now) ?? .zero }
        state = ReadWriteLock(CacheState(capacity: capacity, maximumAge: maximumAge))
    }

    // MARK: Asking

    /// The value of `key`; has `compute` compute it if it is missing and not being computed yet. Suspends meanwhile.
    ///
    /// The computation runs in a task of its own, with the priority and the task-local values of the task that asked
    /// first. It goes on when that task is cancelled, as long as another caller waits.
    ///
    /// - Parameter compute: Of all questions at the same time one closure runs: closures for one key should compute the
    ///   same.
    /// - Throws: What the computation throws; `CancellationError` if this task is cancelled before there is a value;
    ///   ``CircularComputation``. A cancelled task is still given a value that is kept.
    /// - Complexity: O(1) and one key's hashing if the value is kept.
    public func value(
        forKey key: Key,
        orCompute compute: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let time = age()
        switch ask(key, at: time, startsIfMissing: !Task.isCancelled) {
        case .kept(let value): return value
        case .nothing: throw CancellationError()
        case .join(let flight): return try await wait(for: flight, key)
        case .start(let flight):
            let task = Task { await self.run(flight, key, compute) }
            // The first caller stays registered until its wait is over: the task is not read earlier.
            state.withWriteLock { _ in flight.task = task }
            return try await wait(for: flight, key)
        }
    }

    /// As the suspending form, blocking the thread. The computation runs on the thread that asked first, also for tasks
    /// that ask meanwhile.
    ///
    /// - Throws: What the computation throws, and ``CircularComputation``.
    @_disfavoredOverload
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; use `try await value(forKey:orCompute:)`"
    )
    public func value(forKey key: Key, orCompute compute: () throws -> Value) throws -> Value {
        switch ask(key, at: age(), startsIfMissing: true) {
        case .kept(let value): return value
        case .nothing: throw CancellationError()
        case .join(let flight):
            let edge = try beginWaiting(for: flight, key)
            defer { FlightWaits.end(edge) }
            return try flight.block().get()
        case .start(let flight):
            // A computation waits for one that it runs itself as it does for another's.
            let edge = FlightWaits.begin(starting: flight)
            defer { FlightWaits.end(edge) }
            let result = FlightWaits.inside(flight) { Result { try compute() } }
            finish(flight, key, result)
            return try result.get()
        }
    }

    /// The value of `key` if it is kept; computes nothing. Counts as a question: a value that is too old goes.
    ///
    /// - Complexity: O(1) and one key's hashing.
    public func cachedValue(forKey key: Key) -> Value? {
        let time = age()
        let (kept, expired) = state.withWriteLock { $0.value(forKey: key, at: time) }
        withExtendedLifetime(expired) {}
        return kept
    }

    // MARK: One question

    private enum Answer: Sendable {
        case kept(Value)
        case join(Flight<Value>)
        case start(Flight<Value>)
        case nothing
    }

    private func ask(_ key: Key, at time: Duration, startsIfMissing: Bool) -> Answer {
        let (answer, expired) = state.withWriteLock { state -> (Answer, CacheState<Key, Value>.Entry?) in
            let (kept, expired) = state.value(forKey: key, at: time)
            if let kept { return (.kept(kept), nil) }
            guard startsIfMissing else { return (.nothing, expired) }
            if let flight = state.flights[key] {
                flight.waiters += 1
                return (.join(flight), expired)
            }
            let flight = Flight<Value>()
            state.flights[key] = flight
            return (.start(flight), expired)
        }
        withExtendedLifetime(expired) {}
        return answer
    }

    private func wait(for flight: Flight<Value>, _ key: Key) async throws -> Value {
        let edge = try beginWaiting(for: flight, key)
        defer { FlightWaits.end(edge) }
        guard let result = await flight.suspend() else {
            leave(flight, key)
            throw CancellationError()
        }
        return try result.get()
    }

    private func beginWaiting(for flight: Flight<Value>, _ key: Key) throws(CircularComputation)
        -> FlightWaits.Edge?
    {
        do {
            return try FlightWaits.begin(flight, key)
        } catch {
            leave(flight, key)
            throw error
        }
    }

    private func run(
        _ flight: Flight<Value>,
        _ key: Key,
        _ compute: @Sendable () async throws -> Value
    ) async {
        let result: Result<Value, any Error>
        do {
            result = .success(try await FlightWaits.$current.withValue(flight) { try await compute() })
        } catch {
            result = .failure(error)
        }
        finish(flight, key, result)
    }

    /// A waiter has gone without the result; the last one cancels the computation.
    private func leave(_ flight: Flight<Value>, _ key: Key) {
        let task = state.withWriteLock { state -> Task<Void, Never>? in
            flight.waiters -= 1
            guard flight.waiters == 0 else { return nil }
            if state.flights[key] === flight {
                state.flights[key] = nil
            }
            return flight.task
        }
        task?.cancel()
    }

    private func finish(_ flight: Flight<Value>, _ key: Key, _ result: Result<Value, any Error>) {
        let time = age()
        let evicted = state.withWriteLock { state -> CacheState<Key, Value>.Entry? in
            // Otherwise it was given up, or a change of the key has overtaken it.
            guard state.flights[key] === flight else { return nil }
            state.flights[key] = nil
            guard case .success(let value) = result else { return nil }
            return state.insert(value, forKey: key, at: time)
        }
        withExtendedLifetime(evicted) {}
        flight.finish(result)
    }

    /// The number of waiters for `key`, with a thread that computes it; for tests.
    func waiters(forKey key: Key) -> Int {
        state.withReadLock { $0.flights[key]?.waiters ?? 0 }
    }
}

/// A computation of a ``SingleFlightCache`` asked, directly or through others, for the value it is computing, for which
/// it would wait for ever. A task that it started without waiting for it counts as part of it.
public struct CircularComputation: Error, CustomStringConvertible {
    /// The key asked for.
    public let key: any Hashable & Sendable

    /// A sentence.
    public var description: String {
        "the computation of the value of \(key) waits, by way of others or directly, for that very value"
    }
}
