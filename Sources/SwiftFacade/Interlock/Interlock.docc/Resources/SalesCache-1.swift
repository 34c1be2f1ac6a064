// SPDX-License-Identifier: Apache-2.0

import Interlock

/// The revenue of some period.
struct SalesData: Hashable, Sendable {
    let revenue: [Double]

    /// The mean. O(n).
    func average() throws -> Double {
        guard !revenue.isEmpty else { throw NoRevenue() }
        return revenue.reduce(0, +) / Double(revenue.count)
    }
}

struct NoRevenue: Error {}

/// The averages that were asked for. Not to be shared: a class with a variable is not `Sendable`.
final class Averages {
    private var known: [SalesData: Double] = [:]

    func average(of data: SalesData) throws -> Double {
        if let average = known[data] { return average }
        let average = try data.average()
        known[data] = average
        return average
    }
}
