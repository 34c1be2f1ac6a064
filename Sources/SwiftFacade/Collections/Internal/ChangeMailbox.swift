// SPDX-License-Identifier: Apache-2.0
//
// How announcements get from the thread that changed a collection to a handler on a queue. ChangeFeed has the other
// form, for a task that asks for them.
//
//   writer                        mailbox                       a job of the queue
//   changes under the lock
//   post(change)          ──▶     pending += change
//   gives up the lock
//   announce()            ──▶     delivering? no: yes now  ──▶  submitted
//                                 pending taken            ◀──  deliver()
//                                                               handler(change) … outside every lock
//                                 empty: delivering = no   ◀──  deliver()
//
// Order: changes are posted under the collection's write lock, so `pending` is in the order of the changes. One job at
// a time delivers, so handlers run in that order on any queue, concurrent ones too. Visibility: a change is posted at
// the end of its writer's section. A handler that is called before the writer has given up the lock waits for that when
// it reads the collection, so it reads the change. This file never takes the collection's lock, so a subscription can
// end anywhere, also inside the collection's closures.

import Dispatch

/// The announcements that one handler has not received yet.
final class ChangeMailbox<Change: Sendable>: ChangeListener {
    private struct State {
        var pending: [Change] = []
        var isDelivering = false
        /// `nil` once the subscription has ended.
        var handler: (@Sendable (Change) -> Void)?
    }

    private let state: ReadWriteLock<State>
    private let queue: DispatchQueue
    /// The change as it is announced, or `nil` if it is not.
    private let select: @Sendable (Change) -> Change?

    init(
        queue: DispatchQueue,
        select: @escaping @Sendable (Change) -> Change?,
        handler: @escaping @Sendable (Change) -> Void
    ) {
        state = ReadWriteLock(State(handler: handler))
        self.queue = queue
        self.select = select
    }

    var isCancelled: Bool {
        state.withReadLock { $0.handler == nil }
    }

    func post(_ change: Change) {
        state.withWriteLock { state in
            if state.handler != nil {
                state.pending.append(change)
            }
        }
    }

    func announce() {
        let begins = state.withWriteLock { state in
            guard !state.isDelivering, !state.pending.isEmpty else { return false }
            state.isDelivering = true
            return true
        }
        if begins {
            submit()
        }
    }

    func cancel() {
        // Emptied under the lock and released outside: elements and handlers may call the collection in their deinit.
        let ended = state.withWriteLock { state in
            let ended = state
            state.pending = []
            state.handler = nil
            return ended
        }
        withExtendedLifetime(ended) {}
    }

    private func submit() {
        queue.async { self.deliver() }
    }

    /// Delivers one batch a job, so that a busy collection leaves the queue to other jobs.
    private func deliver() {
        let batch = state.withWriteLock { state in
            let batch = state.pending
            state.pending = []
            state.isDelivering = !batch.isEmpty
            return batch
        }
        for change in batch {
            guard let worth = select(change) else { continue }
            guard let handler = state.withReadLock({ $0.handler }) else { break }
            handler(worth)
        }
        if !batch.isEmpty {
            submit()
        }
    }
}
