// SPDX-License-Identifier: Apache-2.0
//
// Dictionaries of the caller's own, made of the whole as it is at one moment.

extension SafeDictionary {
    /// A dictionary of the caller's own with the values that `transform` makes of those here. O(*n*). Works on a
    /// ``snapshot``, outside the lock: `transform` may call this dictionary.
    @inlinable
    public func mapValues<T>(_ transform: (Value) throws -> T) rethrows -> [Key: T] {
        try snapshot.mapValues(transform)
    }

    /// As ``mapValues(_:)``, without the entries for which `transform` gives `nil`. O(*n*).
    @inlinable
    public func compactMapValues<T>(_ transform: (Value) throws -> T?) rethrows -> [Key: T] {
        try snapshot.compactMapValues(transform)
    }

    /// The entries that satisfy `isIncluded`, as a dictionary of the caller's own. O(*n*). Works on a ``snapshot``,
    /// outside the lock.
    @inlinable
    public func filter(_ isIncluded: ((key: Key, value: Value)) throws -> Bool) rethrows -> [Key: Value] {
        try snapshot.filter(isIncluded)
    }

    /// The entries of this dictionary and of `others`, as a dictionary of the caller's own; where a key is in both,
    /// `combine` chooses. O(*n* + length of the sequence). Works on a ``snapshot``, outside the lock.
    @inlinable
    public func merging(
        _ others: some Sequence<(Key, Value)>,
        uniquingKeysWith combine: (Value, Value) throws -> Value
    ) rethrows -> [Key: Value] {
        try snapshot.merging(others, uniquingKeysWith: combine)
    }

    /// The entries of this dictionary and of another, as ``merging(_:uniquingKeysWith:)-(Sequence<(Key,Value)>,_)``.
    @inlinable
    public func merging(
        _ others: [Key: Value],
        uniquingKeysWith combine: (Value, Value) throws -> Value
    ) rethrows -> [Key: Value] {
        try snapshot.merging(others, uniquingKeysWith: combine)
    }
}
