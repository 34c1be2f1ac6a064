// SPDX-License-Identifier: Apache-2.0
//
// Changing what a cache keeps. A computation under way goes on for its waiters, and its
// value is not kept: the change has overtaken it.

extension SingleFlightCache {
    /// Keeps `value` for `key`, as if it had just been computed. May be called from any thread.
    ///
    /// A computation under way still answers its waiters, but its value is not kept.
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

    /// Forgets the value of `key`; the next question has it computed anew. May be called from any thread.
    ///
    /// A computation under way still answers its waiters, but its value is not kept: it may have
    /// begun with data that has just become wrong.
    ///
    /// - Returns: The value that was kept; `nil` if it was too old.
    /// - Complexity: O(1) and one key's hashing.
    @discardableResult
    public func removeValue(forKey key: Key) -> Value? {
        let time = age()
        let old = state.withWriteLock { state in
            state.flights[key] = nil
            return state.remove(key, at: time)
        }
        return old.flatMap { $0.isExpired ? nil : $0.entry.value }
    }

    /// Forgets every value, as ``removeValue(forKey:)`` does. May be called from any thread.
    ///
    /// - Complexity: O(*n*).
    public func removeAll() {
        let removed = state.withWriteLock { state in
            state.flights = [:]
            return state.removeAll()
        }
        withExtendedLifetime(removed) {}
    }

    /// Forgets the values that are older than ``maximumAge``; those that are just as old stay. May be called from any
    /// thread.
    ///
    /// - Returns: The number of values forgotten.
    /// - Complexity: O(*n*).
    @discardableResult
    public func removeExpired() -> Int {
        let time = age()
        return state.withWriteLock { $0.removeExpired(at: time) }.count
    }

    /// The number of values kept, those too old included. May be read from any thread; it may have changed by the time
    /// it is used.
    public var count: Int {
        state.withReadLock { $0.count }
    }
}
