// SPDX-License-Identifier: Apache-2.0
//
// Who is told of a collection's changes, and the collection's side of telling them. How an announcement
// travels, and why it is in order and visible, stands in ChangeMailbox.swift.

import Dispatch

/// A collection that announces what happens to it.
// Sendability is asked of those who subscribe, not here: a conformance cannot depend on that of an element.
protocol ChangeSource: AnyObject {
    associatedtype Change

    /// Runs `body` when no change is in progress: every change recorded by now is visible.
    func whileSettled<Result>(_ body: () -> Result) -> Result

    /// The change as it is worth announcing, or `nil` if it is not. Outside the lock: it may compare
    /// elements.
    func announcement(of change: Change) -> Change?

    /// Changes who is told, under the lock.
    func updateObservers(_ body: (ChangeObservers<Self, Change>?) -> ChangeObservers<Self, Change>?)
}

/// Who is told of changes of an `Owner`. Immutable, so that it can be looked at under the lock and used after
/// it; subscribing makes a new one.
@usableFromInline
final class ChangeObservers<Owner: AnyObject, Change> {
    // Closures and not the mailbox: the owner has observers, none, also where its elements are not
    // Sendable and it cannot be subscribed to.
    fileprivate struct Subscriber {
        let id: ObjectIdentifier
        let post: (Change) -> Void
        let announce: (Owner) -> Void
    }

    fileprivate let subscribers: [Subscriber]

    fileprivate init(_ subscribers: [Subscriber]) {
        self.subscribers = subscribers
    }

    /// Notes a change for every subscriber. Under the lock, held for writing.
    @usableFromInline
    func record(_ change: Change) {
        for subscriber in subscribers {
            subscriber.post(change)
        }
    }

    /// Has what is noted delivered. After the lock has been given up.
    @usableFromInline
    func announce(_ owner: Owner) {
        for subscriber in subscribers {
            subscriber.announce(owner)
        }
    }
}

extension ChangeSource where Self: Sendable, Change: Sendable {
    /// Adds a subscriber; it is told of every change from now on.
    func subscribe(_ mailbox: ChangeMailbox<Change>) -> ChangeSubscription {
        let id = ObjectIdentifier(mailbox)
        updateObservers { observers in
            let subscriber = ChangeObservers<Self, Change>.Subscriber(
                id: id,
                post: { mailbox.post($0) },
                announce: { $0.deliver(to: mailbox) }
            )
            return ChangeObservers((observers?.subscribers ?? []) + [subscriber])
        }
        return ChangeSubscription { [weak self] in
            mailbox.cancel()
            self?.updateObservers { observers in
                let others = (observers?.subscribers ?? []).filter { $0.id != id }
                return others.isEmpty ? nil : ChangeObservers(others)
            }
        }
    }

    /// Every change from now on as a sequence that ends with its consumer.
    func makeChangesSequence() -> AsyncStream<Change> {
        AsyncStream { continuation in
            // Yielding runs nobody's code and does not wait, so the writer does it itself, after the lock.
            let subscription = subscribe(ChangeMailbox(queue: nil) { continuation.yield($0) })
            continuation.onTermination = { _ in subscription.cancel() }
        }
    }

    private func deliver(to mailbox: ChangeMailbox<Change>) {
        guard mailbox.beginDelivery() else { return }
        if let queue = mailbox.queue {
            queue.async { self.deliver(to: mailbox, on: queue) }
        } else {
            while deliverBatch(to: mailbox) {}
        }
    }

    /// One batch a job, so that a busy collection does not keep the queue from others.
    private func deliver(to mailbox: ChangeMailbox<Change>, on queue: DispatchQueue) {
        if deliverBatch(to: mailbox) {
            queue.async { self.deliver(to: mailbox, on: queue) }
        }
    }

    /// Delivers what is pending; false when nothing was.
    private func deliverBatch(to mailbox: ChangeMailbox<Change>) -> Bool {
        guard let batch = whileSettled({ mailbox.takeBatch() }) else { return false }
        mailbox.deliver(batch.lazy.compactMap { self.announcement(of: $0) })
        return true
    }
}

/// Whether two values are equal, as far as it can be told: false for values that are not `Equatable`. Whether they
/// are is asked at run time, so that collections announce alike whatever is known where they are used.
func areKnownEqual<Value>(_ left: Value, _ right: Value) -> Bool {
    func compare<Known: Equatable>(_ left: Known) -> Bool { left == right as? Known }
    guard let left = left as? any Equatable else { return false }
    return compare(left)
}
