// SPDX-License-Identifier: Apache-2.0
//
// The subscribers to a collection's changes. ChangeMailbox.swift and ChangeFeed.swift say how an announcement travels.
//
// A subscription ends in its listener, without the collection's lock. The collection's list, which that lock guards,
// names the listener until the next writer or subscriber removes it.

/// A collection that announces its changes.
// Not Sendable here: a conformance cannot depend on an element's.
package protocol ChangeSource: AnyObject {
    associatedtype Change

    /// The change as it is announced, or `nil` if it is not. Outside the lock: it may compare elements.
    static func announcement(of change: Change) -> Change?

    /// Changes the list under the lock; the previous one is released after it.
    func updateObservers(_ body: (ChangeObservers<Self, Change>?) -> ChangeObservers<Self, Change>?)
}

/// The receiver of announcements.
protocol ChangeListener<Change>: AnyObject, Sendable {
    associatedtype Change: Sendable

    /// Whether the subscription has ended.
    var isCancelled: Bool { get }
    /// Keeps a change. Under the collection's write lock.
    func post(_ change: Change)
    /// Has the kept changes delivered. After the collection's lock.
    func announce()
    /// Ends the subscription, without the collection's lock.
    func cancel()
}

/// The subscribers of an `Owner`. Immutable, so that it can be taken under the lock and used after it.
@usableFromInline
package final class ChangeObservers<Owner: AnyObject, Change> {
    // Closures and not the listener, whose Change is Sendable: the list's type must exist for other elements too.
    fileprivate struct Subscriber {
        let isCancelled: () -> Bool
        let post: (Change) -> Void
        let announce: () -> Void
        /// Takes cancelled subscribers out of the list.
        let sweep: (Owner) -> Void
    }

    fileprivate let subscribers: [Subscriber]

    fileprivate init(_ subscribers: [Subscriber]) {
        self.subscribers = subscribers
    }

    /// The number of subscribers, for tests.
    var count: Int { subscribers.count }

    /// Keeps a change for every subscriber. Under the write lock.
    @usableFromInline
    func record(_ change: Change) {
        for subscriber in subscribers {
            subscriber.post(change)
        }
    }

    /// Has the kept changes delivered. After the lock.
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
    /// Calls `handler` with every change from now on, in closures that `submit` has run.
    package func subscribe(
        _ submit: @escaping ChangeMailbox<Change>.Submit,
        _ handler: @escaping @Sendable (Change) -> Void
    ) -> ChangeSubscription {
        let mailbox = ChangeMailbox(submit: submit, select: { Self.announcement(of: $0) }, handler: handler)
        subscribe(mailbox) {}
        return ChangeSubscription { mailbox.cancel() }
    }

    /// A sequence that ends with the collection.
    package func makeChangesSequence() -> ChangesSequence<Change> {
        let feed = ChangeFeed<Change>(select: { Self.announcement(of: $0) })
        // Ends with the last list that names the feed.
        let presence = Presence { feed.complete() }
        subscribe(feed) { withExtendedLifetime(presence) {} }
        return ChangesSequence(feed)
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
    /// The remaining subscribers, and `others`.
    fileprivate func withoutCancelled<Owner, Change>(
        and others: [ChangeObservers<Owner, Change>.Subscriber]
    ) -> Self where Wrapped == ChangeObservers<Owner, Change> {
        let subscribers = (self?.subscribers ?? []).filter { !$0.isCancelled() } + others
        return subscribers.isEmpty ? nil : ChangeObservers(subscribers)
    }
}

/// Calls its closure at its end.
private final class Presence: Sendable {
    private let end: @Sendable () -> Void

    init(_ end: @escaping @Sendable () -> Void) {
        self.end = end
    }

    deinit {
        end()
    }
}

/// False for values that are not `Equatable`, which is tested at run time: a generic caller announces alike.
func areKnownEqual<Value>(_ left: Value, _ right: Value) -> Bool {
    func compare<Known: Equatable>(_ left: Known) -> Bool { left == right as? Known }
    guard let left = left as? any Equatable else { return false }
    return compare(left)
}
