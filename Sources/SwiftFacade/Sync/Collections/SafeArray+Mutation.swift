// SPDX-License-Identifier: Apache-2.0
//
// Array's verbs that add and remove single elements and the whole, each one atomic step, in place. Verbs that take
// closures run as accesses by closure.

extension SafeArray {
    // MARK: Adding

    /// Adds `element` at the end. Amortised O(1); O(*n*) once beside a snapshot.
    @inlinable
    public func append(_ element: consuming Element) {
        let element = element
        change("append") { elements, observers in
            elements.append(element)
            observers?.record(.insertion(at: elements.count - 1, elements: [element]))
        }
    }

    /// Adds the elements of a sequence, iterated before the lock is taken, at the end. O(length of the sequence).
    @inlinable
    public func append(contentsOf newElements: some Sequence<Element>) {
        let added = Array(newElements)
        guard !added.isEmpty else { return }
        change("append(contentsOf:)") { elements, observers in
            elements.append(contentsOf: added)
            observers?.record(.insertion(at: elements.count - added.count, elements: added))
        }
    }

    /// Adds the elements of a sequence at the end, in one step. The sequence is iterated before the lock is taken.
    @inlinable
    public static func += (array: SafeArray, newElements: some Sequence<Element>) {
        array.append(contentsOf: newElements)
    }

    /// Inserts `element` before the element at `index`, or at the end if `index` is the count. O(*n*).
    ///
    /// - Precondition: `index` is in `0...count`.
    @inlinable
    public func insert(_ element: consuming Element, at index: Int) {
        let element = element
        change("insert(_:at:)") { elements, observers in
            guard index >= 0, index <= elements.count else {
                outOfRange("insert(_:at:)", index, count: elements.count)
            }
            elements.insert(element, at: index)
            observers?.record(.insertion(at: index, elements: [element]))
        }
    }

    /// Inserts the elements of a collection before the element at `index`, or at the end if `index` is the count.
    /// O(*n*).
    ///
    /// - Precondition: `index` is in `0...count`.
    @inlinable
    public func insert(contentsOf newElements: some Collection<Element>, at index: Int) {
        let added = Array(newElements)
        change("insert(contentsOf:at:)") { elements, observers in
            guard index >= 0, index <= elements.count else {
                outOfRange("insert(contentsOf:at:)", index, count: elements.count)
            }
            elements.insert(contentsOf: added, at: index)
            if !added.isEmpty {
                observers?.record(.insertion(at: index, elements: added))
            }
        }
    }

    /// Makes room for at least `minimumCapacity` elements in all. O(*n*).
    @inlinable
    public func reserveCapacity(_ minimumCapacity: Int) {
        change("reserveCapacity") { elements, _ in
            elements.reserveCapacity(minimumCapacity)
        }
    }

    // MARK: Taking out

    /// Removes and returns the element at `index`. O(*n*).
    ///
    /// - Precondition: `index` is in `0..<count`.
    @inlinable
    @discardableResult
    public func remove(at index: Int) -> Element {
        change("remove(at:)") { elements, observers in
            guard index >= 0, index < elements.count else {
                outOfRange("remove(at:)", index, count: elements.count)
            }
            let removed = elements.remove(at: index)
            observers?.record(.removal(at: index, elements: [removed]))
            return removed
        }
    }

    /// Removes and returns the last element, or `nil` if there is none. O(1).
    @inlinable
    public func popLast() -> Element? {
        change("popLast") { elements, observers in
            guard let removed = elements.popLast() else { return nil }
            observers?.record(.removal(at: elements.count, elements: [removed]))
            return removed
        }
    }

    /// Removes and returns the first element, or `nil` if there is none. O(*n*); for a queue use an ``MPMCRing``.
    @inlinable
    public func popFirst() -> Element? {
        change("popFirst") { elements, observers in
            guard !elements.isEmpty else { return nil }
            let removed = elements.removeFirst()
            observers?.record(.removal(at: 0, elements: [removed]))
            return removed
        }
    }

    /// Removes and returns the last element. O(1).
    ///
    /// - Precondition: The array is not empty; where another thread may empty it, use ``popLast()``.
    @inlinable
    @discardableResult
    public func removeLast() -> Element {
        change("removeLast") { elements, observers in
            guard let removed = elements.popLast() else { impossible("removeLast", 1, count: 0) }
            observers?.record(.removal(at: elements.count, elements: [removed]))
            return removed
        }
    }

    /// Removes and returns the first element. O(*n*).
    ///
    /// - Precondition: The array is not empty; where another thread may empty it, use ``popFirst()``.
    @inlinable
    @discardableResult
    public func removeFirst() -> Element {
        change("removeFirst") { elements, observers in
            guard !elements.isEmpty else { impossible("removeFirst", 1, count: 0) }
            let removed = elements.removeFirst()
            observers?.record(.removal(at: 0, elements: [removed]))
            return removed
        }
    }

    /// Removes the last `count` elements. O(`count`).
    ///
    /// - Precondition: There are that many.
    @inlinable
    public func removeLast(_ count: Int) {
        let removed = change("removeLast(_:)") { elements, observers in
            guard count >= 0, count <= elements.count else {
                impossible("removeLast(_:)", count, count: elements.count)
            }
            let removed = Self.kept(elements.suffix(count), observers)
            elements.removeLast(count)
            if count > 0 {
                observers?.record(.removal(at: elements.count, elements: removed))
            }
            return removed
        }
        withExtendedLifetime(removed) {}
    }

    /// Removes the first `count` elements. O(*n*).
    ///
    /// - Precondition: There are that many.
    @inlinable
    public func removeFirst(_ count: Int) {
        let removed = change("removeFirst(_:)") { elements, observers in
            guard count >= 0, count <= elements.count else {
                impossible("removeFirst(_:)", count, count: elements.count)
            }
            let removed = Self.kept(elements.prefix(count), observers)
            elements.removeFirst(count)
            if count > 0 {
                observers?.record(.removal(at: 0, elements: removed))
            }
            return removed
        }
        withExtendedLifetime(removed) {}
    }

    /// Removes the elements that satisfy `predicate`. O(*n*).
    ///
    /// - Precondition: `predicate` does not call this array.
    /// - Throws: What `predicate` throws; nothing has been removed then.
    @inlinable
    public func removeAll<Failure: Error>(
        where predicate: (Element) throws(Failure) -> Bool
    ) throws(Failure) {
        var removed: [Element] = []
        defer { withExtendedLifetime(removed) {} }
        try changeWhole("removeAll(where:)") { (elements) throws(Failure) in
            // The standard library's rethrows; this one keeps the error's type, and changes nothing if the predicate
            // throws.
            var kept = elements.startIndex
            var marks: [Bool] = []
            marks.reserveCapacity(elements.count)
            for element in elements { marks.append(try predicate(element)) }
            for index in elements.indices where !marks[index] {
                elements.swapAt(kept, index)
                kept += 1
            }
            removed = Self.kept(elements[kept...], nil)
            elements.removeSubrange(kept...)
        }
    }

    /// Removes all elements, which are released after the lock. O(*n*) to release them.
    ///
    /// - Parameter keepingCapacity: Whether as many elements fit afterwards without growing. Elements that hold
    ///   references get new storage for that.
    @inlinable
    public func removeAll(keepingCapacity: Bool = false) {
        guard keepingCapacity else {
            _ = replaceAll(with: [])
            return
        }
        let removed = change("removeAll") { elements, observers in
            var removed: [Element] = []
            if observers == nil && _isPOD(Element.self) {
                elements.removeAll(keepingCapacity: true)
                return removed
            }
            removed.reserveCapacity(elements.capacity)
            swap(&removed, &elements)
            if !removed.isEmpty {
                observers?.record(.removal(at: 0, elements: removed))
            }
            return removed
        }
        withExtendedLifetime(removed) {}
    }
}
