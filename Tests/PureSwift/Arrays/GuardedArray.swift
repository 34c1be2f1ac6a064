// SPDX-License-Identifier: Apache-2.0
//
// The vocabulary of a shared array, over the two primitives that each array of this folder supplies: `withReadLock` and
// `withWriteLock`. Each call is one section; a step of several calls goes into one `withWriteLock`.

/// An array behind a lock of some kind. Every call is thread-safe and blocks while a section that excludes it runs. A
/// section that calls back into the same array deadlocks or traps.
public protocol GuardedArray<Element>: AnyObject, Sendable {
    associatedtype Element: Sendable

    /// An array that starts with `elements`.
    init(_ elements: [Element])

    /// Runs `body` with the elements, beside other readers if the lock allows it, never beside a writer.
    func withReadLock<Result: Sendable, Failure: Error>(
        _ body: ([Element]) throws(Failure) -> Result
    ) throws(Failure) -> Result

    /// Runs `body` alone with the elements, in place.
    func withWriteLock<Result: Sendable, Failure: Error>(
        _ body: (inout [Element]) throws(Failure) -> Result
    ) throws(Failure) -> Result

    /// Adds `element` at the end; later reads of the appending thread see it.
    func append(_ element: Element)
}

extension GuardedArray {
    /// An empty array.
    @inlinable
    public init() { self.init([]) }

    /// Adds `element` at the end.
    @inlinable
    public func append(_ element: Element) { withWriteLock { $0.append(element) } }

    /// How many elements there were.
    @inlinable
    public var count: Int { withReadLock { $0.count } }

    /// Whether there was none.
    @inlinable
    public var isEmpty: Bool { withReadLock { $0.isEmpty } }

    /// The last element, if there was one.
    @inlinable
    public var last: Element? { withReadLock { $0.last } }

    /// A copy of all elements at one moment.
    @inlinable
    public var snapshot: [Element] { withReadLock { $0 } }

    /// The element at `index`, which must be there.
    @inlinable
    public subscript(index: Int) -> Element {
        get { withReadLock { $0[index] } }
        set { withWriteLock { $0[index] = newValue } }
    }

    /// The element at `index`, or nil if there is none.
    @inlinable
    public func element(at index: Int) -> Element? {
        withReadLock { $0.indices.contains(index) ? $0[index] : nil }
    }

    /// Removes the first element, if any. O(n).
    @inlinable
    public func popFirst() -> Element? {
        withWriteLock { $0.isEmpty ? nil : $0.removeFirst() }
    }

    /// Removes the last element, if any.
    @inlinable
    public func popLast() -> Element? { withWriteLock { $0.popLast() } }

    /// Removes every element that satisfies `predicate`, in one step.
    @inlinable
    public func removeAll(where predicate: (Element) -> Bool) {
        withWriteLock { $0.removeAll(where: predicate) }
    }
}
