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
    private let known = SingleFlightCache<SalesData, Double>()

    func average(of data: SalesData) async throws -> Double {
        try await known.value(forKey: data) { try data.average() }
    }
}
