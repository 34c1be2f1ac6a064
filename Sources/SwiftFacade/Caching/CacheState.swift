// SPDX-License-Identifier: Apache-2.0
//
// What a SingleFlightCache keeps under its lock: values by key, in the order last asked for, and the computations under
// way. What it hands back is released outside that lock.
//
// The order is a list through the entries: asking, keeping and evicting are O(1).

struct CacheState<Key: Hashable & Sendable, Value: Sendable> {
    /// A value and its key, handed back whole: the key is not released under the cache's lock either.
    final class Entry {
        let key: Key
        let value: Value
        let born: Duration
        // The dictionary holds the entries, so their links need not.
        fileprivate unowned(unsafe) var older: Entry?
        fileprivate unowned(unsafe) var newer: Entry?

        init(_ key: Key, _ value: Value, born: Duration) {
            self.key = key
            self.value = value
            self.born = born
        }
    }

    /// The computations whose values will be kept.
    var flights: [Key: Flight<Value>] = [:]

    private let capacity: Int
    private let maximumAge: Duration?
    private var entries: [Key: Entry] = [:]
    private unowned(unsafe) var oldest: Entry?
    private unowned(unsafe) var newest: Entry?

    init(capacity: Int, maximumAge: Duration?) {
        self.capacity = capacity
        self.maximumAge = maximumAge
    }

    var count: Int { entries.count }

    /// The value of `key`, now the newest; or the entry that was too old, taken out.
    mutating func value(forKey key: Key, at time: Duration) -> (kept: Value?, expired: Entry?) {
        guard let entry = entries[key] else { return (nil, nil) }
        if isExpired(entry, at: time) { return (nil, take(key)) }
        if newest !== entry {
            unlink(entry)
            link(entry)
        }
        return (entry.value, nil)
    }

    /// Keeps a value for a key that has none; hands back the entry that had to go, perhaps the new one.
    mutating func insert(_ value: Value, forKey key: Key, at time: Duration) -> Entry? {
        guard capacity > 0 else { return Entry(key, value, born: time) }
        assert(entries[key] == nil, "the thread that computes or replaces a value has taken the old one out")
        let evicted = entries.count == capacity ? oldest.flatMap { take($0.key) } : nil
        let entry = Entry(key, value, born: time)
        entries[key] = entry
        link(entry)
        return evicted
    }

    mutating func remove(_ key: Key, at time: Duration) -> (entry: Entry, isExpired: Bool)? {
        take(key).map { ($0, isExpired($0, at: time)) }
    }

    mutating func removeAll() -> [Entry] {
        let all = Array(entries.values)
        entries = [:]
        oldest = nil
        newest = nil
        return all
    }

    mutating func removeExpired(at time: Duration) -> [Entry] {
        entries.values.filter { isExpired($0, at: time) }.compactMap { take($0.key) }
    }

    private func isExpired(_ entry: Entry, at time: Duration) -> Bool {
        guard let maximumAge else { return false }
        return time - entry.born > maximumAge
    }

    private mutating func take(_ key: Key) -> Entry? {
        guard let entry = entries.removeValue(forKey: key) else { return nil }
        unlink(entry)
        return entry
    }

    private mutating func link(_ entry: Entry) {
        entry.older = newest
        entry.newer = nil
        if let newest {
            newest.newer = entry
        } else {
            oldest = entry
        }
        newest = entry
    }

    private mutating func unlink(_ entry: Entry) {
        if let older = entry.older {
            older.newer = entry.newer
        } else {
            oldest = entry.newer
        }
        if let newer = entry.newer {
            newer.older = entry.older
        } else {
            newest = entry.older
        }
    }
}

// Its entries are reached through it alone, under the cache's lock; what it hands out is Sendable.
extension CacheState: @unchecked Sendable {}
