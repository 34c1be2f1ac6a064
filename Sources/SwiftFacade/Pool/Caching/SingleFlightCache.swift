// SPDX-License-Identifier: Apache-2.0
//
// The cache: what it is, its limits, and the questions without a limit. SingleFlightCache+Asking.swift is the path of a
// question whose value is missing; CacheState.swift decides what is kept; Flight.swift is a computation under way.
//
// A question whose value is kept takes the lock for reading. Questions and updates are specialised in the caller:
// unspecialised code asks the runtime for the layout of `Key` and `Value` at each access, which was 500 of 530 ns where
// a value is kept (scripts/bench swift), and 30,000 of 35,700 instructions where it is missing (callgrind).

import CInterlock
import InterlockSync

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
/// **Errors** go to every waiter and are not kept: the next question has the value computed again. With a `failureAge`
/// an error is kept that long, and answers the questions until then. A `CancellationError`, a ``CircularComputation``
/// and a ``SingleFlightTimedOut`` are about one wait, and are never kept, nor inside a ``WorkerPoolRunError``.
///
/// **Cancellation and limits** concern the question: it ends with `CancellationError` or ``SingleFlightTimedOut``, and
/// the other questions wait on. With its last waiter a computation is given up: one that has not begun does not run,
/// and its captures are released at once; a task is cancelled, and its result dropped. A blocking computation that has
/// begun cannot be stopped: it goes on, later questions join it, and its value is kept.
///
/// **Room.** Where there are more values than `capacity`, or they cost more than `costLimit`, some go. They are chosen
/// by SIEVE: a hand passes over the values, from the oldest to the newest and round again. A value asked for since the
/// hand last passed it, or since it was kept, is spared; the first other one goes, and any that is too old. A value
/// older than `maximumAge` counts as missing; without a timer, it stays until a question for it, the need for room, or
/// ``removeExpired()`` removes it.
///
/// **Computations that ask for each other's values** in a cycle would wait for ever; the question that would close the
/// cycle throws ``CircularComputation``, across caches too, whether it blocks or suspends. A question is known to be
/// part of a computation on its own thread or task, in a task started there (not by `Task.detached`), in a closure
/// given to a loop (`concurrentMap` and its kin), or given to ``WorkerPool``'s `run`, `BoundedRunner.run`, `GCD.run` or
/// `GCD.sync` with a limit, and waited for. A cycle through any other thread or queue is not seen and waits for ever.
///
/// Every method is thread-safe. A question for a kept value runs beside others, as a reader of the cache's lock, and
/// reads the clock only where there is a `maximumAge`; ``cachedValue(forKey:)`` and the blocking question allocate
/// nothing then. The others hold the lock alone, for the steps of their complexity, and not while a computation runs.
/// Keys' `==` and `hash(into:)` run under that lock and must not call the cache; keys and values are released outside
/// it. What a computation did is visible to every caller it answers.
///
/// Source of the choice: Zhang, Yang, Yue, Vigfusson, Rashmi, "SIEVE is Simpler than LRU", NSDI 2024.
public final class SingleFlightCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline let state: ReadWriteLock<CacheState<Key, Value>>
    /// The time since the cache was made, by its clock.
    @usableFromInline let age: @Sendable () -> Duration
    @usableFromInline let cost: (@Sendable (Key, Value) -> Int)?

    /// The most values kept.
    public let capacity: Int
    /// The most that the values kept cost together; `nil`: there is no such limit.
    public let costLimit: Int?
    /// How long a value counts, from the end of its computation; at that age it still does. `nil`: as long as there is
    /// room.
    public let maximumAge: Duration?
    /// How long a failure answers questions, from the end of its computation; `nil`: it is not kept.
    public let failureAge: Duration?

    /// An empty cache. Allocates.
    ///
    /// - Parameters:
    ///   - capacity: The most values kept, and the most failures. With 0 none: only questions at the same time share a
    ///     computation.
    ///   - maximumAge: How long a value counts; `nil` for ever.
    ///   - failureAge: How long a failure is kept; `nil`: it is not.
    ///   - clock: The clock of the ages, read only where there is a `maximumAge` or a `failureAge`.
    /// - Precondition: `capacity` is not negative; otherwise it is misuse.
    public convenience init<Time: Clock>(
        capacity: Int = .max,
        maximumAge: Duration? = nil,
        failureAge: Duration? = nil,
        clock: Time = ContinuousClock()
    ) where Time.Duration == Duration {
        self.init(capacity, nil, maximumAge, failureAge, clock, nil)
    }

    /// An empty cache whose values cost at most `costLimit` together. Allocates.
    ///
    /// A value that alone costs more answers its questions and is not kept.
    ///
    /// - Parameters:
    ///   - costLimit: The most that the values kept cost together.
    ///   - cost: What a value costs, 0 or more. Called once a value, outside the cache's lock, by the thread or task
    ///     that computes or gives it, before it is kept; where it is computed, a part of that.
    /// - Precondition: `capacity`, `costLimit` and each cost are not negative; otherwise it is misuse.
    public convenience init<Time: Clock>(
        capacity: Int = .max,
        costLimit: Int,
        maximumAge: Duration? = nil,
        failureAge: Duration? = nil,
        clock: Time = ContinuousClock(),
        cost: @escaping @Sendable (Key, Value) -> Int
    ) where Time.Duration == Duration {
        self.init(capacity, costLimit, maximumAge, failureAge, clock, cost)
    }

    private init<Time: Clock>(
        _ capacity: Int,
        _ costLimit: Int?,
        _ maximumAge: Duration?,
        _ failureAge: Duration?,
        _ clock: Time,
        _ cost: (@Sendable (Key, Value) -> Int)?
    ) where Time.Duration == Duration {
        guard capacity >= 0 else {
            misuse("SingleFlightCache.init", nil, "a capacity of \(capacity); it is 0 or more")
        }
        if let costLimit, costLimit < 0 {
            misuse("SingleFlightCache.init", nil, "a costLimit of \(costLimit); it is 0 or more")
        }
        self.capacity = capacity
        self.costLimit = costLimit
        self.maximumAge = maximumAge
        self.failureAge = failureAge
        self.cost = cost
        if maximumAge == nil, failureAge == nil {
            age = { .zero }
        } else {
            let start = clock.now
            age = { start.duration(to: clock.now) }
        }
        let limits = CacheLimits(
            capacity: capacity,
            cost: costLimit ?? .max,
            maximumAge: maximumAge,
            failureAge: failureAge
        )
        state = ReadWriteLock(CacheState(limits))
    }

    /// The entry of a value, in no store yet.
    @inlinable
    func node(_ value: Value, _ key: Key, at time: Duration, _ call: String) -> SieveStore<Key, Value>.Node {
        let cost = cost?(key, value) ?? 0
        if cost < 0 { misuse(call, nil, "a cost of \(cost) for the key \(key); it is 0 or more") }
        return SieveNode.allocate(key, value, born: time, cost: cost)
    }

    // MARK: Asking

    /// The value of `key`; has `compute` compute it if it is missing and not being computed yet. Suspends meanwhile.
    ///
    /// The computation runs in a task of its own, with the priority and the task-local values of the task that asked
    /// first. It goes on when that task is cancelled, as long as another caller waits.
    ///
    /// - Parameter compute: One closure runs for all questions at the same time: closures for one key should compute
    ///   the same.
    /// - Throws: What the computation throws, or a kept failure; `CancellationError` if this task is cancelled before
    ///   there is a value; ``CircularComputation``. A cancelled task is still given a value that is kept.
    /// - Complexity: O(1) and one key's hashing if the value is kept.
    @inlinable
    nonisolated(nonsending) public func value(
        forKey key: Key,
        orCompute compute: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        if let value = cachedValue(forKey: key) { return value }
        return try await missingValue(forKey: key, until: nil, compute)
    }

    /// The value of `key`; computes it with `compute` if it is missing and not being computed yet. Blocks the thread.
    /// The computation runs on the thread that asked first, also for tasks that ask meanwhile.
    ///
    /// - Throws: What the computation throws, or a kept failure, and ``CircularComputation``.
    @inlinable
    @_disfavoredOverload
    @available(*, noasync, message: "it blocks the thread; use `try await value(forKey:orCompute:)`")
    public func value(forKey key: Key, orCompute compute: () throws -> Value) throws -> Value {
        if let value = cachedValue(forKey: key) { return value }
        return try missingValue(forKey: key, compute)
    }

    /// The value of `key` if it is kept; computes nothing. Counts as a question: a value that is too old goes. A kept
    /// failure answers `nil`. Blocks briefly.
    ///
    /// - Complexity: O(1) and one key's hashing.
    @inlinable @inline(__always)
    public func cachedValue(forKey key: Key) -> Value? {
        let time = maximumAge == nil ? Duration.zero : age()
        var isExpired = false
        let value = state.withReadLock { state -> Value? in
            guard let node = state.values.nodes[key] else { return nil }
            if node.isOlder(than: maximumAge, at: time) {
                isExpired = true
                return nil
            }
            ilk__visited_set(node.visited())
            return node.pointee.payload
        }
        if isExpired { removeIfExpired(key, at: time) }
        return value
    }

    @usableFromInline
    func removeIfExpired(_ key: Key, at time: Duration) {
        var removed = CacheState<Key, Value>.Removed()
        state.withWriteLock { $0.removeIfExpired(key, at: time, &removed) }
    }
}
