// SPDX-License-Identifier: Apache-2.0
//
// Ranges are checked here: the standard library traps without a message on one that does not fit.

/// A range as the caller asked for it, before the count is known. Not a `Range`, which traps on `..<(-1)`.
@frozen @usableFromInline
struct AskedRange: CustomStringConvertible {
    @usableFromInline let start: Int
    /// The end, which follows the last index; `nil` for the count.
    @usableFromInline let end: Int?

    @inlinable
    init(start: Int, end: Int?) {
        self.start = start
        self.end = end
    }

    @inlinable
    init(start: Int, last: Int) {
        // No array reaches Int.max, which also stands for the index behind it.
        self.init(start: start, end: last == .max ? last : last + 1)
    }

    @inlinable
    init(_ range: Range<Int>) {
        self.init(start: range.lowerBound, end: range.upperBound)
    }

    /// `nil` for an expression of the caller's own type.
    @inlinable
    init?(_ range: some RangeExpression<Int>) {
        switch range {
        case let range as Range<Int>: self.init(range)
        case let range as ClosedRange<Int>: self.init(start: range.lowerBound, last: range.upperBound)
        case let range as PartialRangeFrom<Int>: self.init(start: range.lowerBound, end: nil)
        case let range as PartialRangeUpTo<Int>: self.init(start: 0, end: range.upperBound)
        case let range as PartialRangeThrough<Int>: self.init(start: 0, last: range.upperBound)
        default: return nil
        }
    }

    @usableFromInline
    var description: String {
        end.map { "\(start)..<\($0)" } ?? "\(start)..."
    }
}

extension SafeArray {
    /// `range` within `count` elements; a range that does not fit is reported.
    @inlinable
    func checked(_ call: StaticString, _ range: AskedRange, count: Int) -> Range<Int> {
        let end = range.end ?? count
        guard range.start >= 0, range.start <= end, end <= count else {
            outOfRange("\(call)", range, count: count)
        }
        return range.start..<end
    }

    /// Does what `checked(_:_:count:)` does, under the lock: a caller's own expression is foreign code.
    @inlinable
    func checked(
        _ call: StaticString,
        _ expression: some RangeExpression<Int>,
        of elements: [Element]
    ) -> Range<Int> {
        let asked = AskedRange(expression) ?? AskedRange(expression.relative(to: elements))
        return checked(call, asked, count: elements.count)
    }
}
