// SPDX-License-Identifier: Apache-2.0
//
// The input of the computation, a value: changing a copy does not change a running computation.

/// The revenue of some period, in order; equal revenues are equal data.
package struct SalesData: Hashable, Sendable {
    package let revenue: [Double]

    package init(revenue: [Double]) {
        self.revenue = revenue
    }

    /// The mean of the revenue. O(n).
    ///
    /// - Throws: ``SalesError/noRevenue`` when there is none.
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
