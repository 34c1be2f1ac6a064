// SPDX-License-Identifier: Apache-2.0
//
// What a Dictionary conforms to and a shared one can too. Each works on one snapshot.

extension SafeDictionary: ExpressibleByDictionaryLiteral {
    /// A dictionary of the entries of the literal.
    ///
    /// - Precondition: No key comes twice. One that does is reported and ends the process.
    @inlinable
    public convenience init(dictionaryLiteral elements: (Key, Value)...) {
        self.init(Self.unique(elements, "init(dictionaryLiteral:)"))
    }
}

/// Iterating goes over a snapshot taken at the start: changes made meanwhile are not seen, and the first of
/// them copies the storage.
extension SafeDictionary: Sequence {
    /// An iterator over a snapshot.
    @inlinable
    public func makeIterator() -> Dictionary<Key, Value>.Iterator {
        snapshot.makeIterator()
    }

    /// The count as it is now.
    @inlinable
    public var underestimatedCount: Int {
        count
    }
}

/// Equal if the entries are, each dictionary at one moment, which need not be the same one.
extension SafeDictionary: Equatable where Value: Equatable {
    /// Whether two snapshots are equal.
    @inlinable
    public static func == (left: SafeDictionary, right: SafeDictionary) -> Bool {
        left === right || left.snapshot == right.snapshot
    }
}

/// Hashes the entries; see the warning at `SafeArray`'s conformance.
extension SafeDictionary: Hashable where Value: Hashable {
    /// Hashes a snapshot.
    @inlinable
    public func hash(into hasher: inout Hasher) {
        hasher.combine(snapshot)
    }
}

extension SafeDictionary: Encodable where Key: Encodable, Value: Encodable {
    /// Encodes a snapshot, as a `Dictionary` encodes.
    public func encode(to encoder: any Encoder) throws {
        try snapshot.encode(to: encoder)
    }
}

extension SafeDictionary: Decodable where Key: Decodable, Value: Decodable {
    /// Decodes what a `Dictionary` or a ``SafeDictionary`` encoded.
    public convenience init(from decoder: any Decoder) throws {
        self.init(try [Key: Value](from: decoder))
    }
}

extension SafeDictionary: CustomStringConvertible, CustomDebugStringConvertible {
    /// The entries as a `Dictionary` prints them.
    public var description: String {
        snapshot.description
    }

    /// The type and the entries.
    public var debugDescription: String {
        "SafeDictionary(\(snapshot.debugDescription))"
    }
}

extension SafeDictionary: CustomReflectable {
    /// The entries of a snapshot, as debuggers and `dump` show a `Dictionary`.
    public var customMirror: Mirror {
        Mirror(
            self,
            unlabeledChildren: snapshot.map { (key: $0.key, value: $0.value) },
            displayStyle: .dictionary
        )
    }
}
