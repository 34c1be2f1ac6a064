// SPDX-License-Identifier: Apache-2.0
//
// Changing what a cache keeps. The change overtakes a computation under way.

import InterlockSync

extension SingleFlightCache {
    /// Keeps `value` for `key`, as if it had just been computed. A computation under way still answers its waiters, but
    /// its result is not kept. A kept failure goes. Thread-safe; blocks briefly.
    ///
    /// - Returns: The value that was kept before; `nil` if it was too old.
    /// - Complexity: O(1) and one key's hashing; and O(values removed) where room is needed.
    @inlinable
    @discardableResult
    public func updateValue(_ value: Value, forKey key: Key) -> Value? {
        let time = age()
        var removed = CacheState<Key, Value>.Removed()
        let node = node(value, key, at: time, "SingleFlightCache.updateValue")
        return state.withWriteLock { $0.replace(key, with: node, at: time, &removed) }
    }

    /// Forgets the value of `key`; the next question has it computed anew. Otherwise as ``updateValue(_:forKey:)``.
    @inlinable
    @discardableResult
    public func removeValue(forKey key: Key) -> Value? {
        let time = age()
        var removed = CacheState<Key, Value>.Removed()
        return state.withWriteLock { $0.replace(key, with: nil, at: time, &removed) }
    }

    /// Forgets every value; the next question for each key has it computed anew.
    ///
    /// - Complexity: O(*n*).
    public func removeAll() {
        var removed = CacheState<Key, Value>.Removed()
        state.withWriteLock { state in
            state.flights = [:]
            state.removeAll(&removed)
        }
    }

    /// Forgets the values older than ``maximumAge`` and the failures older than ``failureAge``; those just as old stay.
    ///
    /// - Returns: The number of values and failures forgotten.
    /// - Complexity: O(*n*).
    @discardableResult
    public func removeExpired() -> Int {
        let time = age()
        var removed = CacheState<Key, Value>.Removed()
        state.withWriteLock { $0.removeExpired(at: time, &removed) }
        return removed.values.count + removed.failures.count
    }

    /// The number of values kept at this moment, those too old included. Failures are not counted. Blocks briefly.
    public var count: Int { state.withReadLock { $0.values.count } }

    /// The sum of the costs of the values kept at this moment; 0 without a ``costLimit``. Blocks briefly.
    public var totalCost: Int { state.withReadLock { $0.values.totalCost } }
}
