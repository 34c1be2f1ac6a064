// SPDX-License-Identifier: Apache-2.0
//
// SafeArray: storage, lifetime, and access to the whole. Further files have one capability each.
//
// Invariants:
//  - `contents` is changed in place. Only snapshots keep a second reference to its buffer, so without one no write
//    copies.
//  - Foreign code (closures, and elements' own ==, hash(into:) and deinit) runs outside the lock or in an access by
//    closure (CollectionStorage). A verb releases the elements that it takes out after the lock; what a caller's
//    closure or change in place releases is released under it.
//  - A verb records its change with `observers`, if there are any, under the lock, and announces it after.

/// An array that any number of threads may read and change.
///
/// A reference with the vocabulary of `Array`: every holder sees the same elements, and each call is one atomic step.
/// Reads run in parallel and copy the element, not the storage. Changes are made in place.
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
/// Every method is thread-safe. It blocks while another thread holds the lock: a few instructions, or that thread's
/// closure. What a thread did before a change is visible with the change. An index, a range or a number of elements
/// that does not fit is reported and ends the process.
///
/// Two calls are two steps: another thread may come between `isEmpty` and `removeLast`, and an index or a count may be
/// out of date when it is used. Use the calls that do both (``popLast()``, ``element(at:)``, ``update(at:_:)``,
/// ``appendIfAbsent(_:)``), or ``withWriteLock(_:)``. `array[i] += 1` is one step.
///
/// A closure, generator or range expression given to an array must not call the same array, nor may an element's `==`
/// or `<`: the thread would wait for itself, which is reported and ends the process. (A read of elements inside a read
/// is reported by debug builds, by others only where it would wait.) Nor may the `deinit` of what a closure, or a
/// change in place, releases. Elements that the array's own verbs take out are released after the lock: their `deinit`
/// may call the array.
///
/// Left out: indices to walk along and slices that share storage, whose meaning the next writer changes; pointers and
/// spans, which must not outlive the lock. Take them in ``withReadLock(_:)`` or ``withWriteLock(_:)``, or from a
/// ``snapshot``. There is no `==` and no hash, since the contents change: compare references (`===`) or snapshots.
public final class SafeArray<Element> {
    @usableFromInline
    package typealias Observers = ChangeObservers<SafeArray, Change>

    @usableFromInline
    let storage: CollectionStorage<SafeArray, Observed<SafeArray, [Element], Change>>

    /// An empty array.
    @inlinable
    public convenience init() {
        self.init([])
    }

    /// An array of the given elements. O(1): the storage is shared until the first change.
    @inlinable
    public init(_ elements: [Element]) {
        storage = CollectionStorage(Observed(elements))
    }

    /// An array of the elements of a sequence. O(*n*).
    @inlinable
    public convenience init(_ elements: some Sequence<Element>) {
        self.init(Array(elements))
    }

    /// An array of `count` times `element`. O(*n*).
    ///
    /// - Precondition: `count` is not negative.
    @inlinable
    public convenience init(repeating element: Element, count: Int) {
        if count < 0 {
            misuse("\(Self.self).init(repeating:count:)", nil, "\(count) elements; an array has 0 or more")
        }
        self.init(Array(repeating: element, count: count))
    }

    /// The elements as they are now. O(1): the first write while the snapshot is alive copies the storage, once; writes
    /// do not change the snapshot.
    @inlinable
    public var snapshot: [Element] {
        storage.whileReading("snapshot") { storage.state.contents }
    }

    /// Runs `body` with the elements while holding the lock for reading, beside other readers. Copies nothing.
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

    /// Runs `body` with the elements in place while holding the lock for writing: its steps are one step to other
    /// threads.
    ///
    /// Without a snapshot nothing is copied. Observers receive one change: a replacement, of everything, or if elements
    /// are `Equatable` from the first to the last that differs, where that may be an insertion or a removal. An
    /// observed array is copied once.
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

    /// Elements about to be removed, for their verb to hold beyond the lock. Trivial values are kept for observers
    /// only.
    // The test vanishes where the element's type is known.
    @inlinable @inline(__always)
    static func kept(_ going: ArraySlice<Element>, _ observers: Observers?) -> [Element] {
        observers == nil && _isPOD(Element.self) ? [] : Array(going)
    }

    /// ``CollectionStorage/change(_:_:_:)``.
    @inlinable @inline(__always)
    func change<Result>(
        _ call: StaticString,
        _ body: (inout [Element], Observers?) -> Result
    ) -> Result {
        storage.change(self, call, body)
    }

    /// ``CollectionStorage/changeByClosure(_:_:_:)``.
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
        isBegun: Bool = false,
        _ body: (inout [Element]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var before: [Element] = []
        defer { withExtendedLifetime(before) {} }
        return try storage.changeByClosure(self, call, isBegun: isBegun) {
            (elements, observers) throws(Failure) -> Result in
            guard let observers else { return try body(&elements) }
            before = elements
            defer { observers.record(.replacement(at: 0, old: before, new: elements)) }
            return try body(&elements)
        }
    }

    /// Reports an index out of range, under the lock.
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

// All mutable state is behind the lock. Readers share the elements, which must be Sendable.
extension SafeArray: @unchecked Sendable where Element: Sendable {}
