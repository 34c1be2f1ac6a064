// SPDX-License-Identifier: Apache-2.0
//
// The conformances of Set that a shared one can have, as SafeArray's.

extension SafeSet: ExpressibleByArrayLiteral {
    /// A set of the members of the literal.
    @inlinable
    public convenience init(arrayLiteral elements: Element...) {
        self.init(elements)
    }
}

/// Iterates over a snapshot taken at the start.
extension SafeSet: Sequence {
    /// An iterator over a ``snapshot``. What would ask for a count in advance, such as `map`, grows as it goes:
    /// `set.snapshot.map` does not.
    @inlinable
    public func makeIterator() -> Set<Element>.Iterator {
        snapshot.makeIterator()
    }

    /// A copy of the ``snapshot``, for `Array(set)` and what begins with it.
    @inlinable
    public func _copyToContiguousArray() -> ContiguousArray<Element> {
        ContiguousArray(snapshot)
    }
}

extension SafeSet: Encodable where Element: Encodable {
    /// Encodes a snapshot, as a `Set` encodes.
    public func encode(to encoder: any Encoder) throws {
        try snapshot.encode(to: encoder)
    }
}

extension SafeSet: Decodable where Element: Decodable {
    /// Decodes what a `Set` or a ``SafeSet`` encoded.
    public convenience init(from decoder: any Decoder) throws {
        self.init(try Set<Element>(from: decoder))
    }
}

extension SafeSet: CustomStringConvertible, CustomDebugStringConvertible {
    /// The members as a `Set` prints them.
    public var description: String {
        snapshot.description
    }

    /// The type and the members.
    public var debugDescription: String {
        "SafeSet(\(Array(snapshot).debugDescription))"
    }
}

extension SafeSet: CustomReflectable {
    /// A snapshot, as debuggers and `dump` show a `Set`.
    public var customMirror: Mirror {
        Mirror(self, unlabeledChildren: snapshot, displayStyle: .set)
    }
}
