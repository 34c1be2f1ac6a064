// SPDX-License-Identifier: Apache-2.0
//
// The elements of several rings as one asynchronous sequence: a select whose closures put the element into one place,
// from which the loop takes it before anything else runs.

/// The elements of several rings of one type, for one loop:
///
/// ```swift
/// let london = try MPMCRing<Int>(capacity: 64), paris = try MPMCRing<Int>(capacity: 64)
/// let prices = MergedElements<Int>()
/// prices.add(london)
/// prices.add(paris)
/// for try await price in prices { print(price) }
/// ```
///
/// Each ring's elements keep their order. Rings that stay full have their turns one after the other. The loop ends when
/// all rings are closed and drained, by the first error that one was closed with, if any; or with its task. What the
/// loop has not been given is in the rings: after a cancellation another loop goes on.
///
/// For one task at a time. Another ring may be added in the body of the loop. Where elements differ in type, or the
/// loop waits for more than rings, take a ``Select``.
public final class MergedElements<Element>: AsyncSequence {
    private let select = Select()
    private var element: Element?

    /// A sequence of no ring's elements; a loop over it waits until its task is cancelled. Allocates.
    public init() {}

    /// Adds the elements of `ring`. Other consumers may pop beside the loop.
    @discardableResult
    public func add(_ ring: MPMCRing<Element>) -> Select.Member {
        select.add(ring) { [unowned self] element in self.element = element }
    }

    /// Adds the elements of `consumer`'s ring. The consumer goes with the sequence, which closes the ring.
    @discardableResult
    public func add(_ consumer: consuming SPSCRing<Element>.Consumer) -> Select.Member {
        select.add(consumer) { [unowned self] element in self.element = element }
    }

    /// An iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// Takes elements out. After `nil` or an error it gives `nil` for ever; a new iterator asks the rings anew.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let elements: MergedElements
        private var hasEnded = false

        fileprivate init(_ elements: MergedElements) { self.elements = elements }

        /// The next element, or `nil` once all rings are closed and drained or the task is cancelled. Suspends the
        /// task.
        ///
        /// - Precondition: No other call is waiting. A second is reported and ends the process.
        /// - Throws: The first error that a ring was closed with, once all are drained.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws
            -> Element?
        {
            if hasEnded { return nil }
            hasEnded = true
            let outcome = try await elements.select.suspend(isolation: actor, until: nil)
            // Ended, or cancelled.
            guard outcome == .served else { return nil }
            hasEnded = false
            return elements.element.take()
        }
    }
}

// One task at a time, as the select.
@available(*, unavailable)
extension MergedElements: Sendable {}
@available(*, unavailable)
extension MergedElements.AsyncIterator: Sendable {}
