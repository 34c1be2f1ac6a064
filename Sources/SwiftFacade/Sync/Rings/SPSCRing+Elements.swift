// SPDX-License-Identifier: Apache-2.0
//
// A split ring's elements as an asynchronous sequence. The ring's one consumer moves into the first iterator, for good.

extension SPSCRing.Consumer {
    /// The elements as an asynchronous sequence, for one loop:
    ///
    /// ```swift
    /// for try await frame in consumer.elements() { show(frame) }
    /// ```
    ///
    /// A task captures the sequence; a closure could not consume the consumer:
    ///
    /// ```swift
    /// let frames = consumer.elements()
    /// Task { for try await frame in frames { show(frame) } }
    /// ```
    ///
    /// The loop ends once the ring is closed and drained, by the error it was closed with, if any, or where it
    /// would have to wait in a cancelled task.
    /// Then the consumer goes, which closes the ring.
    public consuming func elements() -> SPSCRing<Element>.Elements {
        SPSCRing<Element>.Elements(self)
    }
}

extension SPSCRing where Element: Copyable {
    /// The elements of a ring for one `for try await` loop; see ``Consumer/elements()``. On one thread at a time.
    public struct Elements: AsyncSequence {
        private final class Place {
            var iterator: AsyncIterator?

            init(_ iterator: AsyncIterator) { self.iterator = iterator }
        }
        private let place: Place

        fileprivate init(_ consumer: consuming Consumer) {
            place = Place(AsyncIterator(consumer))
        }

        /// The iterator.
        ///
        /// - Precondition: The first call. A second is reported and ends the process.
        public func makeAsyncIterator() -> AsyncIterator {
            guard let iterator = place.iterator.take() else {
                misuse(
                    "SPSCRing<\(Element.self)>.Elements.makeAsyncIterator",
                    nil,
                    "a second loop over one consumer"
                )
            }
            return iterator
        }

        /// Takes elements out. After `nil` or an error it gives `nil` for ever.
        public final class AsyncIterator: AsyncIteratorProtocol {
            private var consumer: Consumer
            private var isWaiting = false
            private var hasEnded = false

            fileprivate init(_ consumer: consuming Consumer) {
                self.consumer = consumer
            }

            /// The next element, or `nil` once the ring is closed and drained, or the task is cancelled and would have
            /// to wait. Suspends the task.
            ///
            /// - Precondition: No other call is waiting. A second, of another task on the same actor, is reported and
            ///   ends the process.
            /// - Throws: The ring's closing error, once it is drained.
            public func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> Element? {
                guard !isWaiting else {
                    misuse(
                        "SPSCRing<\(Element.self)>.Elements.next",
                        nil,
                        "another task waits for the next already"
                    )
                }
                if hasEnded { return nil }
                if let element = consumer.tryPop() { return element }
                isWaiting = true
                defer { isWaiting = false }
                let popped = await consumer.waiters.pop(Element.self, isolation: actor, until: nil)
                hasEnded = true
                let element = try consumer.waiters.nextOrEnd(popped)
                hasEnded = element == nil
                return element
            }
        }
    }
}

// One thread at a time, as the consumer.
@available(*, unavailable)
extension SPSCRing.Elements: Sendable where Element: Copyable {}
@available(*, unavailable)
extension SPSCRing.Elements.AsyncIterator: Sendable where Element: Copyable {}
