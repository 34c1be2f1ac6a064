// SPDX-License-Identifier: Apache-2.0
//
// How announcements get from the thread that changed a collection to the one that wants to hear of it.
//
//   writer                        mailbox                       delivery (a queue, or the writer)
//   changes under the lock
//   post(change)          ──▶     pending += change
//   gives up the lock
//   beginDelivery()       ──▶     delivering? no: yes now  ──▶  a job
//                                                               passes through the lock for reading
//                                 pending taken            ◀──  takeBatch()
//                                                               handler(change) … outside every lock
//                                 empty: delivering = no   ◀──  takeBatch()
//
// Order: changes are posted under the collection's write lock, so pending is in the order of the changes;
// one job at a time delivers, so handlers run in that order on any queue, concurrent ones too.
// Visibility: the batch is taken under the collection's lock held for reading, so a change is announced
// only after its writer has given up the lock and everyone can see it.

import Dispatch

/// The announcements one subscriber has not heard yet.
final class ChangeMailbox<Change: Sendable>: Sendable {
    private struct State {
        var pending: [Change] = []
        var isDelivering = false
        var isCancelled = false
    }

    private let state = ReadWriteLock(State())
    private let handler: @Sendable (Change) -> Void
    /// Where handlers run; without one, on the thread that changed the collection.
    let queue: DispatchQueue?

    init(queue: DispatchQueue?, handler: @escaping @Sendable (Change) -> Void) {
        self.queue = queue
        self.handler = handler
    }

    func post(_ change: Change) {
        state.withWriteLock { state in
            if !state.isCancelled {
                state.pending.append(change)
            }
        }
    }

    /// Whether the caller is to start a delivery: something is pending and nobody is at it.
    func beginDelivery() -> Bool {
        state.withWriteLock { state in
            guard !state.isDelivering, !state.pending.isEmpty else { return false }
            state.isDelivering = true
            return true
        }
    }

    /// What is pending, or `nil` if nothing is: then the delivery is over.
    func takeBatch() -> [Change]? {
        state.withWriteLock { state in
            guard !state.pending.isEmpty else {
                state.isDelivering = false
                return nil
            }
            let batch = state.pending
            state.pending = []
            return batch
        }
    }

    /// Hands `batch` to the subscriber, as long as there is one.
    func deliver(_ batch: some Sequence<Change>) {
        for change in batch {
            guard !state.withReadLock({ $0.isCancelled }) else { return }
            handler(change)
        }
    }

    func cancel() {
        state.withWriteLock { state in
            state.isCancelled = true
            state.pending = []
        }
    }
}
