// SPDX-License-Identifier: Apache-2.0
//
// Announcing changes of members: as SafeArray+Changes, member by member.

extension SafeSet {
    /// One change of the members. Applied in order to a snapshot taken when the subscription began, the changes give
    /// the contents at every later moment.
    public enum Change: Hashable {
        /// A member was inserted.
        case insertion(Element)
        /// A member was removed.
        case removal(Element)
    }
}

extension SafeSet.Change: Sendable where Element: Sendable {}

extension SafeSet where Element: Sendable {
    /// Every change from now on, in order, as an asynchronous sequence; each call begins one. It ends when the loop and
    /// the sequence are left, and, after the last change, when the set is gone. A consumer whose task is cancelled ends
    /// alone. `changes(deliverOn:_:)` of `InterlockOperations` delivers on a dispatch queue instead.
    ///
    /// Writers keep each change and wake the consumer, which compares and delivers. Each change goes to one consumer of
    /// a sequence: take a sequence for each that wants all. Changes are kept until asked for, while the sequence is
    /// there: a consumer slower than the writers, or none, needs more and more memory.
    public func changes() -> ChangesSequence<Change> {
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
