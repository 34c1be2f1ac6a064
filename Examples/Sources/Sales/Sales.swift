// SPDX-License-Identifier: Apache-2.0
//
// A hundred tasks ask for the averages of the same three sets of data at once: three computations run, none on the main
// thread. `swift run --package-path Examples Sales` shows it.

import Interlock
import SalesData
import Timeline

@main
enum Sales {
    static func main() async {
        let computed = SafeArray<Int>()
        let averages = SalesAverages { data in
            computed.append(data.revenue.count)
            return try data.average
        }
        let sets = [1_000, 100_000, 1_000_000].map { count in
            SalesData(revenue: (0..<count).map { Double($0 % 97) })
        }

        let together = await ContinuousClock().measure {
            await withTaskGroup { group in
                for number in 0..<100 {
                    group.addTask { try? await averages.calculateAverage(of: sets[number % sets.count]) }
                }
            }
        }
        print("100 answers in \(together.text), from \(computed.count) computations")

        let again = await ContinuousClock().measure { _ = try? await averages.calculateAverage(of: sets[0]) }
        print("asked again: \(again.text), and still \(computed.count) computations")

        var revenue = [10.0, 20, 30]
        let data = SalesData(revenue: revenue)
        async let average = averages.calculateAverage(of: data)
        revenue[0] = 1_000_000
        print("average of 10, 20, 30 while the caller changes its copy: \((try? await average) ?? .nan)")

        do {
            print(try await averages.calculateAverage(of: SalesData(revenue: [])))
        } catch {
            print("average of nothing: \(error)")
        }
    }
}
