// SPDX-License-Identifier: Apache-2.0
//
// What is computed with: an immutable value, so that whoever has it may read it on any thread, and a caller who
// changes its own copy changes nothing for a computation under way.

/// The revenue of some period, in the order in which it came in. A value; equal revenues are equal data.
package struct SalesData: Hashable, Sendable {
    package let revenue: [Double]

    package init(revenue: [Double]) {
        self.revenue = revenue
    }

    /// The mean of the revenue. O(n).
    ///
    /// - Throws: ``SalesError/noRevenue`` when there is none: nothing has no mean.
    package var average: Double {
        get throws(SalesError) {
            guard !revenue.isEmpty else { throw .noRevenue }
            return revenue.reduce(0, +) / Double(revenue.count)
        }
    }
}

/// Why there is no average.
package enum SalesError: Error, Equatable, CustomStringConvertible {
    case noRevenue

    package var description: String { "there is no revenue to take the average of" }
}
