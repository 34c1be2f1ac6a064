// SPDX-License-Identifier: Apache-2.0
//
// The changes of an array, and subscribing to them. Internal/ChangeMailbox.swift says how an announcement travels.

extension SafeArray {
    /// One change. Applied in order to a snapshot taken when the subscription began, the changes give the contents at
    /// every later moment.
    public enum Change {
        /// Elements were inserted; the index is the first's.
        case insertion(at: Int, elements: [Element])
        /// Elements were removed; the index was the first's.
        case removal(at: Int, elements: [Element])
        /// Elements from the index on were replaced, by more or fewer too.
        case replacement(at: Int, old: [Element], new: [Element])

        /// Makes the change to `elements`. O(*n*).
        ///
        /// - Precondition: `elements` is as before the change. An array that is too short is reported and ends the
        ///   process.
        public func apply(to elements: inout [Element]) {
            switch self {
            case .insertion(let index, let added): replace(index, 0, with: added, in: &elements)
            case .removal(let index, let removed): replace(index, removed.count, with: [], in: &elements)
            case .replacement(let index, let old, let new):
                replace(index, old.count, with: new, in: &elements)
            }
        }

        private func replace(_ index: Int, _ count: Int, with new: [Element], in elements: inout [Element]) {
            guard index >= 0, index <= elements.count - count else {
                let (end, overflows) = index.addingReportingOverflow(count)
                misuse(
                    "SafeArray<\(Element.self)>.Change.apply(to:)",
                    nil,
                    "of \(elements.count) elements, those at \(index)..<\(overflows ? .max : end) are not there to be changed"
                )
            }
            elements.replaceSubrange(index..<index + count, with: new)
        }
    }
}

extension SafeArray.Change: Sendable where Element: Sendable {}
extension SafeArray.Change: Equatable where Element: Equatable {}
extension SafeArray.Change: Hashable where Element: Hashable {}

extension SafeArray where Element: Sendable {
    /// Every change from now on, in order, as an asynchronous sequence; each call begins one. It ends when the loop and
    /// the sequence are left, and, after the last change, when the array is gone. A consumer whose task is cancelled
    /// ends alone. `changes(deliverOn:_:)` of `InterlockOperations` delivers on a dispatch queue instead.
    ///
    /// Writers keep each change and wake the consumer, which compares and delivers. Each change goes to one consumer of
    /// a sequence: take a sequence for each that wants all. Changes are kept until asked for, while the sequence is
    /// there: a consumer slower than the writers, or none, needs more and more memory.
    public func changes() -> ChangesSequence<Change> {
        makeChangesSequence()
    }
}

extension SafeArray: ChangeSource {
    package static func announcement(of change: Change) -> Change? {
        change.withoutEqualEnds
    }

    package func updateObservers(_ body: (Observers?) -> Observers?) {
        storage.updateObservers(body)
    }
}

extension SafeArray.Change {
    /// The change without the equal elements at both ends, or `nil` if nothing is left. Elements are compared where
    /// they are `Equatable`.
    fileprivate var withoutEqualEnds: Self? {
        guard case .replacement(let index, let old, let new) = self else { return self }
        guard Element.self is any Equatable.Type else {
            return old.isEmpty && new.isEmpty ? nil : self
        }
        let shorter = Swift.min(old.count, new.count)
        let front = (0..<shorter).first { !areKnownEqual(old[$0], new[$0]) } ?? shorter
        let back =
            (0..<shorter - front).first { !areKnownEqual(old[old.count - 1 - $0], new[new.count - 1 - $0]) }
            ?? shorter - front
        let gone = Array(old[front..<old.count - back])
        let come = Array(new[front..<new.count - back])
        switch (gone.isEmpty, come.isEmpty) {
        case (true, true): return nil
        case (true, false): return .insertion(at: index + front, elements: come)
        case (false, true): return .removal(at: index + front, elements: gone)
        case (false, false): return .replacement(at: index + front, old: gone, new: come)
        }
    }
}
