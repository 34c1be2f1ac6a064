// SPDX-License-Identifier: Apache-2.0
//
// The subscribers to a collection's changes, and the collection's side of notifying them. ChangeMailbox.swift and
// ChangeFeed.swift say how an announcement travels, and why it is in order and visible.
//
// A subscription ends in its listener alone. The collection's list, which its lock guards, still names the listener
// until the next writer or subscriber removes it. So ending a subscription takes no collection lock, and works where
// that lock is held.

import Dispatch

/// A collection that announces its changes.
// Sendability is asked of the subscribers, not here: a conformance cannot depend on that of an element.
protocol ChangeSource: AnyObject {
    associatedtype Change

    /// The change as it is announced, or `nil` if it is not. Outside the lock: it may compare elements.
    static func announcement(of change: Change) -> Change?

    /// Changes the list of subscribers, under the lock. The previous list is released after it.
    func updateObservers(_ body: (ChangeObservers<Self, Change>?) -> ChangeObservers<Self, Change>?)
}

/// The receiver of announcements.
protocol ChangeListener<Change>: AnyObject, Sendable {
    associatedtype Change: Sendable

    /// Whether the subscription has ended.
    var isCancelled: Bool { get }
    /// Keeps a change. Under the collection's lock, held for writing.
    func post(_ change: Change)
    /// Has the kept changes delivered. After the collection's lock has been given up.
    func announce()
    /// Ends the subscription. Takes no lock of the collection.
    func cancel()
}

/// The subscribers to changes of an `Owner`. Immutable, so that it can be taken under the lock and used after it;
/// subscribing makes a new list.
@usableFromInline
final class ChangeObservers<Owner: AnyObject, Change> {
    // Closures and not the listener: the owner has the type of an observer list also where its elements are not
    // Sendable and it cannot be subscribed to.
    fileprivate struct Subscriber {
        let isCancelled: () -> Bool
        let post: (Change) -> Void
        let announce: () -> Void
        /// Takes cancelled subscribers out of the owner's list.
        let sweep: (Owner) -> Void
    }

    fileprivate let subscribers: [Subscriber]

    fileprivate init(_ subscribers: [Subscriber]) {
        self.subscribers = subscribers
    }

    /// The number of subscribers, for tests.
    var count: Int { subscribers.count }

    /// Keeps a change for every subscriber. Under the lock, held for writing.
    @usableFromInline
    func record(_ change: Change) {
        for subscriber in subscribers {
            subscriber.post(change)
        }
    }

    /// Has the kept changes delivered. After the lock has been given up.
    @usableFromInline
    func announce(_ owner: Owner) {
        for subscriber in subscribers {
            subscriber.announce()
        }
        if let cancelled = subscribers.first(where: { $0.isCancelled() }) {
            cancelled.sweep(owner)
        }
    }
}

extension ChangeSource where Self: Sendable, Change: Sendable {
    /// Adds a subscriber, whose `handler` is called on `queue` with every change from now on.
    func subscribe(_ queue: DispatchQueue, _ handler: @escaping @Sendable (Change) -> Void)
        -> ChangeSubscription
    {
        let mailbox = ChangeMailbox(queue: queue, select: { Self.announcement(of: $0) }, handler: handler)
        subscribe(mailbox) {}
        return ChangeSubscription { mailbox.cancel() }
    }

    /// Every change from now on as a sequence that ends with its consumer, or with the collection.
    func makeChangesSequence() -> AsyncStream<Change> {
        let feed = ChangeFeed<Change>(select: { Self.announcement(of: $0) })
        // Ends when the collection's last list that names the feed goes.
        let presence = Presence { feed.complete() }
        subscribe(feed) { withExtendedLifetime(presence) {} }
        // Ends with the sequence.
        let subscription = ChangeSubscription { feed.cancel() }
        return AsyncStream(
            unfolding: {
                if let change = await feed.next() { return change }
                subscription.cancel()
                return nil
            },
            onCancel: { subscription.cancel() }
        )
    }

    private func subscribe(_ listener: some ChangeListener<Change>, _ present: @escaping () -> Void) {
        let subscriber = ChangeObservers<Self, Change>.Subscriber(
            isCancelled: { listener.isCancelled },
            post: {
                present()
                listener.post($0)
            },
            announce: { listener.announce() },
            sweep: { owner in owner.updateObservers { $0.withoutCancelled(and: []) } }
        )
        updateObservers { $0.withoutCancelled(and: [subscriber]) }
    }
}

extension Optional {
    /// The subscribers that are not cancelled, and `others`.
    fileprivate func withoutCancelled<Owner, Change>(
        and others: [ChangeObservers<Owner, Change>.Subscriber]
    ) -> Self where Wrapped == ChangeObservers<Owner, Change> {
        let subscribers = (self?.subscribers ?? []).filter { !$0.isCancelled() } + others
        return subscribers.isEmpty ? nil : ChangeObservers(subscribers)
    }
}

/// Calls its closure when its last reference goes.
private final class Presence: Sendable {
    private let end: @Sendable () -> Void

    init(_ end: @escaping @Sendable () -> Void) {
        self.end = end
    }

    deinit {
        end()
    }
}

/// Whether two values are known to be equal: false for values that are not `Equatable`. Equatability is tested at run
/// time, so that a generic caller that does not know of it announces alike.
func areKnownEqual<Value>(_ left: Value, _ right: Value) -> Bool {
    func compare<Known: Equatable>(_ left: Known) -> Bool { left == right as? Known }
    guard let left = left as? any Equatable else { return false }
    return compare(left)
}
