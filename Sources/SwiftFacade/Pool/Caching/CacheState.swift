// SPDX-License-Identifier: Apache-2.0
//
// What a SingleFlightCache has under its lock: the values and the failures that it keeps, each in a SieveStore, and the
// computations under way. This file has the limits: what is kept, and for how long. What is taken out is released
// outside the lock.
//
// Invariant: a key has a value or a failure, not both; its flight ends before either is kept.

import CInterlock

@usableFromInline
struct CacheState<Key: Hashable & Sendable, Value: Sendable>: ~Copyable {
    @usableFromInline var values = SieveStore<Key, Value>()
    @usableFromInline var failures = SieveStore<Key, any Error>()
    /// The computations whose results will be kept.
    @usableFromInline var flights: [Key: Flight<Value>] = [:]

    @usableFromInline let limits: CacheLimits

    init(_ limits: CacheLimits) { self.limits = limits }

    /// What is taken out in one call. Declared before the lock is taken, it is released after it.
    @usableFromInline
    struct Removed: ~Copyable {
        @usableFromInline var values = RemovedNodes<Key, Value>()
        @usableFromInline var failures = RemovedNodes<Key, any Error>()

        @inlinable
        init() {}
    }

    /// The value of `key`, or its failure; what is too old is taken out.
    @inlinable
    mutating func result(
        forKey key: Key,
        at time: Duration,
        _ removed: inout Removed
    ) -> Result<Value, any Error>? {
        if let node = values.nodes[key] {
            if !node.isOlder(than: limits.maximumAge, at: time) {
                ilk__visited_set(node.visited())
                return .success(node.pointee.payload)
            }
            _ = remove(key, &removed)
        } else if let node = failures.nodes[key] {
            if !node.isOlder(than: limits.failureAge, at: time) {
                ilk__visited_set(node.visited())
                return .failure(node.pointee.payload)
            }
            _ = remove(key, &removed)
        }
        return nil
    }

    /// Keeps a value for a key that has none, unless the limits forbid it.
    @inlinable
    mutating func insert(_ node: SieveStore<Key, Value>.Node, at time: Duration, _ removed: inout Removed) {
        guard limits.capacity > 0, node.pointee.cost <= limits.cost else { return removed.values.add(node) }
        while values.count >= limits.capacity || values.totalCost > limits.cost - node.pointee.cost {
            removed.values.add(values.evict(olderThan: limits.maximumAge, at: time))
        }
        values.insert(node)
    }

    /// Keeps the failure of a key that has none.
    @inlinable
    mutating func insertFailure(
        _ node: SieveStore<Key, any Error>.Node,
        at time: Duration,
        _ removed: inout Removed
    ) {
        guard limits.capacity > 0 else { return removed.failures.add(node) }
        if failures.count >= limits.capacity {
            removed.failures.add(failures.evict(olderThan: limits.failureAge, at: time))
        }
        failures.insert(node)
    }

    /// Takes out what is kept for `key`; returns the node of a value.
    @inlinable
    mutating func remove(_ key: Key, _ removed: inout Removed) -> SieveStore<Key, Value>.Node? {
        if let node = failures.take(key) { removed.failures.add(node) }
        guard let node = values.take(key) else { return nil }
        removed.values.add(node)
        return node
    }

    mutating func removeAll(_ removed: inout Removed) {
        values.removeAll(&removed.values)
        failures.removeAll(&removed.failures)
    }

    mutating func removeExpired(at time: Duration, _ removed: inout Removed) {
        values.removeAll(olderThan: limits.maximumAge, at: time, &removed.values)
        failures.removeAll(olderThan: limits.failureAge, at: time, &removed.failures)
    }

    /// The kept value of `key`, taken out if it is too old.
    mutating func removeIfExpired(_ key: Key, at time: Duration, _ removed: inout Removed) {
        if let node = values.nodes[key], node.isOlder(than: limits.maximumAge, at: time) {
            _ = remove(key, &removed)
        }
    }

    /// Replaces what is kept for `key`; returns the value that was, unless it was too old.
    @inlinable
    mutating func replace(
        _ key: Key,
        with node: SieveStore<Key, Value>.Node?,
        at time: Duration,
        _ removed: inout Removed
    ) -> Value? {
        flights[key] = nil
        let old = remove(key, &removed)
        let value = old.flatMap { $0.isOlder(than: limits.maximumAge, at: time) ? nil : $0.pointee.payload }
        if let node { insert(node, at: time, &removed) }
        return value
    }
}

// Its parts are Sendable, or reached under the cache's lock.
extension CacheState: Sendable {}

/// How much is kept, and for how long.
@usableFromInline
struct CacheLimits: Sendable {
    @usableFromInline let capacity: Int, cost: Int
    @usableFromInline let maximumAge: Duration?, failureAge: Duration?
}
