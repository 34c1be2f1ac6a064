// SPDX-License-Identifier: Apache-2.0
//
// Dictionaries made of a snapshot, outside the lock.

extension SafeDictionary {
    /// A dictionary with the values that `transform` makes of those here. O(*n*). Works on a ``snapshot``: `transform`
    /// may call this dictionary.
    @inlinable
    public func mapValues<T>(_ transform: (Value) throws -> T) rethrows -> [Key: T] {
        try snapshot.mapValues(transform)
    }

    /// A dictionary with the values that `transform` makes of those here, without the entries for which it gives `nil`.
    /// O(*n*). Works on a ``snapshot``: `transform` may call this dictionary.
    @inlinable
    public func compactMapValues<T>(_ transform: (Value) throws -> T?) rethrows -> [Key: T] {
        try snapshot.compactMapValues(transform)
    }

    /// The entries that satisfy `isIncluded`. O(*n*). Works on a ``snapshot``, outside the lock.
    @inlinable
    public func filter(_ isIncluded: ((key: Key, value: Value)) throws -> Bool) rethrows -> [Key: Value] {
        try snapshot.filter(isIncluded)
    }

    /// The entries of this dictionary and of `others`; where a key is in both, `combine` chooses. O(*n* + length of the
    /// sequence). Works on a ``snapshot``, outside the lock.
    @inlinable
    public func merging(
        _ others: some Sequence<(Key, Value)>,
        uniquingKeysWith combine: (Value, Value) throws -> Value
    ) rethrows -> [Key: Value] {
        try snapshot.merging(others, uniquingKeysWith: combine)
    }

    /// The entries of this dictionary and of `others`; where a key is in both, `combine` chooses. O(*n* + entries of
    /// `others`). Works on a ``snapshot``, outside the lock.
    @inlinable
    public func merging(
        _ others: [Key: Value],
        uniquingKeysWith combine: (Value, Value) throws -> Value
    ) rethrows -> [Key: Value] {
        try snapshot.merging(others, uniquingKeysWith: combine)
    }
}
