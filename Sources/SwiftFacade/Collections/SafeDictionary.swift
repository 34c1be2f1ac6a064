// SPDX-License-Identifier: Apache-2.0
//
// SafeDictionary: storage, lifetime, access to the whole and to one value. The invariants are those of
// SafeArray.swift, with one addition: keys' == and hash(into:) run under the lock, as lookups cannot do
// without; they are taken for what they are in every sound program, functions of their values that call
// nobody back. Further files: +Mutation, +Changes, +Conformances.

/// A dictionary that any number of threads may read and change.
///
/// `SafeDictionary` is a reference: every holder sees the same entries. It has the vocabulary of
/// `Dictionary`; each call is one atomic step. Lookups run in parallel and copy the value, never the
/// storage; changes are made in place.
///
/// ```swift
/// let hits = SafeDictionary<String, Int>()
/// hits[path, default: 0] += 1                                  // one step
/// let image = images.value(forKey: name, orInsert: decode(name))  // computed at most once
/// ```
///
/// What `Dictionary` has and this has not: its indices, which the next writer makes invalid, and equality and a hash
/// of the contents, which others may be changing. Compare snapshots.
///
/// Two calls are two steps. Use those that do both (``value(forKey:orInsert:)``,
/// ``insertIfAbsent(_:forKey:)``, ``mutateValue(forKey:default:_:)``, in-place subscripts), or
/// ``withWriteLock(_:)`` for steps of your own.
///
/// A closure given to a dictionary must not call the same dictionary: that would wait for itself for
/// ever, and is reported as one sentence before the process ends. The same holds for the `deinit` of what a closure,
/// or a change in place, releases itself. Keys and values that the dictionary's own verbs take out are released after
/// the lock has been given up: their `deinit` may call the dictionary.
public final class SafeDictionary<Key: Hashable, Value> {
    @frozen @usableFromInline
    struct State {
        @usableFromInline var entries: [Key: Value]
        /// Who wants to know; `nil` when nobody does.
        @usableFromInline var observers: Observers?

        @inlinable
        init(entries: [Key: Value]) {
            self.entries = entries
            observers = nil
        }
    }

    @usableFromInline
    typealias Observers = ChangeObservers<SafeDictionary, Change>

    @usableFromInline
    let storage: CollectionStorage<SafeDictionary, State>

    /// An empty dictionary.
    @inlinable
    public convenience init() {
        self.init([:])
    }

    /// A dictionary of the given entries. O(1): the storage is shared until the first change.
    @inlinable
    public init(_ entries: [Key: Value]) {
        storage = CollectionStorage(State(entries: entries))
    }

    /// A dictionary of a sequence of entries. O(*n*).
    ///
    /// - Precondition: No key comes twice. One that does is reported and ends the process;
    ///   ``init(_:uniquingKeysWith:)`` chooses instead.
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

    /// A dictionary of the elements of a sequence by the key that `keyForValue` gives each. O(*n*).
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

    /// `entries` as a dictionary. The standard library traps on a key that comes twice, in release builds without
    /// a word.
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

    /// The entries as they are now, as a dictionary of the caller's own. O(1): the first write while it is
    /// alive copies the storage, once; later writes do not change it.
    @inlinable
    public var snapshot: [Key: Value] {
        let section = storage.lockForReading("snapshot")
        defer { storage.unlockForReading(section) }
        return storage.state.entries
    }

    /// Runs `body` with the entries while holding the lock for reading, beside other readers.
    ///
    /// - Precondition: `body` does not call this dictionary.
    /// - Returns: What `body` returns.
    @inlinable
    public func withReadLock<Result: ~Copyable, Failure: Error>(
        _ body: ([Key: Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.read("withReadLock") { (state) throws(Failure) -> Result in
            try body(state.entries)
        }
    }

    /// Runs `body` with the entries in place while holding the lock for writing, alone: however many steps
    /// `body` takes, they are one to every other thread. Observers are told of each entry that differs
    /// afterwards; an observed dictionary is copied once.
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

    /// The number of entries. It may have changed by the time it is used.
    @inlinable
    public var count: Int {
        let section = storage.lockForReading("count")
        defer { storage.unlockForReading(section) }
        return storage.state.entries.count
    }

    /// Whether there are no entries.
    @inlinable
    public var isEmpty: Bool {
        count == 0
    }

    /// How many entries fit before the storage grows.
    @inlinable
    public var capacity: Int {
        let section = storage.lockForReading("capacity")
        defer { storage.unlockForReading(section) }
        return storage.state.entries.capacity
    }

    /// Any entry, or `nil` if there is none. O(1) on average.
    @inlinable
    public var first: (key: Key, value: Value)? {
        let section = storage.lockForReading("first")
        defer { storage.unlockForReading(section) }
        return storage.state.entries.first
    }

    /// An entry chosen at random, or `nil` if there is none. O(*n*).
    @inlinable
    public func randomElement() -> (key: Key, value: Value)? {
        snapshot.randomElement()
    }

    /// An entry chosen by `generator`, or `nil` if there is none. O(*n*).
    @inlinable
    public func randomElement(
        using generator: inout some RandomNumberGenerator
    ) -> (key: Key, value: Value)? {
        snapshot.randomElement(using: &generator)
    }

    /// The keys as they are now. O(*n*).
    public var keys: [Key] {
        Array(snapshot.keys)
    }

    /// The values as they are now, in the order of ``keys``, if nothing changes in between. O(*n*).
    public var values: [Value] {
        Array(snapshot.values)
    }

    // MARK: Made of the whole

    /// A dictionary of the caller's own with the values that `transform` makes of those here. O(*n*).
    ///
    /// This and the three below work on a ``snapshot``, outside the lock: their closures may call this
    /// dictionary.
    @inlinable
    public func mapValues<T>(_ transform: (Value) throws -> T) rethrows -> [Key: T] {
        try snapshot.mapValues(transform)
    }

    /// As ``mapValues(_:)``, without the entries for which `transform` gives `nil`. O(*n*).
    @inlinable
    public func compactMapValues<T>(_ transform: (Value) throws -> T?) rethrows -> [Key: T] {
        try snapshot.compactMapValues(transform)
    }

    /// The entries that satisfy `isIncluded`, as a dictionary of the caller's own. O(*n*).
    @inlinable
    public func filter(_ isIncluded: ((key: Key, value: Value)) throws -> Bool) rethrows -> [Key: Value] {
        try snapshot.filter(isIncluded)
    }

    /// The entries of this dictionary and of `others`, as a dictionary of the caller's own; where a key is in
    /// both, `combine` chooses. O(*n* + length of the sequence).
    @inlinable
    public func merging(
        _ others: some Sequence<(Key, Value)>,
        uniquingKeysWith combine: (Value, Value) throws -> Value
    ) rethrows -> [Key: Value] {
        try snapshot.merging(others, uniquingKeysWith: combine)
    }

    /// The entries of this dictionary and of another, as ``merging(_:uniquingKeysWith:)-(Sequence<(Key,Value)>,_)``.
    @inlinable
    public func merging(
        _ others: [Key: Value],
        uniquingKeysWith combine: (Value, Value) throws -> Value
    ) rethrows -> [Key: Value] {
        try snapshot.merging(others, uniquingKeysWith: combine)
    }

    // MARK: One value

    /// The value for `key`, or `nil` if there is none. O(1) on average.
    @inlinable
    public func value(forKey key: Key) -> Value? {
        let section = storage.lockForReading("value(forKey:)")
        defer { storage.unlockForReading(section) }
        return storage.state.entries[key]
    }

    /// The value for `key`, or what `fallback` gives if there is none. Nothing is inserted; `fallback` runs
    /// outside the lock. O(1) on average.
    @inlinable
    public func value(forKey key: Key, default fallback: @autoclosure () -> Value) -> Value {
        value(forKey: key) ?? fallback()
    }

    /// Whether there is a value for `key` now. O(1) on average.
    @inlinable
    public func contains(key: Key) -> Bool {
        let section = storage.lockForReading("contains(key:)")
        defer { storage.unlockForReading(section) }
        return storage.state.entries.index(forKey: key) != nil
    }

    /// The value for `key`, or `nil`; assigning `nil` removes it.
    ///
    /// Changing in place (`dictionary[key]?.count += 1`) holds the lock for writing meanwhile and is one
    /// step.
    ///
    /// - Precondition: A change in place does not call this dictionary, and does not suspend (`await`).
    /// - Complexity: O(1) on average.
    @inlinable
    public subscript(key: Key) -> Value? {
        get {
            value(forKey: key)
        }
        set {
            // What was there before is released after the lock.
            if let newValue {
                _ = updateValue(newValue, forKey: key)
            } else {
                _ = removeValue(forKey: key)
            }
        }
        _modify {
            storage.beginWriting("subscript")
            let location = storage.location
            let observers = location.pointee.state.observers
            let before = observers == nil ? nil : location.pointee.state.entries[key]
            defer {
                if let observers {
                    observers.record(from: before, to: location.pointee.state.entries[key], forKey: key)
                }
                storage.endWriting()
                withExtendedLifetime(before) {}
                observers?.announce(self)
            }
            yield &location.pointee.state.entries[key]
        }
    }

    /// The value for `key`, or what `fallback` gives. Changing in place starts from `fallback` if there is no
    /// value: `dictionary[key, default: 0] += 1` is one step.
    ///
    /// - Precondition: Neither a change in place nor `fallback` calls this dictionary.
    /// - Complexity: O(1) on average.
    @inlinable
    public subscript(key: Key, default fallback: @autoclosure () -> Value) -> Value {
        get {
            value(forKey: key, default: fallback())
        }
        _modify {
            storage.beginWriting("subscript")
            let location = storage.location
            let observers = location.pointee.state.observers
            let before = observers == nil ? nil : location.pointee.state.entries[key]
            defer {
                if let observers {
                    observers.record(from: before, to: location.pointee.state.entries[key], forKey: key)
                }
                storage.endWriting()
                withExtendedLifetime(before) {}
                observers?.announce(self)
            }
            yield &location.pointee.state.entries[key, default: fallback()]
        }
    }

    // MARK: How changes are made

    /// A change by the toolkit's own few instructions, which record it. What it takes out is in its answer: that is
    /// released by the caller, after the lock.
    @inlinable @inline(__always)
    func change<Result>(
        _ call: StaticString,
        _ body: (inout [Key: Value], Observers?) -> Result
    ) -> Result {
        storage.lockForWriting(call)
        let location = storage.location
        // A path of its own: to hold the observers is a call to the runtime, also where there are none.
        if location.pointee.state.observers == nil {
            let result = body(&location.pointee.state.entries, nil)
            storage.unlockForWriting()
            return result
        }
        let observers = location.pointee.state.observers
        let result = body(&location.pointee.state.entries, observers)
        storage.unlockForWriting()
        observers?.announce(self)
        return result
    }

    /// A change that runs foreign code and records it itself.
    @inlinable
    func changeByClosure<Result: ~Copyable, Failure: Error>(
        _ call: StaticString,
        _ body: (inout [Key: Value], Observers?) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var observers: Observers?
        defer { observers?.announce(self) }
        return try storage.write(call) { (state) throws(Failure) -> Result in
            observers = state.observers
            return try body(&state.entries, observers)
        }
    }

    /// A change by foreign code of which only the outcome is known.
    @inlinable
    func changeWhole<Result: ~Copyable, Failure: Error>(
        _ call: StaticString,
        _ body: (inout [Key: Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var before: [Key: Value] = [:]
        defer { withExtendedLifetime(before) {} }
        return try changeByClosure(call) { (entries, observers) throws(Failure) -> Result in
            guard let observers else { return try body(&entries) }
            before = entries
            defer { observers.record(from: before, to: entries) }
            return try body(&entries)
        }
    }
}

// As SafeArray.
extension SafeDictionary: @unchecked Sendable where Key: Sendable, Value: Sendable {}
