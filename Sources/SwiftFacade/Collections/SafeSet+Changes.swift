// SPDX-License-Identifier: Apache-2.0
//
// Announcing changes of members: as SafeArray+Changes, member by member.

import Dispatch

extension SafeSet {
    /// One change of the members.
    public enum Change: Hashable {
        /// A member came.
        case insertion(Element)
        /// A member went.
        case removal(Element)
    }
}

extension SafeSet.Change: Sendable where Element: Sendable {}

extension SafeSet where Element: Sendable {
    /// Announces every change from now on, in order, by calling `handler` on `queue`; as
    /// ``SafeArray/changes(deliverOn:_:)`` does.
    ///
    /// - Returns: The subscription; the announcements end when it is cancelled or released, which may be done anywhere.
    public func changes(
        deliverOn queue: DispatchQueue = .main,
        _ handler: @escaping @Sendable (Change) -> Void
    ) -> ChangeSubscription {
        subscribe(queue, handler)
    }

    /// Every change from now on, in order, as an asynchronous sequence. It ends when the task is cancelled, and, after
    /// the last change, when the set is gone; leaving the loop and the sequence ends it too.
    ///
    /// Writers keep each change and wake the consumer. Comparing and delivering are done by the consumer, so that no
    /// writer works for another. Each change goes to one consumer of a sequence; take a sequence for each consumer that
    /// wants all of them. Changes are kept until they are asked for: a consumer that is always slower than the writers
    /// needs more and more memory.
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
