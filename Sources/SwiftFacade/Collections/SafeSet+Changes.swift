// SPDX-License-Identifier: Apache-2.0
//
// Announcing changes of members: as SafeArray+Changes, member by member.

import Dispatch

extension SafeSet {
    /// One change of the members. Applied in order to a snapshot taken when the subscription began, the changes give
    /// the members at every later moment.
    public enum Change: Hashable {
        /// A member was inserted.
        case insertion(Element)
        /// A member was removed.
        case removal(Element)
    }
}

extension SafeSet.Change: Sendable where Element: Sendable {}

extension SafeSet where Element: Sendable {
    /// Announces every change from now on, in order, by calling `handler` on `queue`;
    /// ``SafeArray/changes(deliverOn:_:)``.
    ///
    /// - Returns: The subscription. The announcements end when it is cancelled or released, on any thread and in any
    ///   closure.
    public func changes(
        deliverOn queue: DispatchQueue = .main,
        _ handler: @escaping @Sendable (Change) -> Void
    ) -> ChangeSubscription {
        subscribe(queue, handler)
    }

    /// Every change from now on, in order, as an asynchronous sequence. It ends when the task is cancelled, and, after
    /// the last change, when the set is gone. It also ends when the loop and the sequence are left. Consumers and
    /// memory: as ``SafeArray/changesSequence``.
    public var changesSequence: AsyncStream<Change> {
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
