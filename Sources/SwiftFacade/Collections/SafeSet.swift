// SPDX-License-Identifier: Apache-2.0
//
// SafeSet: storage, lifetime and access to the whole. The invariants are those of SafeArray.swift and
// SafeDictionary.swift. One capability per further file: +Members (one member), +Mutation (Set's changing verbs),
// +Algebra (questions and sets made of the whole), +Changes (announcements), +Conformances.

/// A set that any number of threads may read and change.
///
/// `SafeSet` is a reference: every holder sees the same members. It has the vocabulary of `Set`, and each call is one
/// atomic step: of many threads that insert the same member exactly one is told that it was first. Lookups run in
/// parallel; changes are made in place.
///
/// ```swift
/// let seen = SafeSet<URL>()
/// if seen.insert(url).inserted { crawl(url) }
/// ```
///
/// Every method is thread-safe. It blocks its thread while another thread holds the lock, for a few instructions or as
/// long as another thread's closure runs. What a thread did before a change is visible to a thread that sees the
/// change.
///
/// A closure given to a set must not call the same set: the thread would wait for itself, which is reported and ends
/// the process. The same holds for the `deinit` of what a closure releases. Members that the set's own verbs take out
/// are released after the lock has been given up: their `deinit` may call the set.
///
/// There is no equality and no hash, because other threads may change the contents. Compare snapshots, or ask
/// ``isSubset(of:)`` and the others.
public final class SafeSet<Element: Hashable> {
    @usableFromInline
    typealias Observers = ChangeObservers<SafeSet, Change>

    @usableFromInline
    let storage: CollectionStorage<SafeSet, Observed<SafeSet, Set<Element>, Change>>

    /// An empty set.
    @inlinable
    public convenience init() {
        self.init(Set())
    }

    /// A set of the given members. O(1): the storage is shared until the first change.
    @inlinable
    public init(_ members: Set<Element>) {
        storage = CollectionStorage(Observed(members))
    }

    /// A set of the members of a sequence. O(*n*).
    @inlinable
    public convenience init(_ members: some Sequence<Element>) {
        self.init(Set(members))
    }

    /// An empty set with room for at least `minimumCapacity` members.
    @inlinable
    public convenience init(minimumCapacity: Int) {
        self.init(Set(minimumCapacity: minimumCapacity))
    }

    // MARK: The whole

    /// The members as they are now, as a set of the caller's own. O(1): the first write while it is alive copies the
    /// storage, once; writes do not change it.
    @inlinable
    public var snapshot: Set<Element> {
        let section = storage.lockForReading("snapshot")
        defer { storage.unlockForReading(section) }
        return storage.state.contents
    }

    /// Runs `body` with the members while holding the lock for reading, beside other readers.
    ///
    /// - Precondition: `body` does not call this set.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    @inlinable
    public func withReadLock<Result: ~Copyable, Failure: Error>(
        _ body: (Set<Element>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.read("withReadLock") { (state) throws(Failure) -> Result in
            try body(state.contents)
        }
    }

    /// Runs `body` with the members in place while holding the lock for writing, alone. Observers receive each member
    /// that was removed or inserted; an observed set is copied once.
    ///
    /// - Precondition: `body` does not call this set.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; what it changed until then stays changed.
    @inlinable
    public func withWriteLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Set<Element>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try changeWhole("withWriteLock", body)
    }

    // MARK: How changes are made

    /// A change by the toolkit's own few instructions, which record it. Removed members are in the result, which the
    /// caller releases after the lock.
    @inlinable @inline(__always)
    func change<Result>(
        _ call: StaticString,
        _ body: (inout Set<Element>, Observers?) -> Result
    ) -> Result {
        storage.change(self, call, body)
    }

    /// A change by foreign code of which only the outcome is known.
    @inlinable
    func changeWhole<Result: ~Copyable, Failure: Error>(
        _ call: StaticString,
        _ body: (inout Set<Element>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var before: Set<Element> = []
        defer { withExtendedLifetime(before) {} }
        return try storage.changeByClosure(self, call) { (members, observers) throws(Failure) -> Result in
            guard let observers else { return try body(&members) }
            before = members
            defer {
                for member in before.subtracting(members) { observers.record(.removal(member)) }
                for member in members.subtracting(before) { observers.record(.insertion(member)) }
            }
            return try body(&members)
        }
    }
}

// As SafeArray.
extension SafeSet: @unchecked Sendable where Element: Sendable {}
