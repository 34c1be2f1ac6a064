// SPDX-License-Identifier: Apache-2.0
//
// The conformances of Dictionary that a shared one can have, as SafeArray's.

extension SafeDictionary: ExpressibleByDictionaryLiteral {
    /// A dictionary of the literal's entries.
    ///
    /// - Precondition: No key comes twice; a duplicate is reported and ends the process.
    @inlinable
    public convenience init(dictionaryLiteral elements: (Key, Value)...) {
        self.init(Self.unique(elements, "init(dictionaryLiteral:)"))
    }
}

/// Iterates over a snapshot taken at the start.
extension SafeDictionary: Sequence {
    /// An iterator over a ``snapshot``. What would ask for a count in advance, such as `map`, grows as it goes:
    /// `dictionary.snapshot.map` does not.
    @inlinable
    public func makeIterator() -> Dictionary<Key, Value>.Iterator {
        snapshot.makeIterator()
    }

    /// A copy of the ``snapshot``, for `Array(dictionary)` and what begins with it.
    @inlinable
    public func _copyToContiguousArray() -> ContiguousArray<(key: Key, value: Value)> {
        ContiguousArray(snapshot)
    }
}

extension SafeDictionary: Encodable where Key: Encodable, Value: Encodable {
    /// Encodes a snapshot, as a `Dictionary` encodes.
    public func encode(to encoder: any Encoder) throws {
        // The encoder must meet the Dictionary: JSONEncoder converts the keys of other types.
        var container = encoder.singleValueContainer()
        try container.encode(snapshot)
    }
}

extension SafeDictionary: Decodable where Key: Decodable, Value: Decodable {
    /// Decodes what a `Dictionary` or a ``SafeDictionary`` encoded.
    public convenience init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode([Key: Value].self))
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
    /// A snapshot, as debuggers and `dump` show a `Dictionary`.
    public var customMirror: Mirror {
        Mirror(
            self,
            unlabeledChildren: snapshot.map { (key: $0.key, value: $0.value) },
            displayStyle: .dictionary
        )
    }
}
