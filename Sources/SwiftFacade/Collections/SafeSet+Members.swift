// SPDX-License-Identifier: Apache-2.0
//
// Single members, and their number, without a change.

extension SafeSet {
    /// The number of members. It may have changed when the caller uses it.
    @inlinable
    public var count: Int {
        let section = storage.lockForReading("count")
        defer { storage.unlockForReading(section) }
        return storage.state.contents.count
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
        return storage.state.contents.contains(member)
    }

    /// How many members fit before the storage grows.
    @inlinable
    public var capacity: Int {
        let section = storage.lockForReading("capacity")
        defer { storage.unlockForReading(section) }
        return storage.state.contents.capacity
    }

    /// Any member, or `nil` if there is none. O(1) on average.
    @inlinable
    public var first: Element? {
        let section = storage.lockForReading("first")
        defer { storage.unlockForReading(section) }
        return storage.state.contents.first
    }
}
