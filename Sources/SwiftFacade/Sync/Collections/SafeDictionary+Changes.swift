// SPDX-License-Identifier: Apache-2.0
//
// Announcing changes of entries: as SafeArray+Changes, entry by entry.

extension SafeDictionary {
    /// One change of one entry. Applied in order to a snapshot taken when the subscription began, the changes give the
    /// contents at every later moment.
    public enum Change {
        /// A value was set where there was none.
        case insertion(key: Key, value: Value)
        /// A value was removed.
        case removal(key: Key, value: Value)
        /// A value was replaced.
        case replacement(key: Key, old: Value, new: Value)

        /// Makes the change. O(1) on average.
        public func apply(to entries: inout [Key: Value]) {
            switch self {
            case .insertion(let key, let value): entries[key] = value
            case .removal(let key, _): entries[key] = nil
            case .replacement(let key, _, let new): entries[key] = new
            }
        }
    }
}

extension SafeDictionary.Change: Sendable where Key: Sendable, Value: Sendable {}
extension SafeDictionary.Change: Equatable where Value: Equatable {}
extension SafeDictionary.Change: Hashable where Value: Hashable {}

extension SafeDictionary where Key: Sendable, Value: Sendable {
    /// Every change from now on, in order, as an asynchronous sequence; each call begins one. It ends when the loop and
    /// the sequence are left, and, after the last change, when the dictionary is gone. A consumer whose task is
    /// cancelled ends alone. `changes(deliverOn:_:)` of `InterlockOperations` delivers on a dispatch queue instead.
    ///
    /// Writers keep each change and wake the consumer, which compares and delivers. Each change goes to one consumer of
    /// a sequence: take a sequence for each that wants all. Changes are kept until asked for, while the sequence is
    /// there: a consumer slower than the writers, or none, needs more and more memory.
    public func changes() -> ChangesSequence<Change> {
        makeChangesSequence()
    }
}

extension SafeDictionary: ChangeSource {
    package static func announcement(of change: Change) -> Change? {
        guard case .replacement(_, let old, let new) = change, areKnownEqual(old, new) else { return change }
        return nil
    }

    package func updateObservers(_ body: (Observers?) -> Observers?) {
        storage.updateObservers(body)
    }
}

extension ChangeObservers {
    /// Records what happened to one entry, if anything did.
    @usableFromInline
    func record<Key, Value>(from old: Value?, to new: Value?, forKey key: Key)
    where Change == SafeDictionary<Key, Value>.Change {
        switch (old, new) {
        case (nil, nil): break
        case (nil, let new?): record(.insertion(key: key, value: new))
        case (let old?, nil): record(.removal(key: key, value: old))
        case (let old?, let new?): record(.replacement(key: key, old: old, new: new))
        }
    }

    /// Records what happened to each entry.
    @usableFromInline
    func record<Key, Value>(from old: [Key: Value], to new: [Key: Value])
    where Change == SafeDictionary<Key, Value>.Change {
        for (key, value) in old {
            record(from: value, to: new[key], forKey: key)
        }
        for (key, value) in new where old.index(forKey: key) == nil {
            record(from: nil, to: value, forKey: key)
        }
    }
}
