// SPDX-License-Identifier: Apache-2.0
//
// SafeArray: storage, lifetime, and access to the whole. One capability per further file:
// +Elements (one element), +Ranges (several in a row), +Mutation (Array's verbs that add and remove), +Exchange (those
// that do neither), +Compound (read and change in one step), +Changes (announcements), +Conformances.
//
// Invariants, for all of them:
//  - `elements` is read under the lock held for reading and changed under the lock held for writing, in
//    place. Nothing keeps a second reference to its buffer but snapshots, so that without one no write
//    copies.
//  - Foreign code (closures, and elements' own ==, hash(into:) and deinit) runs either outside the lock
//    or in an access entered by closure (CollectionStorage), never in between. Elements that a verb takes
//    out leave the lock before they are released; the verb holds them until then. Only what a caller's own
//    closure, or change in place, releases is released where that code stands.
//  - A verb that changes `elements` records the change with `observers`, if there are any, before it gives up
//    the lock, and lets them be announced afterwards.

/// An array that any number of threads may read and change.
///
/// `SafeArray` is a reference: every holder sees the same elements. It has the vocabulary of `Array`;
/// each call is one atomic step. Reads of elements run in parallel and copy the element, never the
/// storage; changes are made in place, so appending is amortised O(1).
///
/// ```swift
/// final class PhotoManager: Sendable {
///     static let shared = PhotoManager()
///     private let storage = SafeArray<Photo>()
///
///     var photos: [Photo] { storage.snapshot }
///     func add(_ photo: Photo) { storage.append(photo) }
/// }
/// ```
///
/// Two calls are two steps: between `isEmpty` and `removeLast` another thread may come. Use the calls
/// that do both (``popLast()``, ``element(at:)``, ``update(at:_:)``, ``appendIfAbsent(_:)``), or
/// ``withWriteLock(_:)`` for steps of your own. `array[i] += 1` is one step.
///
/// Two shared arrays are the same if they are one object (`===`); to compare contents, compare snapshots. There is no
/// `==` and no hash of contents that others may be changing.
///
/// What `Array` has and this has not: indices to walk along and slices that share storage, because the next
/// writer makes them mean something else; pointers and spans, because they must not outlive the lock. Take
/// them in ``withReadLock(_:)`` or ``withWriteLock(_:)``, or from a ``snapshot``.
///
/// A closure given to an array must not call the same array: that would wait for itself for ever, and
/// is reported as one sentence before the process ends. The `inout` parameter is the array there. The same holds
/// for the `deinit` of what a closure, or a change in place, releases itself. Elements that the array's own verbs
/// take out are released after the lock has been given up: their `deinit` may call the array.
///
/// The calls block their thread for the few instructions another thread holds the lock, or for as long
/// as another thread's closure runs.
public final class SafeArray<Element> {
    @usableFromInline
    typealias Observers = ChangeObservers<SafeArray, Change>

    @usableFromInline
    let storage: CollectionStorage<SafeArray, Observed<SafeArray, [Element], Change>>

    /// An empty array.
    @inlinable
    public convenience init() {
        self.init([])
    }

    /// An array of the given elements. O(1) for an `Array`, whose storage is shared until the first
    /// change.
    @inlinable
    public init(_ elements: [Element]) {
        storage = CollectionStorage(Observed(elements))
    }

    /// An array of the elements of a sequence. O(*n*).
    @inlinable
    public convenience init(_ elements: some Sequence<Element>) {
        self.init(Array(elements))
    }

    /// An array of `count` times the same element. O(*n*).
    ///
    /// - Precondition: `count` is not negative.
    @inlinable
    public convenience init(repeating element: Element, count: Int) {
        if count < 0 {
            misuse("\(Self.self).init(repeating:count:)", nil, "\(count) elements; an array has 0 or more")
        }
        self.init(Array(repeating: element, count: count))
    }

    /// The elements as they are now, as an array of the caller's own.
    ///
    /// O(1): the storage is shared until one side changes. The first write while the snapshot is alive
    /// copies the storage, once; later writes do not change the snapshot.
    @inlinable
    public var snapshot: [Element] {
        let section = storage.lockForReading("snapshot")
        defer { storage.unlockForReading(section) }
        return storage.state.contents
    }

    /// Runs `body` with the elements while holding the lock for reading, beside other readers.
    ///
    /// Nothing is copied. Blocks while a writer is at work; writers wait until `body` returns.
    ///
    /// - Precondition: `body` does not call this array.
    /// - Returns: What `body` returns.
    @inlinable
    public func withReadLock<Result: ~Copyable, Failure: Error>(
        _ body: ([Element]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.read("withReadLock") { (state) throws(Failure) -> Result in
            try body(state.contents)
        }
    }

    /// Runs `body` with the elements in place while holding the lock for writing, alone: however many
    /// steps `body` takes, they are one to every other thread.
    ///
    /// Appends in `body` are amortised O(1) as on an `Array`: no copy is made as long as no snapshot is
    /// held. Observers are told of one replacement, from the first to the last element that differs if
    /// elements are `Equatable`, of everything otherwise; an observed array is copied once.
    ///
    /// - Precondition: `body` does not call this array.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; what it changed until then stays changed.
    @inlinable
    public func withWriteLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout [Element]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try changeWhole("withWriteLock", body)
    }

    // MARK: How changes are made

    /// Elements that are about to go, for their verb to hold until it has given up the lock. Values that own nothing
    /// can go at once, unless observers are to be told of them.
    // _isPOD is a constant wherever the element's type is known: there nothing is left of the question.
    @inlinable @inline(__always)
    static func kept(_ going: ArraySlice<Element>, _ observers: Observers?) -> [Element] {
        observers == nil && _isPOD(Element.self) ? [] : Array(going)
    }

    /// A change by the toolkit's own few instructions, which record it. What it takes out is in its answer: that is
    /// released by the caller, after the lock.
    @inlinable @inline(__always)
    func change<Result>(
        _ call: StaticString,
        _ body: (inout [Element], Observers?) -> Result
    ) -> Result {
        storage.change(self, call, body)
    }

    /// A change that runs foreign code and records it itself.
    @inlinable
    func changeByClosure<Result: ~Copyable, Failure: Error>(
        _ call: StaticString,
        _ body: (inout [Element], Observers?) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.changeByClosure(self, call, body)
    }

    /// A change by foreign code of which only the outcome is known.
    @inlinable
    func changeWhole<Result: ~Copyable, Failure: Error>(
        _ call: StaticString,
        _ body: (inout [Element]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var before: [Element] = []
        defer { withExtendedLifetime(before) {} }
        return try changeByClosure(call) { (elements, observers) throws(Failure) -> Result in
            guard let observers else { return try body(&elements) }
            before = elements
            defer { observers.record(.replacement(at: 0, old: before, new: elements)) }
            return try body(&elements)
        }
    }

    /// Reports an index that is not there, under the lock: the array is as it was found.
    @inline(never) @usableFromInline
    func outOfRange(_ call: String, _ index: Int, count: Int) -> Never {
        misuse(
            "\(Self.self).\(call)",
            storage.identity,
            "index \(index) is out of range; the array has \(counted(count))"
        )
    }

    /// Reports a range that is not there.
    @inline(never) @usableFromInline
    func outOfRange(_ call: String, _ range: AskedRange, count: Int) -> Never {
        misuse(
            "\(Self.self).\(call)",
            storage.identity,
            "range \(range) is out of range; the array has \(counted(count))"
        )
    }

    /// Reports a number of elements that cannot be taken.
    @inline(never) @usableFromInline
    func impossible(_ call: String, _ asked: Int, count: Int) -> Never {
        misuse(
            "\(Self.self).\(call)",
            storage.identity,
            "\(counted(asked)) asked for; the array has \(counted(count))"
        )
    }

    private func counted(_ count: Int) -> String {
        count == 1 ? "1 element" : "\(count) elements"
    }
}

// Everything mutable is in the storage, which is reached through its lock; readers share the elements,
// which must be Sendable themselves.
extension SafeArray: @unchecked Sendable where Element: Sendable {}
