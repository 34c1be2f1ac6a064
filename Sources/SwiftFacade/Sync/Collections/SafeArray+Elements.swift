// SPDX-License-Identifier: Apache-2.0
//
// Reading: one element, and questions about elements. A read of one element is the lock's read fast path, a comparison
// and a copy of the element.

extension SafeArray {
    /// The number of elements now.
    @inlinable
    public var count: Int {
        storage.whileReading("count") { storage.state.contents.count }
    }

    /// Whether there are no elements. ``popFirst()`` and ``popLast()`` ask and remove in one step.
    @inlinable
    public var isEmpty: Bool {
        count == 0
    }

    /// How many elements fit before the storage grows.
    @inlinable
    public var capacity: Int {
        storage.whileReading("capacity") { storage.state.contents.capacity }
    }

    /// The element at `index`, or `nil` if there is none. O(1).
    @inlinable
    public func element(at index: Int) -> Element? {
        let section = storage.lockForReading("element(at:)")
        defer { storage.unlockForReading(section) }
        let count = storage.state.contents.count
        guard index >= 0, index < count else { return nil }
        return storage.state.contents[index]
    }

    /// The first element, or `nil` if there is none. O(1).
    @inlinable
    public var first: Element? {
        element(at: 0)
    }

    /// The last element, or `nil` if there is none. O(1).
    @inlinable
    public var last: Element? {
        storage.whileReading("last") { storage.state.contents.last }
    }

    /// The element at `index`.
    ///
    /// A change in place (`array[i] += 1`, `array[i].name = "x"`) holds the lock for writing and is one step.
    ///
    /// - Precondition: `index` is in `0..<count`; ``element(at:)`` answers `nil` instead.
    /// - Precondition: A change in place does not call this array, and does not suspend (`await`).
    /// - Complexity: O(1).
    @inlinable
    public subscript(index: Int) -> Element {
        get {
            let section = storage.lockForReading("subscript")
            defer { storage.unlockForReading(section) }
            let count = storage.state.contents.count
            guard index >= 0, index < count else { outOfRange("subscript", index, count: count) }
            return storage.state.contents[index]
        }
        set {
            // The previous element is released after the lock.
            _ = replace(at: index, with: newValue)
        }
        _modify {
            storage.beginWriting("subscript")
            let count = storage.state.contents.count
            guard index >= 0, index < count else { outOfRange("subscript", index, count: count) }
            let observers = storage.state.observers
            let before = observers == nil ? nil : storage.state.contents[index]
            defer {
                if let observers, let before {
                    observers.record(
                        .replacement(at: index, old: [before], new: [storage.state.contents[index]])
                    )
                }
                storage.endWriting()
                withExtendedLifetime(before) {}
                observers?.announce(self)
            }
            let location = storage.location
            yield &location.pointee.state.contents[index]
        }
    }

    /// The index of the first element that satisfies `predicate` now. O(*n*).
    ///
    /// ``removeFirst(where:)`` and ``withWriteLock(_:)`` read and change in one step.
    ///
    /// - Precondition: `predicate` does not call this array.
    @inlinable
    public func firstIndex<Failure: Error>(
        where predicate: (Element) throws(Failure) -> Bool
    ) throws(Failure) -> Int? {
        try storage.read("firstIndex(where:)") { (state) throws(Failure) -> Int? in
            for index in state.contents.indices where try predicate(state.contents[index]) {
                return index
            }
            return nil
        }
    }

    /// The first element that satisfies `predicate`, or `nil`. O(*n*), under the lock.
    ///
    /// - Precondition: `predicate` does not call this array.
    @inlinable
    public func first(where predicate: (Element) throws -> Bool) rethrows -> Element? {
        // This and contains(where:) rethrow: with a typed error they would lose against Sequence's.
        try storage.read("first(where:)") { state in
            for element in state.contents where try predicate(element) {
                return element
            }
            return nil
        }
    }

    /// The last element that satisfies `predicate`, or `nil`. O(*n*), under the lock.
    ///
    /// - Precondition: `predicate` does not call this array.
    @inlinable
    public func last<Failure: Error>(
        where predicate: (Element) throws(Failure) -> Bool
    ) throws(Failure) -> Element? {
        try storage.read("last(where:)") { (state) throws(Failure) -> Element? in
            for element in state.contents.reversed() where try predicate(element) {
                return element
            }
            return nil
        }
    }

    /// An element chosen at random, or `nil` if there is none. O(1).
    @inlinable
    public func randomElement() -> Element? {
        storage.whileReading("randomElement") { storage.state.contents.randomElement() }
    }

    /// Whether an element satisfies `predicate` now. O(*n*), under the lock.
    ///
    /// - Precondition: `predicate` does not call this array.
    @inlinable
    public func contains(where predicate: (Element) throws -> Bool) rethrows -> Bool {
        try storage.read("contains(where:)") { state in
            try state.contents.contains(where: predicate)
        }
    }

    /// The index of the last element that satisfies `predicate` now. O(*n*).
    ///
    /// - Precondition: `predicate` does not call this array.
    @inlinable
    public func lastIndex<Failure: Error>(
        where predicate: (Element) throws(Failure) -> Bool
    ) throws(Failure) -> Int? {
        try storage.read("lastIndex(where:)") { (state) throws(Failure) -> Int? in
            for index in state.contents.indices.reversed() where try predicate(state.contents[index]) {
                return index
            }
            return nil
        }
    }

    /// The indices of all elements that satisfy `predicate` now. O(*n*).
    ///
    /// - Precondition: `predicate` does not call this array.
    @inlinable
    public func indices(where predicate: (Element) throws -> Bool) rethrows -> RangeSet<Int> {
        try storage.read("indices(where:)") { state in
            try state.contents.indices(where: predicate)
        }
    }
}

extension SafeArray where Element: Equatable {
    /// The indices of all elements equal to `element` now. O(*n*).
    @inlinable
    public func indices(of element: Element) -> RangeSet<Int> {
        indices { $0 == element }
    }

    /// The index of the first element equal to `element` now. O(*n*).
    @inlinable
    public func firstIndex(of element: Element) -> Int? {
        firstIndex { $0 == element }
    }

    /// The index of the last element equal to `element` now. O(*n*).
    @inlinable
    public func lastIndex(of element: Element) -> Int? {
        lastIndex { $0 == element }
    }

    /// Whether an element equal to `element` is there now. O(*n*), under the lock.
    @inlinable
    public func contains(_ element: Element) -> Bool {
        firstIndex(of: element) != nil
    }
}
