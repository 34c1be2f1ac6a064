// SPDX-License-Identifier: Apache-2.0
//
// Ranges of elements, and sets of ranges. A read copies the elements under the lock: beside a slice, the next write
// would copy the whole storage.

extension SafeArray {
    // MARK: Reading

    /// A copy of the elements in `range`; assigning replaces them, by more or fewer too. A change in place
    /// (`array[2..<5].sort()`) holds the lock for writing and is one step.
    ///
    /// - Precondition: `range` lies within the indices.
    /// - Precondition: A change in place does not call this array, and does not suspend (`await`).
    /// - Complexity: O(length of the range) to read; as ``replaceSubrange(_:with:)-(Range<Int>,_)`` to change.
    @inlinable
    public subscript(range: Range<Int>) -> [Element] {
        get { copy("subscript", AskedRange(range)) }
        set { replace(AskedRange(range), with: newValue) }
        _modify { yield &self[asked: range] }
    }

    /// A copy of the elements in a range expression: `2...`, `..<3`, or one of the caller's own, which is evaluated
    /// under the lock; assigning replaces them, by more or fewer too. A change in place (`array[2...].sort()`) holds
    /// the lock for writing and is one step.
    ///
    /// - Precondition: The range lies within the indices.
    /// - Precondition: A change in place does not call this array, and does not suspend (`await`).
    /// - Complexity: O(length of the range) to read; as ``replaceSubrange(_:with:)-(Range<Int>,_)`` to change.
    @inlinable
    public subscript(range: some RangeExpression<Int>) -> [Element] {
        get { copy("subscript", expression: range) }
        set { replace(expression: range, with: newValue) }
        _modify { yield &self[asked: range] }
    }

    /// All elements: `array[...]`.
    @inlinable
    public subscript(_: UnboundedRange) -> [Element] {
        get { snapshot }
        set { replaceAll(with: newValue) }
        _modify { yield &self[asked: 0...] }
    }

    /// A change in place of several elements.
    @inlinable
    subscript(asked expression: some RangeExpression<Int>) -> [Element] {
        get { copy("subscript", expression: expression) }
        _modify {
            storage.beginWriting("subscript")
            let location = storage.location
            let observers = location.pointee.state.observers
            let range = checked("subscript", expression, of: location.pointee.state.contents)
            var several = Array(location.pointee.state.contents[range])
            defer {
                let removed = Self.kept(location.pointee.state.contents[range], observers)
                observers?.record(.replacement(at: range.lowerBound, old: removed, new: several))
                location.pointee.state.contents.replaceSubrange(range, with: several)
                storage.endWriting()
                withExtendedLifetime(removed) {}
                observers?.announce(self)
            }
            yield &several
        }
    }

    /// The first `maximum` elements, or all if there are fewer. O(length of the answer).
    ///
    /// - Precondition: `maximum` is not negative.
    @inlinable
    public func prefix(_ maximum: Int) -> [Element] {
        copy("prefix", maximum) { $0.prefix(maximum) }
    }

    /// The last `maximum` elements, or all if there are fewer. O(length of the answer).
    ///
    /// - Precondition: `maximum` is not negative.
    @inlinable
    public func suffix(_ maximum: Int) -> [Element] {
        copy("suffix", maximum) { $0.suffix(maximum) }
    }

    /// All but the first `count` elements. O(length of the answer).
    ///
    /// - Precondition: `count` is not negative.
    @inlinable
    public func dropFirst(_ count: Int = 1) -> [Element] {
        copy("dropFirst", count) { $0.dropFirst(count) }
    }

    /// All but the last `count` elements. O(length of the answer).
    ///
    /// - Precondition: `count` is not negative.
    @inlinable
    public func dropLast(_ count: Int = 1) -> [Element] {
        copy("dropLast", count) { $0.dropLast(count) }
    }

    // MARK: Changing

    /// Replaces the elements in `range` by new ones, iterated before the lock is taken. O(*n*).
    ///
    /// - Precondition: `range` lies within the indices.
    @inlinable
    public func replaceSubrange(_ range: Range<Int>, with newElements: some Collection<Element>) {
        replace(AskedRange(range), with: Array(newElements))
    }

    /// Replaces the elements in a range expression by new ones, iterated before the lock is taken. O(*n*).
    ///
    /// - Precondition: The range lies within the indices.
    @inlinable
    public func replaceSubrange(
        _ range: some RangeExpression<Int>,
        with newElements: some Collection<Element>
    ) {
        replace(expression: range, with: Array(newElements))
    }

    /// Removes the elements in `range`. O(*n*).
    ///
    /// - Precondition: `range` lies within the indices.
    @inlinable
    public func removeSubrange(_ range: Range<Int>) {
        replace(AskedRange(range), with: [])
    }

    /// Removes the elements in a range expression. O(*n*).
    ///
    /// - Precondition: The range lies within the indices.
    @inlinable
    public func removeSubrange(_ range: some RangeExpression<Int>) {
        replace(expression: range, with: [])
    }

    /// Removes the elements at a set of indices. O(*n*).
    ///
    /// - Precondition: Each range lies within the indices.
    @inlinable
    public func removeSubranges(_ subranges: RangeSet<Int>) {
        var removed: [Element] = []
        defer { withExtendedLifetime(removed) {} }
        changeWhole("removeSubranges") { elements in
            for range in subranges.ranges {
                let range = checked("removeSubranges", AskedRange(range), count: elements.count)
                removed += Self.kept(elements[range], nil)
            }
            elements.removeSubranges(subranges)
        }
    }

    /// Moves the elements at a set of indices together, in their order, to just before the element at `index`. O(*n*
    /// log *n*).
    ///
    /// - Returns: Their range afterwards.
    /// - Precondition: Each range lies within the indices, and `index` is in `0...count`.
    @inlinable
    @discardableResult
    public func moveSubranges(_ subranges: RangeSet<Int>, to index: Int) -> Range<Int> {
        changeWhole("moveSubranges(_:to:)") { elements in
            for range in subranges.ranges {
                _ = checked("moveSubranges(_:to:)", AskedRange(range), count: elements.count)
            }
            guard index >= 0, index <= elements.count else {
                outOfRange("moveSubranges(_:to:)", index, count: elements.count)
            }
            return elements.moveSubranges(subranges, to: index)
        }
    }

    // MARK: How

    @inlinable
    func copy(_ call: StaticString, expression: some RangeExpression<Int>) -> [Element] {
        if let range = AskedRange(expression) { return copy(call, range) }
        return storage.read(call) { state in
            Array(state.contents[checked(call, expression, of: state.contents)])
        }
    }

    @inlinable
    func copy(_ call: StaticString, _ range: AskedRange) -> [Element] {
        let section = storage.lockForReading(call)
        defer { storage.unlockForReading(section) }
        return Array(
            storage.state.contents[checked(call, range, count: storage.state.contents.count)]
        )
    }

    @inlinable
    func copy(_ call: StaticString, _ length: Int, _ part: ([Element]) -> ArraySlice<Element>) -> [Element] {
        let section = storage.lockForReading(call)
        defer { storage.unlockForReading(section) }
        guard length >= 0 else { impossible("\(call)", length, count: storage.state.contents.count) }
        return Array(part(storage.state.contents))
    }

    @inlinable
    func replace(expression: some RangeExpression<Int>, with added: [Element]) {
        if let range = AskedRange(expression) { return replace(range, with: added) }
        var removed: [Element] = []
        defer { withExtendedLifetime(removed) {} }
        changeByClosure("replaceSubrange(_:with:)") { elements, observers in
            let range = checked("replaceSubrange(_:with:)", expression, of: elements)
            removed = Self.kept(elements[range], observers)
            elements.replaceSubrange(range, with: added)
            observers?.record(.replacement(at: range.lowerBound, old: removed, new: added))
        }
    }

    @inlinable
    func replace(_ range: AskedRange, with added: [Element]) {
        let removed = change("replaceSubrange(_:with:)") { elements, observers in
            let range = checked("replaceSubrange(_:with:)", range, count: elements.count)
            let removed = Self.kept(elements[range], observers)
            elements.replaceSubrange(range, with: added)
            observers?.record(.replacement(at: range.lowerBound, old: removed, new: added))
            return removed
        }
        withExtendedLifetime(removed) {}
    }
}
