// SPDX-License-Identifier: Apache-2.0
//
// SafeSet: storage, lifetime and access to the whole. The invariants are those of SafeArray.swift and
// SafeDictionary.swift.

/// A set that any number of threads may read and change.
///
/// A reference with the vocabulary of `Set`: every holder sees the same members, and each call is one atomic step: of
/// many threads that insert the same member exactly one learns that it was first. Lookups run in parallel; changes are
/// made in place.
///
/// ```swift
/// let seen = SafeSet<URL>()
/// if seen.insert(url).inserted { crawl(url) }
/// ```
///
/// Every method is thread-safe. It blocks while another thread holds the lock: a few instructions, or that thread's
/// closure. What a thread did before a change is visible with the change. A sequence given to it is iterated outside
/// the lock.
///
/// A closure given to a set must not call the same set: the thread would wait for itself, which is reported and ends
/// the process, as with an array. Nor may the `deinit` of what a closure releases. Nor may a member's `==` and
/// `hash(into:)`, which run under the lock: from a verb for a single member that is not reported, and the thread waits
/// for ever. Members that the set's own verbs take out are released after the lock: their `deinit` may call the set.
///
/// A member that is not equal to itself, as a `NaN`, is found by no verb: ``removeAll(where:)`` leaves it.
///
/// There is no `==` and no hash, since the contents change: compare snapshots, or ask ``isSubset(of:)`` and the others.
public final class SafeSet<Element: Hashable> {
    @usableFromInline
    package typealias Observers = ChangeObservers<SafeSet, Change>

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

    /// The members as they are now. O(1): the first write while the snapshot is alive copies the storage, once; writes
    /// do not change the snapshot. New sets are made of it: `tags.snapshot.union(others)`.
    @inlinable
    public var snapshot: Set<Element> {
        storage.whileReading("snapshot") { storage.state.contents }
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

    /// Runs `body` with the members in place while holding the lock for writing: its steps are one step to other
    /// threads. Observers receive each member removed or inserted; an observed set is copied once.
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

    /// ``CollectionStorage/change(_:_:_:)``.
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
        isBegun: Bool = false,
        _ body: (inout Set<Element>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var before: Set<Element> = []
        defer { withExtendedLifetime(before) {} }
        return try storage.changeByClosure(self, call, isBegun: isBegun) {
            (members, observers) throws(Failure) -> Result in
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

// All mutable state is behind the lock. Readers share the elements, which must be Sendable.
extension SafeSet: @unchecked Sendable where Element: Sendable {}
