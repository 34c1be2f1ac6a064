// SPDX-License-Identifier: Apache-2.0
//
// The conformances of Array that a shared array can have. Each works on one snapshot, outside the lock.
//
// Not Equatable nor Hashable: the contents change.

extension SafeArray: ExpressibleByArrayLiteral {
    /// An array of the elements of the literal.
    @inlinable
    public convenience init(arrayLiteral elements: Element...) {
        self.init(elements)
    }
}

// A caller that asks twice meets two states. So every requirement answers from a snapshot of its own, and none promises
// anything for the next: no `underestimatedCount`.

/// Iterates over a snapshot taken at the start.
extension SafeArray: Sequence {
    /// An iterator over a ``snapshot``.
    ///
    /// `Array(array)` is the snapshot itself, and `sorted()` and the like begin with it. What would ask for a count in
    /// advance, such as `map` and `Set(array)`, grows as it goes: `array.snapshot.map` does not.
    @inlinable
    public func makeIterator() -> IndexingIterator<[Element]> {
        snapshot.makeIterator()
    }

    // Its default grows as it goes, without a count. swift-collections' Deque meets this requirement of Sequence too.
    /// The ``snapshot``, for `Array(array)` and what begins with it.
    @inlinable
    public func _copyToContiguousArray() -> ContiguousArray<Element> {
        ContiguousArray(snapshot)
    }
}

extension SafeArray: Encodable where Element: Encodable {
    /// Encodes a snapshot, as an `Array` encodes.
    public func encode(to encoder: any Encoder) throws {
        try snapshot.encode(to: encoder)
    }
}

extension SafeArray: Decodable where Element: Decodable {
    /// Decodes what an `Array` or a ``SafeArray`` encoded.
    public convenience init(from decoder: any Decoder) throws {
        self.init(try [Element](from: decoder))
    }
}

extension SafeArray: CustomStringConvertible, CustomDebugStringConvertible {
    /// The elements as an `Array` prints them.
    public var description: String {
        snapshot.description
    }

    /// The type and the elements.
    public var debugDescription: String {
        "SafeArray(\(snapshot.debugDescription))"
    }
}

extension SafeArray: CustomReflectable {
    /// A snapshot, as debuggers and `dump` show an `Array`.
    public var customMirror: Mirror {
        Mirror(self, unlabeledChildren: snapshot, displayStyle: .collection)
    }
}
