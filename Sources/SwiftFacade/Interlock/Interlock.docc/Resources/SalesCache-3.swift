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

/// The averages that were asked for. Thread-safe.
final class Averages: Sendable {
    private let known = SafeDictionary<SalesData, Double>()

    func average(of data: SalesData) throws -> Double {
        // One step: computed at most once, but under the lock.
        try known.value(forKey: data, orInsert: try data.average())
    }
}
