// SPDX-License-Identifier: Apache-2.0
//
// SafeSet: storage, the vocabulary of Set, and its announcements. The invariants are those of SafeArray.swift
// and SafeDictionary.swift. +Algebra has what changes nothing, +Conformances the rest.

import Dispatch

/// A set that any number of threads may read and change.
///
/// `SafeSet` is a reference: every holder sees the same members. It has the vocabulary of `Set`; each
/// call is one atomic step, so that of many threads that insert the same member exactly one is told that
/// it was first. Lookups run in parallel; changes are made in place.
///
/// ```swift
/// let seen = SafeSet<URL>()
/// if seen.insert(url).inserted { crawl(url) }
/// ```
///
/// Equality and a hash of contents that others may be changing it has not. Compare snapshots, or ask
/// ``isSubset(of:)`` and the others.
///
/// A closure given to a set must not call the same set: that is reported, and ends the process. The same holds for
/// the `deinit` of what a closure releases itself. Members that the set's own verbs take out are released after the
/// lock has been given up: their `deinit` may call the set.
public final class SafeSet<Element: Hashable> {
    @frozen @usableFromInline
    struct State {
        @usableFromInline var members: Set<Element>
        /// Who wants to know; `nil` when nobody does.
        @usableFromInline var observers: Observers?

        @inlinable
        init(members: Set<Element>) {
            self.members = members
            observers = nil
        }
    }

    /// One change of the members.
    public enum Change: Hashable {
        /// A member came.
        case insertion(Element)
        /// A member went.
        case removal(Element)
    }

    @usableFromInline
    typealias Observers = ChangeObservers<SafeSet, Change>

    @usableFromInline
    let storage: CollectionStorage<SafeSet, State>

    /// An empty set.
    @inlinable
    public convenience init() {
        self.init(Set())
    }

    /// A set of the given members. O(1): the storage is shared until the first change.
    @inlinable
    public init(_ members: Set<Element>) {
        storage = CollectionStorage(State(members: members))
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

    /// The members as they are now, as a set of the caller's own. O(1): the first write while it is alive
    /// copies the storage, once; later writes do not change it.
    @inlinable
    public var snapshot: Set<Element> {
        let section = storage.lockForReading("snapshot")
        defer { storage.unlockForReading(section) }
        return storage.state.members
    }

    /// Runs `body` with the members while holding the lock for reading, beside other readers.
    ///
    /// - Precondition: `body` does not call this set.
    /// - Returns: What `body` returns.
    @inlinable
    public func withReadLock<Result: ~Copyable, Failure: Error>(
        _ body: (Set<Element>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.read("withReadLock") { (state) throws(Failure) -> Result in
            try body(state.members)
        }
    }

    /// Runs `body` with the members in place while holding the lock for writing, alone. Observers are told of
    /// each member that came or went; an observed set is copied once.
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

    /// A change by foreign code of which only the outcome is known.
    @inlinable
    func changeWhole<Result: ~Copyable, Failure: Error>(
        _ call: StaticString,
        _ body: (inout Set<Element>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var observers: Observers?
        var before: Set<Element> = []
        defer {
            withExtendedLifetime(before) {}
            observers?.announce(self)
        }
        return try storage.write(call) { (state) throws(Failure) -> Result in
            observers = state.observers
            guard let observers else { return try body(&state.members) }
            before = state.members
            defer {
                for member in before.subtracting(state.members) { observers.record(.removal(member)) }
                for member in state.members.subtracting(before) { observers.record(.insertion(member)) }
            }
            return try body(&state.members)
        }
    }

    // MARK: Looking

    /// The number of members. It may have changed by the time it is used.
    @inlinable
    public var count: Int {
        let section = storage.lockForReading("count")
        defer { storage.unlockForReading(section) }
        return storage.state.members.count
    }

    /// Whether there are no members.
    @inlinable
    public var isEmpty: Bool {
        count == 0
    }

    /// Whether `member` is in the set now. O(1) on average.
    @inlinable
    public func contains(_ member: Element) -> Bool {
        let section = storage.lockForReading("contains")
        defer { storage.unlockForReading(section) }
        return storage.state.members.contains(member)
    }

    /// How many members fit before the storage grows.
    @inlinable
    public var capacity: Int {
        let section = storage.lockForReading("capacity")
        defer { storage.unlockForReading(section) }
        return storage.state.members.capacity
    }

    /// Any member, or `nil` if there is none. O(1) on average.
    @inlinable
    public var first: Element? {
        let section = storage.lockForReading("first")
        defer { storage.unlockForReading(section) }
        return storage.state.members.first
    }

    // MARK: Changing

    /// Inserts `member` if no equal one is there. O(1) on average.
    ///
    /// - Returns: Whether it was inserted, and the member that is in the set now.
    @inlinable
    @discardableResult
    public func insert(_ member: consuming Element) -> (inserted: Bool, memberAfterInsert: Element) {
        let member = member
        // One that is not inserted is released after the lock.
        defer { withExtendedLifetime(member) {} }
        return change("insert") { members, observers in
            let result = members.insert(member)
            if result.inserted { observers?.record(.insertion(member)) }
            return result
        }
    }

    /// Inserts `member`, in place of an equal one if there is one. O(1) on average. Observers are told that the one
    /// went and the other came.
    ///
    /// - Returns: The member that was replaced, or `nil`.
    @inlinable
    @discardableResult
    public func update(with member: consuming Element) -> Element? {
        let member = member
        return change("update(with:)") { members, observers in
            let replaced = members.update(with: member)
            if let replaced { observers?.record(.removal(replaced)) }
            observers?.record(.insertion(member))
            return replaced
        }
    }

    /// Removes and returns the member equal to `member`, or `nil` if there is none. O(1) on average.
    @inlinable
    @discardableResult
    public func remove(_ member: Element) -> Element? {
        change("remove") { members, observers in
            guard let removed = members.remove(member) else { return nil }
            observers?.record(.removal(removed))
            return removed
        }
    }

    /// Removes and returns any member, or `nil` if there is none. O(1) on average.
    @inlinable
    public func popFirst() -> Element? {
        change("popFirst") { members, observers in
            guard let removed = members.popFirst() else { return nil }
            observers?.record(.removal(removed))
            return removed
        }
    }

    /// Removes and returns any member. O(1) on average.
    ///
    /// - Precondition: The set is not empty. That it is, is reported and ends the process; where another thread may
    ///   empty it, use ``popFirst()``.
    @inlinable
    @discardableResult
    public func removeFirst() -> Element {
        guard let removed = popFirst() else {
            misuse("\(Self.self).removeFirst", storage.identity, "the set has no members")
        }
        return removed
    }

    /// Makes room for at least `minimumCapacity` members in all. O(*n*).
    @inlinable
    public func reserveCapacity(_ minimumCapacity: Int) {
        change("reserveCapacity") { members, _ in
            members.reserveCapacity(minimumCapacity)
        }
    }

    /// Inserts the members of a sequence, all in one step. O(length of the sequence) on average. The sequence
    /// is gone through before the lock is taken.
    @inlinable
    public func formUnion(_ others: some Sequence<Element>) {
        let others = Array(others)
        changeWhole("formUnion") { $0.formUnion(others) }
        // Of those that were there already the set has dropped the second.
        withExtendedLifetime(others) {}
    }

    /// Removes the members of a sequence, all in one step. O(length of the sequence) on average.
    @inlinable
    public func subtract(_ others: some Sequence<Element>) {
        let others = Array(others)
        var removed: [Element] = []
        changeWhole("subtract") { members in
            for member in others {
                if let gone = members.remove(member) { removed.append(gone) }
            }
        }
        withExtendedLifetime(removed) {}
    }

    /// Keeps only the members of a sequence, in one step. O(length of the sequence) on average.
    @inlinable
    public func formIntersection(_ others: some Sequence<Element>) {
        let others = Set(others)
        var before: Set<Element> = []
        changeWhole("formIntersection") { members in
            before = members
            members.formIntersection(others)
        }
        withExtendedLifetime(before) {}
    }

    /// Removes the members that are also in a sequence and inserts those that are not here, in one step. O(length of
    /// the sequence) on average.
    @inlinable
    public func formSymmetricDifference(_ others: some Sequence<Element>) {
        let others = Set(others)
        var removed: [Element] = []
        changeWhole("formSymmetricDifference") { members in
            for member in others {
                if let gone = members.remove(member) {
                    removed.append(gone)
                } else {
                    members.insert(member)
                }
            }
        }
        withExtendedLifetime(removed) {}
    }

    /// Puts all of `newMembers` in the place of everything there is, and returns what was there. O(1) without
    /// observers.
    @inlinable
    @discardableResult
    public func replaceAll(with newMembers: Set<Element>) -> Set<Element> {
        changeWhole("replaceAll(with:)") { members in
            let before = members
            members = newMembers
            return before
        }
    }

    /// Removes the members that satisfy `predicate`, all in one step. O(*n*).
    ///
    /// - Precondition: `predicate` does not call this set.
    /// - Throws: What `predicate` throws; nothing has been removed then.
    @inlinable
    public func removeAll<Failure: Error>(
        where predicate: (Element) throws(Failure) -> Bool
    ) throws(Failure) {
        var removed: [Element] = []
        defer { withExtendedLifetime(removed) {} }
        try changeWhole("removeAll(where:)") { (members) throws(Failure) in
            for member in members where try predicate(member) {
                removed.append(member)
            }
            members.subtract(removed)
        }
    }

    /// Removes all members, which are released after the lock has been given up. O(*n*).
    ///
    /// - Parameter keepingCapacity: Whether as many members fit afterwards as before without growing. Storage of
    ///   members that hold references is made anew for that.
    @inlinable
    public func removeAll(keepingCapacity: Bool = false) {
        guard keepingCapacity else {
            _ = drain()
            return
        }
        let removed = change("removeAll") { members, observers in
            if observers == nil && _isPOD(Element.self) {
                members.removeAll(keepingCapacity: true)
                return Set<Element>()
            }
            var removed = Set<Element>(minimumCapacity: members.capacity)
            swap(&removed, &members)
            if let observers {
                for member in removed { observers.record(.removal(member)) }
            }
            return removed
        }
        withExtendedLifetime(removed) {}
    }

    /// Removes and returns all members. O(1) without observers.
    @inlinable
    public func drain() -> Set<Element> {
        change("drain") { members, observers in
            let removed = members
            members = []
            if let observers {
                for member in removed { observers.record(.removal(member)) }
            }
            return removed
        }
    }

    /// A change by the toolkit's own few instructions, which record it. What it takes out is in its answer: that is
    /// released by the caller, after the lock.
    @inlinable @inline(__always)
    func change<Result>(
        _ call: StaticString,
        _ body: (inout Set<Element>, Observers?) -> Result
    ) -> Result {
        storage.lockForWriting(call)
        let location = storage.location
        // A path of its own: to hold the observers is a call to the runtime, also where there are none.
        if location.pointee.state.observers == nil {
            let result = body(&location.pointee.state.members, nil)
            storage.unlockForWriting()
            return result
        }
        let observers = location.pointee.state.observers
        let result = body(&location.pointee.state.members, observers)
        storage.unlockForWriting()
        observers?.announce(self)
        return result
    }
}

// As SafeArray.
extension SafeSet: @unchecked Sendable where Element: Sendable {}
extension SafeSet.Change: Sendable where Element: Sendable {}

extension SafeSet where Element: Sendable {
    /// Announces every change from now on, in order, by calling `handler` on `queue`; as
    /// ``SafeArray/changes(deliverOn:_:)`` does.
    ///
    /// - Returns: The subscription; the announcements end when it is cancelled or released, which may be done anywhere.
    public func changes(
        deliverOn queue: DispatchQueue = .main,
        _ handler: @escaping @Sendable (Change) -> Void
    ) -> ChangeSubscription {
        subscribe(queue, handler)
    }

    /// Every change from now on, in order, as an asynchronous sequence. It ends when the task is cancelled, and, after
    /// the last change, when the set is gone; leaving the loop and the sequence ends it too.
    ///
    /// Writers keep each change and wake the consumer. Comparing and delivering are done by the consumer, so that no
    /// writer works for another. Each change goes to one consumer of a sequence; take a sequence for each who wants
    /// all of them. Changes are kept until they are asked for: a consumer that is always slower than the writers needs
    /// more and more memory.
    public var changesSequence: AsyncStream<Change> {
        makeChangesSequence()
    }
}

extension SafeSet: ChangeSource {
    static func announcement(of change: Change) -> Change? {
        change
    }

    func updateObservers(_ body: (Observers?) -> Observers?) {
        // Handlers of the caller's hang on them: released after the lock.
        var before: Observers?
        storage.write("changes(deliverOn:)") { state in
            before = state.observers
            state.observers = body(before)
        }
        withExtendedLifetime(before) {}
    }
}
