// SPDX-License-Identifier: Apache-2.0
//
// Ranges are checked here and not by the standard library, which traps without a message on a range that does not fit.

/// A range as the caller asked for it, before the count is known. Not a `Range`: `..<(-1)` is none, and making one of
/// it traps without a message.
@frozen @usableFromInline
struct AskedRange: CustomStringConvertible {
    @usableFromInline let start: Int
    /// Behind the last index; `nil` for the count.
    @usableFromInline let end: Int?

    @inlinable
    init(start: Int, end: Int?) {
        self.start = start
        self.end = end
    }

    @inlinable
    init(start: Int, last: Int) {
        // No array reaches up to Int.max, so Int.max also stands for the index behind it.
        self.init(start: start, end: last == .max ? last : last + 1)
    }

    @inlinable
    init(_ range: Range<Int>) {
        self.init(start: range.lowerBound, end: range.upperBound)
    }

    /// `nil` for an expression whose meaning only its own code knows.
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

    /// The meaning of `expression` for `elements`; a range that does not fit is reported. Under the lock: an expression
    /// that is not the standard library's is foreign code.
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
