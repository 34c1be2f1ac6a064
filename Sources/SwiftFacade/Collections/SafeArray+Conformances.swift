// SPDX-License-Identifier: Apache-2.0
//
// What an Array conforms to and a shared one can too. Each works on one snapshot, so that it sees one
// state, and foreign code (elements' ==, hash(into:), encode(to:), description) runs outside the lock.

extension SafeArray: ExpressibleByArrayLiteral {
    /// An array of the elements of the literal.
    @inlinable
    public convenience init(arrayLiteral elements: Element...) {
        self.init(elements)
    }
}

/// Iterating goes over a snapshot taken at the start: changes made meanwhile are not seen, and the first
/// of them copies the storage.
extension SafeArray: Sequence {
    /// An iterator over a snapshot.
    @inlinable
    public func makeIterator() -> IndexingIterator<[Element]> {
        snapshot.makeIterator()
    }

    /// The count as it is now.
    @inlinable
    public var underestimatedCount: Int {
        count
    }
}

/// Equal if the elements are, each array at one moment, which need not be the same one.
extension SafeArray: Equatable where Element: Equatable {
    /// Whether the elements of two snapshots are equal.
    @inlinable
    public static func == (left: SafeArray, right: SafeArray) -> Bool {
        left === right || left.snapshot == right.snapshot
    }
}

/// Hashes the elements. An array that changes while it is a key or in a set is not found there again: the
/// same warning as for every reference with a hash of its contents.
extension SafeArray: Hashable where Element: Hashable {
    /// Hashes the elements of a snapshot.
    @inlinable
    public func hash(into hasher: inout Hasher) {
        hasher.combine(snapshot)
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
    /// The elements of a snapshot, as debuggers and `dump` show an `Array`.
    public var customMirror: Mirror {
        Mirror(self, unlabeledChildren: snapshot, displayStyle: .collection)
    }
}
