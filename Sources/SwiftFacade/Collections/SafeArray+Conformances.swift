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

/// Iterates over a snapshot taken at the start.
extension SafeArray: Sequence {
    /// An iterator over a snapshot.
    @inlinable
    public func makeIterator() -> IndexingIterator<[Element]> {
        snapshot.makeIterator()
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
