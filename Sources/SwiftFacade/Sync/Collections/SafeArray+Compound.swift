// SPDX-License-Identifier: Apache-2.0
//
// Steps that read and change in one; two calls would be a race.

extension SafeArray {
    /// Changes the element at `index` in place, if there is one, in one step. O(1).
    ///
    /// - Precondition: `body` does not call this array.
    /// - Returns: What `body` returns, or `nil` if `index` is out of range.
    @inlinable
    @discardableResult
    public func update<Result: ~Copyable, Failure: Error>(
        at index: Int,
        _ body: (inout Element) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try changeByClosure("update(at:)") { (elements, observers) throws(Failure) -> Result? in
            guard index >= 0, index < elements.count else { return nil }
            guard let observers else { return try body(&elements[index]) }
            let before = elements[index]
            defer { observers.record(.replacement(at: index, old: [before], new: [elements[index]])) }
            return try body(&elements[index])
        }
    }

    /// Changes the first element that satisfies `predicate` in place, if there is one, in one step. O(*n*).
    ///
    /// - Precondition: Neither closure calls this array.
    /// - Returns: What `body` returns, or `nil` if it did not run.
    @inlinable
    @discardableResult
    public func updateFirst<Result: ~Copyable, Failure: Error>(
        where predicate: (Element) throws(Failure) -> Bool,
        _ body: (inout Element) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try changeByClosure("updateFirst(where:)") { (elements, observers) throws(Failure) -> Result? in
            for index in elements.indices where try predicate(elements[index]) {
                guard let observers else { return try body(&elements[index]) }
                let before = elements[index]
                defer { observers.record(.replacement(at: index, old: [before], new: [elements[index]])) }
                return try body(&elements[index])
            }
            return nil
        }
    }

    /// Removes and returns the first element that satisfies `predicate`, or `nil` if none does, in one step. O(*n*).
    ///
    /// - Precondition: `predicate` does not call this array.
    @inlinable
    @discardableResult
    public func removeFirst<Failure: Error>(
        where predicate: (Element) throws(Failure) -> Bool
    ) throws(Failure) -> Element? {
        try changeByClosure("removeFirst(where:)") { (elements, observers) throws(Failure) -> Element? in
            for index in elements.indices where try predicate(elements[index]) {
                let removed = elements.remove(at: index)
                observers?.record(.removal(at: index, elements: [removed]))
                return removed
            }
            return nil
        }
    }

    /// Adds `element` at the end if no element satisfies `predicate`, in one step; returns whether it did. O(*n*).
    ///
    /// - Precondition: `predicate` does not call this array.
    @inlinable
    @discardableResult
    public func append<Failure: Error>(
        _ element: consuming Element,
        unless predicate: (Element) throws(Failure) -> Bool
    ) throws(Failure) -> Bool {
        let element = element
        return try changeByClosure("append(_:unless:)") { (elements, observers) throws(Failure) -> Bool in
            for known in elements where try predicate(known) { return false }
            elements.append(element)
            observers?.record(.insertion(at: elements.count - 1, elements: [element]))
            return true
        }
    }

    /// Removes and returns all elements, in one step: an element appended meanwhile is in the answer or in the array.
    /// O(1).
    @inlinable
    public func drain() -> [Element] {
        replaceAll(with: [])
    }
}

extension SafeArray where Element: Equatable {
    /// Adds `element` at the end if no equal one is there, in one step; returns whether it did. O(*n*).
    @inlinable
    @discardableResult
    public func appendIfAbsent(_ element: consuming Element) -> Bool {
        let element = element
        return changeByClosure("appendIfAbsent") { elements, observers in
            guard !elements.contains(element) else { return false }
            elements.append(element)
            observers?.record(.insertion(at: elements.count - 1, elements: [element]))
            return true
        }
    }

    /// Removes the first element equal to `element`, in one step; returns whether there was one. O(*n*).
    @inlinable
    @discardableResult
    public func removeFirst(equalTo element: Element) -> Bool {
        removeFirst { $0 == element } != nil
    }
}
