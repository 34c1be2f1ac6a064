// SPDX-License-Identifier: Apache-2.0
//
// A collection's changes as an asynchronous sequence; Internal/ChangeFeed.swift says how they get here. Not an
// `AsyncStream`, which ends for every consumer when the task of one is cancelled.

/// The changes of a collection, in order, each for one of the sequence's consumers. See
/// ``SafeArray/changes()``. Any task may make an iterator, beside any other call; an iterator is for one task at a
/// time.
public struct ChangesSequence<Change: Sendable>: AsyncSequence, Sendable {
    private let feed: ChangeFeed<Change>
    /// Ends the feed with the sequence and its last iterator.
    private let subscription: ChangeSubscription

    init(_ feed: ChangeFeed<Change>) {
        self.feed = feed
        subscription = ChangeSubscription { feed.cancel() }
    }

    /// An iterator, for one consumer.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(self)
    }

    /// Takes changes. After `nil` it gives `nil` for ever.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let changes: ChangesSequence
        private var hasEnded = false

        fileprivate init(_ changes: ChangesSequence) {
            self.changes = changes
        }

        /// The next change, or `nil` once the collection is gone and its changes are delivered, or the task is
        /// cancelled: then it takes none. Suspends the task.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Change? {
            if hasEnded { return nil }
            hasEnded = true
            let change = await changes.feed.next()
            hasEnded = change == nil
            return change
        }
    }
}
