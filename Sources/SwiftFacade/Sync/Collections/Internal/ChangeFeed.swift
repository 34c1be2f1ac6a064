// SPDX-License-Identifier: Apache-2.0
//
// How announcements get from the writer to a task that asks for them, one at a time.
//
//   writer                        feed                          consumer
//   changes under the lock
//   post(change)          ──▶     pending += change
//   gives up the lock                                           next(): none there, joins the queue
//   announce()            ──▶     empties the queue        ──▶  resumed: takes one, compares, returns it
//
// Order and visibility: as ChangeMailbox. No wake-up is lost: a consumer joins the queue under its lock, having found
// no change; a writer posts before it empties the queue under that lock.

/// The announcements that no consumer of a sequence has asked for yet.
final class ChangeFeed<Change: Sendable>: ChangeListener {
    private struct State {
        /// In order: `outgoing` from `taken` on, then `pending`. Taken places are `nil`, so that no element is released
        /// under the lock.
        var outgoing: [Change?] = []
        var taken = 0
        var pending: [Change?] = []
        var isCancelled = false
        /// The collection is gone.
        var isComplete = false

        var isEmpty: Bool { taken == outgoing.count && pending.isEmpty }

        mutating func takeFirst() -> Change? {
            if taken == outgoing.count {
                outgoing = pending
                pending = []
                taken = 0
            }
            guard taken < outgoing.count else { return nil }
            defer { taken += 1 }
            return outgoing[taken].take()
        }
    }

    private let state = ReadWriteLock(unwatched: State())
    private let queue = WaitQueue()
    /// What is announced of a change: see ``ChangeSource/announcement(of:)``.
    private let select: @Sendable (Change) -> Change?

    init(select: @escaping @Sendable (Change) -> Change?) {
        self.select = select
    }

    var isCancelled: Bool {
        state.withReadLock { $0.isCancelled }
    }

    func post(_ change: Change) {
        state.withWriteLock { state in
            if !state.isCancelled {
                state.pending.append(change)
            }
        }
    }

    func announce() {
        queue.resumeAll()
    }

    func cancel() {
        // Released outside the lock, as in ChangeMailbox.
        let ended = state.withWriteLock { state in
            let ended = state
            state = State()
            state.isCancelled = true
            return ended
        }
        withExtendedLifetime(ended) {}
        announce()
    }

    /// The collection is gone; the kept changes can still be asked for.
    func complete() {
        state.withWriteLock { $0.isComplete = true }
        announce()
    }

    /// The next change to announce; suspends until there is one. `nil` when the subscription has ended, the collection
    /// is gone and its changes are delivered, or the task is cancelled, which leaves the changes to other tasks.
    func next() async -> Change? {
        while !Task.isCancelled {
            let (change, isOver) = state.withWriteLock { state in
                (state.takeFirst(), state.isCancelled || state.isComplete)
            }
            if let change {
                if let worth = select(change) { return worth }
            } else if isOver {
                return nil
            } else if await queue.suspend(admit: { self.hasNews }) == .cancelled {
                return nil
            }
        }
        return nil
    }

    private var hasNews: Bool {
        state.withReadLock { !$0.isEmpty || $0.isCancelled || $0.isComplete }
    }
}
