// SPDX-License-Identifier: Apache-2.0
//
// SafeArray: storage, lifetime, and access to the whole. One capability per further file: +Elements (one element),
// +Ranges (several in a row), +Mutation (Array's verbs that add and remove), +Exchange (those that do neither),
// +Compound (read and change in one step), +Changes (announcements), +Conformances.
//
// Invariants:
//  - `elements` is read under the lock held for reading and changed under the lock held for writing, in place. Only
//    snapshots keep a second reference to its buffer, so without a snapshot no write copies.
//  - Foreign code (closures, and elements' own ==, hash(into:) and deinit) runs outside the lock or in an access
//    entered
//    by closure (CollectionStorage). A verb holds the elements that it takes out until it has given the lock up, and
//    releases them then. What a caller's own closure, or change in place, releases is released under the lock.
//  - A verb that changes `elements` records the change with `observers`, if there are any, before it gives the lock up,
//    and has it announced afterwards.

/// An array that any number of threads may read and change.
///
/// `SafeArray` is a reference: every holder sees the same elements. It has the vocabulary of `Array`, and each call is
/// one atomic step. Reads run in parallel and copy the element, never the storage. Changes are made in place, so
/// appending is amortised O(1).
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
/// Every method is thread-safe. It blocks its thread for the few instructions in which another thread holds the lock,
/// or as long as another thread's closure runs. What a thread did before a change is visible to a thread that sees the
/// change.
///
/// Two calls are two steps: another thread may come between `isEmpty` and `removeLast`. Use the calls that do both
/// (``popLast()``, ``element(at:)``, ``update(at:_:)``, ``appendIfAbsent(_:)``), or ``withWriteLock(_:)`` for steps of
/// your own. `array[i] += 1` is one step.
///
/// A closure given to an array must not call the same array: the thread would wait for itself, which is reported and
/// ends the process. Use the `inout` parameter instead. The same holds for the `deinit` of what a closure, or a change
/// in place, releases. Elements that the array's own verbs take out are released after the lock has been given up:
/// their `deinit` may call the array.
///
/// Left out of `Array`'s vocabulary: indices to walk along and slices that share storage, because the next writer
/// changes their meaning; pointers and spans, because they must not outlive the lock. Take them in ``withReadLock(_:)``
/// or ``withWriteLock(_:)``, or from a ``snapshot``. There is no `==` and no hash, because other threads may change the
/// contents: compare references (`===`) or snapshots.
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

    /// An array of the given elements. O(1) for an `Array`, whose storage is shared until the first change.
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

    /// The elements as they are now, as an array of the caller's own. Thread-safe.
    ///
    /// O(1): the storage is shared until one side changes. The first write while the snapshot is alive copies the
    /// storage, once; writes do not change the snapshot.
    @inlinable
    public var snapshot: [Element] {
        let section = storage.lockForReading("snapshot")
        defer { storage.unlockForReading(section) }
        return storage.state.contents
    }

    /// Runs `body` with the elements while holding the lock for reading, beside other readers. Copies nothing. Blocks
    /// while a writer is at work; writers wait until `body` returns.
    ///
    /// - Precondition: `body` does not call this array.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    @inlinable
    public func withReadLock<Result: ~Copyable, Failure: Error>(
        _ body: ([Element]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.read("withReadLock") { (state) throws(Failure) -> Result in
            try body(state.contents)
        }
    }

    /// Runs `body` with the elements in place while holding the lock for writing, alone: all steps of `body` are one
    /// step to every other thread. Blocks while another thread holds the lock.
    ///
    /// Appends in `body` are amortised O(1): no copy is made while no snapshot is held. Observers receive one
    /// replacement: from the first to the last element that differs if elements are `Equatable`, of everything
    /// otherwise. An observed array is copied once.
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

    /// Elements that are about to be removed, for their verb to hold until it has given the lock up. Trivial values are
    /// not kept, unless observers are to receive them.
    // _isPOD is a constant wherever the element's type is known: the test vanishes there.
    @inlinable @inline(__always)
    static func kept(_ going: ArraySlice<Element>, _ observers: Observers?) -> [Element] {
        observers == nil && _isPOD(Element.self) ? [] : Array(going)
    }

    /// A change by the toolkit's own few instructions, which record it. Removed elements are in the result, which the
    /// caller releases after the lock.
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

    /// Reports an index out of range, under the lock: the array is as it was found.
    @inline(never) @usableFromInline
    func outOfRange(_ call: String, _ index: Int, count: Int) -> Never {
        misuse(
            "\(Self.self).\(call)",
            storage.identity,
            "index \(index) is out of range; the array has \(counted(count))"
        )
    }

    /// Reports a range out of range.
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

// All mutable state is in the storage, behind its lock. Readers share the elements, which must be Sendable.
extension SafeArray: @unchecked Sendable where Element: Sendable {}
