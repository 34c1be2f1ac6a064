// SPDX-License-Identifier: Apache-2.0
//
// How announcements get from the writer to a handler on a queue; ChangeFeed has the form for tasks.
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
// Order: changes are posted under the collection's write lock, and one job at a time delivers, also on a concurrent
// queue. Visibility: a handler called before the writer has unlocked waits for that when it reads the collection. This
// file does not take the collection's lock, so a subscription can end anywhere, also inside the collection's closures.

/// The announcements that a handler has not received yet.
package final class ChangeMailbox<Change: Sendable>: ChangeListener {
    /// Has a closure run later, outside the caller.
    package typealias Submit = @Sendable (@escaping @Sendable () -> Void) -> Void

    private struct State {
        var pending: [Change] = []
        var isDelivering = false
        /// `nil` once the subscription has ended.
        var handler: (@Sendable (Change) -> Void)?
    }

    private let state: ReadWriteLock<State>
    private let submit: Submit
    /// What is announced of a change: see ``ChangeSource/announcement(of:)``.
    private let select: @Sendable (Change) -> Change?

    init(
        submit: @escaping Submit,
        select: @escaping @Sendable (Change) -> Change?,
        handler: @escaping @Sendable (Change) -> Void
    ) {
        state = ReadWriteLock(unwatched: State(handler: handler))
        self.submit = submit
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
            submitDelivery()
        }
    }

    func cancel() {
        // Released outside the lock: elements and handlers may call the collection in their deinit.
        let ended = state.withWriteLock { state in
            let ended = state
            state.pending = []
            state.handler = nil
            return ended
        }
        withExtendedLifetime(ended) {}
    }

    private func submitDelivery() {
        submit { self.deliver() }
    }

    /// One batch a job, so that a busy collection leaves the queue to other jobs.
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
            submitDelivery()
        }
    }
}
