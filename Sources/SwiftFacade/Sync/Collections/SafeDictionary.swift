// SPDX-License-Identifier: Apache-2.0
//
// SafeDictionary: storage, lifetime and access to the whole. The invariants are those of SafeArray.swift; but keys' ==
// and hash(into:) run under the lock, because lookups need them. They call no collection.

/// A dictionary that any number of threads may read and change.
///
/// A reference with the vocabulary of `Dictionary`: every holder sees the same entries, and each call is one atomic
/// step. Lookups run in parallel and copy the value, not the storage. Changes are made in place.
///
/// ```swift
/// let hits = SafeDictionary<String, Int>()
/// hits[path, default: 0] += 1                                  // one step
/// let image = images.value(forKey: name, orInsert: decode(name))  // computed at most once
/// ```
///
/// Every method is thread-safe. It blocks while another thread holds the lock: a few instructions, or that thread's
/// closure. What a thread did before a change is visible with the change.
///
/// Two calls are two steps. Use the calls that do both (``value(forKey:orInsert:)``, ``insertIfAbsent(_:forKey:)``,
/// ``update(forKey:default:_:)``, in-place subscripts), or ``withWriteLock(_:)``.
///
/// A closure given to a dictionary must not call the same dictionary: the thread would wait for itself, which is
/// reported and ends the process, as with an array. Nor may the `deinit` of what a closure, or a change in place,
/// releases. Nor may a key's `==` and `hash(into:)`, which run under the lock: from a verb for a single key that is not
/// reported, and the thread waits for ever. Keys and values that the dictionary's own verbs take out are released after
/// the lock: their `deinit` may call the dictionary.
///
/// A key that is not equal to itself, as a `NaN`, is found by no verb: ``removeAll(where:)`` leaves it.
///
/// Left out: indices, which the next writer makes invalid; `==` and a hash, since the contents change: compare
/// snapshots.
public final class SafeDictionary<Key: Hashable, Value> {
    @usableFromInline
    package typealias Observers = ChangeObservers<SafeDictionary, Change>

    @usableFromInline
    let storage: CollectionStorage<SafeDictionary, Observed<SafeDictionary, [Key: Value], Change>>

    /// An empty dictionary.
    @inlinable
    public convenience init() {
        self.init([:])
    }

    /// A dictionary of the given entries. O(1): the storage is shared until the first change.
    @inlinable
    public init(_ entries: [Key: Value]) {
        storage = CollectionStorage(Observed(entries))
    }

    /// A dictionary of a sequence of entries. O(*n*).
    ///
    /// - Precondition: No key comes twice; a duplicate is reported and ends the process. ``init(_:uniquingKeysWith:)``
    ///   chooses instead.
    @inlinable
    public convenience init(uniqueKeysWithValues entries: some Sequence<(Key, Value)>) {
        self.init(Self.unique(entries, "init(uniqueKeysWithValues:)"))
    }

    /// A dictionary of a sequence of entries; where a key comes again, `combine` chooses. O(*n*).
    @inlinable
    public convenience init(
        _ entries: some Sequence<(Key, Value)>,
        uniquingKeysWith combine: (Value, Value) throws -> Value
    ) rethrows {
        self.init(try Dictionary(entries, uniquingKeysWith: combine))
    }

    /// A dictionary of the elements of a sequence, grouped by the key that `keyForValue` gives each. O(*n*).
    @inlinable
    public convenience init<Elements: Sequence>(
        grouping elements: Elements,
        by keyForValue: (Elements.Element) throws -> Key
    ) rethrows where Value == [Elements.Element] {
        self.init(try Dictionary(grouping: elements, by: keyForValue))
    }

    /// An empty dictionary with room for at least `minimumCapacity` entries.
    @inlinable
    public convenience init(minimumCapacity: Int) {
        self.init(Dictionary(minimumCapacity: minimumCapacity))
    }

    /// The standard library traps on a duplicate key, in release builds without a message.
    @inlinable
    static func unique(_ entries: some Sequence<(Key, Value)>, _ call: String) -> [Key: Value] {
        var unique = [Key: Value](minimumCapacity: entries.underestimatedCount)
        for (key, value) in entries {
            if unique.updateValue(value, forKey: key) != nil {
                misuse("\(Self.self).\(call)", nil, "the key \(key) comes twice")
            }
        }
        return unique
    }

    // MARK: The whole

    /// The entries as they are now. O(1): the first write while the snapshot is alive copies the storage, once; writes
    /// do not change the snapshot. New dictionaries are made of it: `hits.snapshot.mapValues(\.description)`.
    @inlinable
    public var snapshot: [Key: Value] {
        storage.whileReading("snapshot") { storage.state.contents }
    }

    /// Runs `body` with the entries while holding the lock for reading, beside other readers.
    ///
    /// - Precondition: `body` does not call this dictionary.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    @inlinable
    public func withReadLock<Result: ~Copyable, Failure: Error>(
        _ body: ([Key: Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.read("withReadLock") { (state) throws(Failure) -> Result in
            try body(state.contents)
        }
    }

    /// Runs `body` with the entries in place while holding the lock for writing: its steps are one step to other
    /// threads. Observers receive each entry that differs; an observed dictionary is copied once.
    ///
    /// - Precondition: `body` does not call this dictionary.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; what it changed until then stays changed.
    @inlinable
    public func withWriteLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout [Key: Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try changeWhole("withWriteLock", body)
    }

    /// The number of entries now.
    @inlinable
    public var count: Int {
        storage.whileReading("count") { storage.state.contents.count }
    }

    /// Whether there are no entries.
    @inlinable
    public var isEmpty: Bool {
        count == 0
    }

    /// How many entries fit before the storage grows.
    @inlinable
    public var capacity: Int {
        storage.whileReading("capacity") { storage.state.contents.capacity }
    }

    /// Any entry, or `nil` if there is none. Scans the storage: up to O(capacity).
    @inlinable
    public var first: (key: Key, value: Value)? {
        storage.whileReading("first") { storage.state.contents.first }
    }

    /// An entry chosen at random, or `nil` if there is none. O(*n*).
    @inlinable
    public func randomElement() -> (key: Key, value: Value)? {
        snapshot.randomElement()
    }

    /// The entries that satisfy `isIncluded`. O(*n*). Works on a ``snapshot``, outside the lock.
    @inlinable
    public func filter(_ isIncluded: ((key: Key, value: Value)) throws -> Bool) rethrows -> [Key: Value] {
        try snapshot.filter(isIncluded)
    }

    /// The keys as they are now. O(*n*).
    public var keys: [Key] {
        Array(snapshot.keys)
    }

    /// The values as they are now, in the order of ``keys`` if nothing changes in between. O(*n*).
    public var values: [Value] {
        Array(snapshot.values)
    }

    // MARK: How changes are made

    /// ``CollectionStorage/change(_:_:_:)``.
    @inlinable @inline(__always)
    func change<Result>(
        _ call: StaticString,
        _ body: (inout [Key: Value], Observers?) -> Result
    ) -> Result {
        storage.change(self, call, body)
    }

    /// ``CollectionStorage/changeByClosure(_:_:_:)``.
    @inlinable
    func changeByClosure<Result: ~Copyable, Failure: Error>(
        _ call: StaticString,
        _ body: (inout [Key: Value], Observers?) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.changeByClosure(self, call, body)
    }

    /// A change by foreign code of which only the outcome is known.
    @inlinable
    func changeWhole<Result: ~Copyable, Failure: Error>(
        _ call: StaticString,
        isBegun: Bool = false,
        _ body: (inout [Key: Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var before: [Key: Value] = [:]
        defer { withExtendedLifetime(before) {} }
        return try storage.changeByClosure(self, call, isBegun: isBegun) {
            (entries, observers) throws(Failure) -> Result in
            guard let observers else { return try body(&entries) }
            before = entries
            defer { observers.record(from: before, to: entries) }
            return try body(&entries)
        }
    }
}

// All mutable state is behind the lock. Readers share the entries, which must be Sendable.
extension SafeDictionary: @unchecked Sendable where Key: Sendable, Value: Sendable {}
