// SPDX-License-Identifier: Apache-2.0
//
// Announcing changes of members: as SafeArray+Changes, member by member.

extension SafeSet {
    /// One change of the members; applied in order as ``SafeArray/Change``.
    public enum Change: Hashable {
        /// A member was inserted.
        case insertion(Element)
        /// A member was removed.
        case removal(Element)
    }
}

extension SafeSet.Change: Sendable where Element: Sendable {}

extension SafeSet where Element: Sendable {
    /// Every change from now on, in order, as ``SafeArray/changesSequence``.
    public var changesSequence: ChangesSequence<Change> {
        makeChangesSequence()
    }
}

extension SafeSet: ChangeSource {
    package static func announcement(of change: Change) -> Change? {
        change
    }

    package func updateObservers(_ body: (Observers?) -> Observers?) {
        storage.updateObservers(body)
    }
}
