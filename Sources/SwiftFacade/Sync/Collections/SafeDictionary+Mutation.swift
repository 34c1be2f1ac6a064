// SPDX-License-Identifier: Apache-2.0
//
// Dictionary's changing verbs, and steps that read and change in one. Each is one atomic step.

extension SafeDictionary {
    /// Sets the value for `key` and returns the previous one. An equal key stays. O(1) on average.
    @inlinable
    @discardableResult
    public func updateValue(_ value: consuming Value, forKey key: Key) -> Value? {
        let value = value
        return change("updateValue(_:forKey:)") { entries, observers in
            // Dictionary's updateValue would release one of the equal keys under the lock.
            var before: Value? = value
            swap(&entries[key], &before)
            observers?.record(from: before, to: value, forKey: key)
            return before
        }
    }

    /// Removes the value for `key` and returns it, or `nil` if there is none. O(1) on average.
    @inlinable
    @discardableResult
    public func removeValue(forKey key: Key) -> Value? {
        // The key too is released after the lock.
        let removed: (key: Key?, value: Value?) = change("removeValue(forKey:)") { entries, observers in
            if _isPOD(Key.self) {
                let value = entries.removeValue(forKey: key)
                observers?.record(from: value, to: nil, forKey: key)
                return (nil, value)
            }
            guard let index = entries.index(forKey: key) else { return (nil, nil) }
            let removed = entries.remove(at: index)
            observers?.record(from: removed.value, to: nil, forKey: removed.key)
            return (removed.key, removed.value)
        }
        withExtendedLifetime(removed.key) {}
        return removed.value
    }

    /// Removes and returns any entry, or `nil` if there is none. Scans the storage, up to O(capacity): to empty a large
    /// dictionary, use ``drain()``.
    @inlinable
    public func popFirst() -> (key: Key, value: Value)? {
        change("popFirst") { entries, observers in
            guard let removed = entries.popFirst() else { return nil }
            observers?.record(from: removed.value, to: nil, forKey: removed.key)
            return removed
        }
    }

    /// Sets the value for `key` if there is none; returns whether it did. O(1) on average.
    @inlinable
    @discardableResult
    public func insertIfAbsent(_ value: consuming Value, forKey key: Key) -> Bool {
        let value = value
        return change("insertIfAbsent(_:forKey:)") { entries, observers in
            guard entries.index(forKey: key) == nil else { return false }
            entries[key] = value
            observers?.record(from: nil, to: value, forKey: key)
            return true
        }
    }

    /// The value for `key`; if there is none, the result of `make`, which is inserted.
    ///
    /// `make` runs at most once however many threads ask, **under the lock**: other access to the dictionary waits for
    /// it. Make what takes long outside, and use ``insertIfAbsent(_:forKey:)``.
    ///
    /// - Precondition: `make` does not call this dictionary.
    /// - Throws: What `make` throws; nothing is inserted then.
    /// - Complexity: O(1) on average, and `make`.
    @inlinable
    public func value(
        forKey key: Key,
        orInsert make: @autoclosure () throws -> Value
    ) rethrows -> Value {
        if let known = value(forKey: key) { return known }
        return try changeByClosure("value(forKey:orInsert:)") { entries, observers in
            // Inserted by another thread since.
            if let known = entries[key] { return known }
            let made = try make()
            entries[key] = made
            observers?.record(from: nil, to: made, forKey: key)
            return made
        }
    }

    /// Changes the value for `key` in place, starting from `fallback` if there is none. O(1) on average.
    ///
    /// - Precondition: Neither closure calls this dictionary.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; the value stays as `body` left it, a `fallback` too.
    @inlinable
    @discardableResult
    public func update<Result: ~Copyable, Failure: Error>(
        forKey key: Key,
        default fallback: @autoclosure () -> Value,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try changeByClosure("update(forKey:default:)") {
            (entries, observers) throws(Failure) -> Result in
            let before = observers == nil ? nil : entries[key]
            defer { observers?.record(from: before, to: entries[key], forKey: key) }
            return try body(&entries[key, default: fallback()])
        }
    }

    /// Changes the value for `key` in place, if there is one. O(1) on average.
    ///
    /// - Precondition: `body` does not call this dictionary.
    /// - Returns: What `body` returns, or `nil` if it did not run.
    @inlinable
    @discardableResult
    public func update<Result: ~Copyable, Failure: Error>(
        forKey key: Key,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try changeByClosure("update(forKey:)") { (entries, observers) throws(Failure) -> Result? in
            guard let index = entries.index(forKey: key) else { return nil }
            let before = observers == nil ? nil : entries.values[index]
            defer { observers?.record(from: before, to: entries.values[index], forKey: key) }
            return try body(&entries.values[index])
        }
    }

    /// Merges a sequence in, which is iterated before the lock is taken; where a key is there already, `combine`
    /// chooses.
    ///
    /// - Precondition: `combine` does not call this dictionary.
    /// - Throws: What `combine` throws; what was merged until then stays.
    /// - Complexity: O(length of the sequence) on average.
    @inlinable
    public func merge(
        _ others: some Sequence<(Key, Value)>,
        uniquingKeysWith combine: (Value, Value) throws -> Value
    ) rethrows {
        try merge(entries: Array(others), combine)
    }

    /// Merges a dictionary in; where a key is there already, `combine` chooses.
    ///
    /// - Precondition: `combine` does not call this dictionary.
    /// - Throws: What `combine` throws; what was merged until then stays.
    /// - Complexity: O(entries of `others`) on average.
    @inlinable
    public func merge(
        _ others: [Key: Value],
        uniquingKeysWith combine: (Value, Value) throws -> Value
    ) rethrows {
        try merge(entries: others.map { ($0.key, $0.value) }, combine)
    }

    @inlinable
    func merge(entries others: [(Key, Value)], _ combine: (Value, Value) throws -> Value) rethrows {
        var replaced: [Value] = []
        defer { withExtendedLifetime((others, replaced)) {} }
        try changeWhole("merge") { entries in
            for (key, value) in others {
                guard let index = entries.index(forKey: key) else {
                    entries[key] = value
                    continue
                }
                replaced.append(entries.values[index])
                entries.values[index] = try combine(entries.values[index], value)
            }
        }
    }

    /// Removes the entries that satisfy `predicate`. O(*n*).
    ///
    /// - Precondition: `predicate` does not call this dictionary.
    /// - Throws: What `predicate` throws; nothing has been removed then.
    @inlinable
    public func removeAll<Failure: Error>(
        where predicate: (Key, Value) throws(Failure) -> Bool
    ) throws(Failure) {
        var removed: [(Key, Value)] = []
        defer { withExtendedLifetime(removed) {} }
        try changeWhole("removeAll(where:)") { (entries) throws(Failure) in
            for (key, value) in entries where try predicate(key, value) {
                removed.append((key, value))
            }
            for (key, _) in removed {
                entries.removeValue(forKey: key)
            }
        }
    }

    /// Removes all entries, which are released after the lock. O(*n*).
    ///
    /// - Parameter keepingCapacity: Whether as many entries fit afterwards without growing. Entries that hold
    ///   references get new storage for that.
    @inlinable
    public func removeAll(keepingCapacity: Bool = false) {
        guard keepingCapacity else {
            _ = replaceAll(with: [:])
            return
        }
        let removed = change("removeAll") { entries, observers in
            if observers == nil && _isPOD((Key, Value).self) {
                entries.removeAll(keepingCapacity: true)
                return [Key: Value]()
            }
            var removed = [Key: Value](minimumCapacity: entries.capacity)
            swap(&removed, &entries)
            observers?.record(from: removed, to: [:])
            return removed
        }
        withExtendedLifetime(removed) {}
    }

    /// Replaces all entries and returns the previous ones. O(1) without observers.
    @inlinable
    @discardableResult
    public func replaceAll(with newEntries: [Key: Value]) -> [Key: Value] {
        changeByClosure("replaceAll(with:)") { entries, observers in
            let before = entries
            entries = newEntries
            observers?.record(from: before, to: newEntries)
            return before
        }
    }

    /// Removes and returns all entries. O(1) without observers.
    @inlinable
    public func drain() -> [Key: Value] {
        replaceAll(with: [:])
    }

    /// Makes room for at least `minimumCapacity` entries in all. O(*n*).
    @inlinable
    public func reserveCapacity(_ minimumCapacity: Int) {
        change("reserveCapacity") { entries, _ in
            entries.reserveCapacity(minimumCapacity)
        }
    }
}
