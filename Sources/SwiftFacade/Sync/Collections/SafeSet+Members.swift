// SPDX-License-Identifier: Apache-2.0
//
// Reading: single members, and their number.

extension SafeSet {
    /// The number of members now.
    @inlinable
    public var count: Int {
        storage.whileReading("count") { storage.state.contents.count }
    }

    /// Whether there are no members.
    @inlinable
    public var isEmpty: Bool {
        count == 0
    }

    /// Whether `member` is in the set now. O(1) on average.
    @inlinable
    public func contains(_ member: Element) -> Bool {
        storage.whileReading("contains") { storage.state.contents.contains(member) }
    }

    /// How many members fit before the storage grows.
    @inlinable
    public var capacity: Int {
        storage.whileReading("capacity") { storage.state.contents.capacity }
    }

    /// Any member, or `nil` if there is none. Scans the storage: up to O(capacity).
    @inlinable
    public var first: Element? {
        storage.whileReading("first") { storage.state.contents.first }
    }
}
