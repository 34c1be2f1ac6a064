// SPDX-License-Identifier: Apache-2.0
//
// SafeDictionary: storage, lifetime and access to the whole. The invariants are those of SafeArray.swift, with one
// addition: keys' == and hash(into:) run under the lock, because lookups need them. They are functions of their values
// and call no collection. Further files: +Values (one value), +Copies (dictionaries made of the whole), +Mutation,
// +Changes, +Conformances.

/// A dictionary that any number of threads may read and change.
///
/// `SafeDictionary` is a reference: every holder sees the same entries. It has the vocabulary of `Dictionary`, and each
/// call is one atomic step. Lookups run in parallel and copy the value, never the storage. Changes are made in place.
///
/// ```swift
/// let hits = SafeDictionary<String, Int>()
/// hits[path, default: 0] += 1                                  // one step
/// let image = images.value(forKey: name, orInsert: decode(name))  // computed at most once
/// ```
///
/// Every method is thread-safe. It blocks its thread while another thread holds the lock, for a few instructions or as
/// long as another thread's closure runs. What a thread did before a change is visible to a thread that sees the
/// change.
///
/// Two calls are two steps. Use those that do both (``value(forKey:orInsert:)``, ``insertIfAbsent(_:forKey:)``,
/// ``mutateValue(forKey:default:_:)``, in-place subscripts), or ``withWriteLock(_:)`` for steps of your own.
///
/// A closure given to a dictionary must not call the same dictionary: the thread would wait for itself, which is
/// reported and ends the process. The same holds for the `deinit` of what a closure, or a change in place, releases.
/// Keys and values that the dictionary's own verbs take out are released after the lock has been given up: their
/// `deinit` may call the dictionary.
///
/// Left out of `Dictionary`'s vocabulary: indices, which the next writer makes invalid, and equality and a hash of
/// contents that other threads may change. Compare snapshots.
public final class SafeDictionary<Key: Hashable, Value> {
    @usableFromInline
    typealias Observers = ChangeObservers<SafeDictionary, Change>

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
    /// - Precondition: No key comes twice. A duplicate is reported and ends the process; ``init(_:uniquingKeysWith:)``
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

    /// `entries` as a dictionary. The standard library traps on a duplicate key, in release builds without a message.
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

    /// The entries as they are now, as a dictionary of the caller's own. O(1): the first write while it is alive copies
    /// the storage, once; writes do not change it.
    @inlinable
    public var snapshot: [Key: Value] {
        let section = storage.lockForReading("snapshot")
        defer { storage.unlockForReading(section) }
        return storage.state.contents
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

    /// Runs `body` with the entries in place while holding the lock for writing, alone: all steps of `body` are one
    /// step to every other thread. Observers receive each entry that differs afterwards; an observed dictionary is
    /// copied once.
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

    /// The number of entries. It may have changed when the caller uses it.
    @inlinable
    public var count: Int {
        let section = storage.lockForReading("count")
        defer { storage.unlockForReading(section) }
        return storage.state.contents.count
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
        return storage.state.contents.capacity
    }

    /// Any entry, or `nil` if there is none. O(1) on average.
    @inlinable
    public var first: (key: Key, value: Value)? {
        let section = storage.lockForReading("first")
        defer { storage.unlockForReading(section) }
        return storage.state.contents.first
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

    /// The values as they are now, in the order of ``keys`` if nothing changes in between. O(*n*).
    public var values: [Value] {
        Array(snapshot.values)
    }

    // MARK: How changes are made

    /// A change by the toolkit's own few instructions, which record it. Removed entries are in the result, which the
    /// caller releases after the lock.
    @inlinable @inline(__always)
    func change<Result>(
        _ call: StaticString,
        _ body: (inout [Key: Value], Observers?) -> Result
    ) -> Result {
        storage.change(self, call, body)
    }

    /// A change that runs foreign code and records it itself.
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
