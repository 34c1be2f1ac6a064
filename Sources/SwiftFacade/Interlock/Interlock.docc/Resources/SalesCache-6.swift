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
    private let known = SingleFlightCache<SalesData, Double>(capacity: 1_000)
    /// The sizes of the data whose averages were computed.
    let computed = SafeArray<Int>()

    func average(of data: SalesData) async throws -> Double {
        try await known.value(forKey: data) {
            self.computed.append(data.revenue.count)
            return try data.average()
        }
    }
}

@main
struct Sales {
    static func main() async throws {
        let averages = Averages()
        let sets = [1_000, 10_000, 100_000].map { count in SalesData(revenue: (0..<count).map(Double.init)) }
        try await withThrowingTaskGroup { group in
            for number in 0..<100 {
                group.addTask { try await averages.average(of: sets[number % sets.count]) }
            }
            try await group.waitForAll()
        }
        print("100 answers, \(averages.computed.count) computations")
    }
}
