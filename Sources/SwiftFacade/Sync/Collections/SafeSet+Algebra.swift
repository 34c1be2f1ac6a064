// SPDX-License-Identifier: Apache-2.0
//
// Set's questions, and members chosen. Each works on one snapshot, outside the lock: iterating the other side is
// foreign code, and it may be this set.

extension SafeSet {
    // MARK: Choosing

    /// The members that satisfy `isIncluded`. O(*n*).
    @inlinable
    public func filter(_ isIncluded: (Element) throws -> Bool) rethrows -> Set<Element> {
        try snapshot.filter(isIncluded)
    }

    /// A member chosen at random, or `nil` if there is none. O(*n*).
    @inlinable
    public func randomElement() -> Element? {
        snapshot.randomElement()
    }

    // MARK: Comparing

    /// Whether every member is also in a sequence. O(*n* + length of the sequence) on average.
    @inlinable
    public func isSubset(of others: some Sequence<Element>) -> Bool {
        snapshot.isSubset(of: others)
    }

    /// Whether every element of a sequence is a member. O(length of the sequence) on average.
    @inlinable
    public func isSuperset(of others: some Sequence<Element>) -> Bool {
        snapshot.isSuperset(of: others)
    }

    /// Whether every member is also in a sequence, which has further elements. O(*n* + length of the sequence).
    @inlinable
    public func isStrictSubset(of others: some Sequence<Element>) -> Bool {
        snapshot.isStrictSubset(of: others)
    }

    /// Whether every element of a sequence is a member, and there are further ones. O(*n* + length of the sequence).
    @inlinable
    public func isStrictSuperset(of others: some Sequence<Element>) -> Bool {
        snapshot.isStrictSuperset(of: others)
    }

    /// Whether no member is in a sequence. O(length of the sequence) on average.
    @inlinable
    public func isDisjoint(with others: some Sequence<Element>) -> Bool {
        snapshot.isDisjoint(with: others)
    }
}
