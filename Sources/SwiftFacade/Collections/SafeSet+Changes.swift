// SPDX-License-Identifier: Apache-2.0
//
// Announcing changes of members: as SafeArray+Changes, member by member.

import Dispatch

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
    /// Announces every change from now on, in order, as ``SafeArray/changes(deliverOn:_:)``.
    public func changes(
        deliverOn queue: DispatchQueue = .main,
        _ handler: @escaping @Sendable (Change) -> Void
    ) -> ChangeSubscription {
        subscribe(queue, handler)
    }

    /// Every change from now on, in order, as ``SafeArray/changesSequence``.
    public var changesSequence: ChangesSequence<Change> {
        makeChangesSequence()
    }
}

extension SafeSet: ChangeSource {
    static func announcement(of change: Change) -> Change? {
        change
    }

    func updateObservers(_ body: (Observers?) -> Observers?) {
        storage.updateObservers(body)
    }
}
