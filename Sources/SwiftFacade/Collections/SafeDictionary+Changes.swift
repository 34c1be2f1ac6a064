// SPDX-License-Identifier: Apache-2.0
//
// Announcing changes of entries: as SafeArray+Changes, entry by entry.

import Dispatch

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

        /// Makes the change to `entries`. O(1) on average.
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
    /// Announces every change from now on, in order, by calling `handler` on `queue`. Thread-safe; blocks as a write
    /// does; allocates.
    ///
    /// A change is announced outside the lock. It is visible to `handler`, which may read and change the dictionary.
    /// Handlers of one subscription run one at a time, also on a concurrent queue. The changes of ``withWriteLock(_:)``
    /// and of verbs for several entries are announced one by one, in no given order. Where values are `Equatable`, an
    /// entry that was set to an equal value is not announced.
    ///
    /// - Parameters:
    ///   - queue: Where to call. The main queue drains only in a program that runs it.
    ///   - handler: Called with each change.
    /// - Returns: The subscription. The announcements end when it is cancelled or released, on any thread and in any
    ///   closure.
    public func changes(
        deliverOn queue: DispatchQueue = .main,
        _ handler: @escaping @Sendable (Change) -> Void
    ) -> ChangeSubscription {
        subscribe(queue, handler)
    }

    /// Every change from now on, in order, as an asynchronous sequence. It ends when the task is cancelled, and, after
    /// the last change, when the dictionary is gone. It also ends when the loop and the sequence are left. Consumers
    /// and memory: as ``SafeArray/changesSequence``.
    public var changesSequence: AsyncStream<Change> {
        makeChangesSequence()
    }
}

extension SafeDictionary: ChangeSource {
    static func announcement(of change: Change) -> Change? {
        guard case .replacement(_, let old, let new) = change, areKnownEqual(old, new) else { return change }
        return nil
    }

    func updateObservers(_ body: (Observers?) -> Observers?) {
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
