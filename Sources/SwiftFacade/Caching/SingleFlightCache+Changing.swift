// SPDX-License-Identifier: Apache-2.0
//
// Changing what a cache keeps. The change overtakes a computation under way.

extension SingleFlightCache {
    /// Keeps `value` for `key`, as if it had just been computed. A computation under way still answers its waiters, but
    /// its value is not kept.
    ///
    /// - Returns: The value that was kept before; `nil` if it was too old.
    /// - Complexity: O(1) and one key's hashing.
    @discardableResult
    public func updateValue(_ value: Value, forKey key: Key) -> Value? {
        let time = age()
        let (old, evicted) = state.withWriteLock { state in
            state.flights[key] = nil
            let old = state.remove(key, at: time)
            return (old, state.insert(value, forKey: key, at: time))
        }
        withExtendedLifetime(evicted) {}
        return old.flatMap { $0.isExpired ? nil : $0.entry.value }
    }

    /// Forgets the value of `key`; the next question has it computed anew. Otherwise as ``updateValue(_:forKey:)``.
    @discardableResult
    public func removeValue(forKey key: Key) -> Value? {
        let time = age()
        let old = state.withWriteLock { state in
            state.flights[key] = nil
            return state.remove(key, at: time)
        }
        return old.flatMap { $0.isExpired ? nil : $0.entry.value }
    }

    /// Forgets every value, as ``removeValue(forKey:)`` does.
    ///
    /// - Complexity: O(*n*).
    public func removeAll() {
        let removed = state.withWriteLock { state in
            state.flights = [:]
            return state.removeAll()
        }
        withExtendedLifetime(removed) {}
    }

    /// Forgets the values older than ``maximumAge``; those just as old stay.
    ///
    /// - Returns: The number of values forgotten.
    /// - Complexity: O(*n*).
    @discardableResult
    public func removeExpired() -> Int {
        let time = age()
        return state.withWriteLock { $0.removeExpired(at: time) }.count
    }

    /// The number of values kept at this moment, those too old included.
    public var count: Int {
        state.withReadLock { $0.count }
    }
}
