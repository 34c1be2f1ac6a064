// SPDX-License-Identifier: Apache-2.0
//
// Elements that are replaced or change places. Each verb is one atomic step, in place.

extension SafeArray {
    /// Replaces the element at `index` and returns the previous one. O(1).
    ///
    /// - Precondition: `index` is in `0..<count`.
    @inlinable
    @discardableResult
    public func replace(at index: Int, with element: consuming Element) -> Element {
        let element = element
        return change("replace(at:with:)") { elements, observers in
            guard index >= 0, index < elements.count else {
                outOfRange("subscript", index, count: elements.count)
            }
            var exchanged = element
            swap(&elements[index], &exchanged)
            observers?.record(.replacement(at: index, old: [exchanged], new: [element]))
            return exchanged
        }
    }

    /// Replaces all elements and returns the previous ones. O(1).
    @inlinable
    @discardableResult
    public func replaceAll(with newElements: [Element]) -> [Element] {
        change("replaceAll(with:)") { elements, observers in
            var exchanged = newElements
            swap(&elements, &exchanged)
            observers?.record(.replacement(at: 0, old: exchanged, new: newElements))
            return exchanged
        }
    }

    /// Exchanges the elements at two indices. O(1).
    ///
    /// - Precondition: Both are in `0..<count`.
    @inlinable
    public func swapAt(_ i: Int, _ j: Int) {
        change("swapAt") { elements, observers in
            let count = elements.count
            guard i >= 0, i < count else { outOfRange("swapAt", i, count: count) }
            guard j >= 0, j < count else { outOfRange("swapAt", j, count: count) }
            guard i != j else { return }
            elements.swapAt(i, j)
            if let observers {
                observers.record(.replacement(at: i, old: [elements[j]], new: [elements[i]]))
                observers.record(.replacement(at: j, old: [elements[i]], new: [elements[j]]))
            }
        }
    }

    /// Sorts by the caller's order. O(*n* log *n*). Stable.
    ///
    /// - Precondition: `areInIncreasingOrder` does not call this array.
    @inlinable
    public func sort(by areInIncreasingOrder: (Element, Element) throws -> Bool) rethrows {
        try changeWhole("sort(by:)") { elements in
            try elements.sort(by: areInIncreasingOrder)
        }
    }

    /// Reverses the elements. O(*n*).
    @inlinable
    public func reverse() {
        changeWhole("reverse") { $0.reverse() }
    }

    /// Puts the elements in random order. O(*n*).
    @inlinable
    public func shuffle() {
        changeWhole("shuffle") { $0.shuffle() }
    }

    /// Puts the elements in an order that `generator` chooses. O(*n*).
    ///
    /// - Precondition: `generator` does not call this array.
    @inlinable
    public func shuffle(using generator: inout some RandomNumberGenerator) {
        changeWhole("shuffle(using:)") { $0.shuffle(using: &generator) }
    }

    /// Puts the elements that satisfy `belongsInSecondPartition` behind the others, and returns the index of the first
    /// of them. O(*n*). Not stable.
    ///
    /// - Precondition: The closure does not call this array.
    @inlinable
    @discardableResult
    public func partition(by belongsInSecondPartition: (Element) throws -> Bool) rethrows -> Int {
        try changeWhole("partition(by:)") { elements in
            try elements.partition(by: belongsInSecondPartition)
        }
    }
}

extension SafeArray where Element: Comparable {
    /// Sorts. O(*n* log *n*). Stable.
    @inlinable
    public func sort() {
        changeWhole("sort") { $0.sort() }
    }
}
