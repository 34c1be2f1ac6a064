// SPDX-License-Identifier: Apache-2.0
//
// Set's changing verbs. Each is one atomic step.

extension SafeSet {
    /// Inserts `member` if no equal one is there. O(1) on average.
    ///
    /// - Returns: Whether it was inserted, and the member in the set now.
    @inlinable
    @discardableResult
    public func insert(_ member: consuming Element) -> (inserted: Bool, memberAfterInsert: Element) {
        let member = member
        // If not inserted, released after the lock.
        defer { withExtendedLifetime(member) {} }
        return change("insert") { members, observers in
            let result = members.insert(member)
            if result.inserted { observers?.record(.insertion(member)) }
            return result
        }
    }

    /// Inserts `member`, and returns the equal one that it replaces, or `nil`. O(1) on average. Observers receive a
    /// removal and an insertion.
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

    /// Removes and returns any member, or `nil` if there is none. Scans the storage, up to O(capacity): to empty a
    /// large set, use ``drain()``.
    @inlinable
    public func popFirst() -> Element? {
        change("popFirst") { members, observers in
            guard let removed = members.popFirst() else { return nil }
            observers?.record(.removal(removed))
            return removed
        }
    }

    /// Removes and returns any member. Scans the storage, up to O(capacity): to empty a large set, use ``drain()``.
    ///
    /// - Precondition: The set is not empty; otherwise it is reported and the process ends. Where another thread may
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

    /// Inserts the elements of a sequence. O(length of the sequence) on average.
    @inlinable
    public func formUnion(_ others: some Sequence<Element>) {
        let others = Array(others)
        changeWhole("formUnion") { $0.formUnion(others) }
        // Holds duplicates of members.
        withExtendedLifetime(others) {}
    }

    /// Removes the elements of a sequence. O(length of the sequence) on average.
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

    /// Keeps only the members that are also in a sequence. O(*n* + length of the sequence) on average.
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

    /// Removes the members that are also in a sequence, and inserts its other elements. O(length of the sequence) on
    /// average.
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

    /// Replaces all members and returns the previous ones. O(1) without observers.
    @inlinable
    @discardableResult
    public func replaceAll(with newMembers: Set<Element>) -> Set<Element> {
        changeWhole("replaceAll(with:)") { members in
            let before = members
            members = newMembers
            return before
        }
    }

    /// Removes the members that satisfy `predicate`. O(*n*).
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

    /// Removes all members, which are released after the lock. O(*n*).
    ///
    /// - Parameter keepingCapacity: Whether as many members fit afterwards without growing. Members that hold
    ///   references get new storage for that.
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
}
