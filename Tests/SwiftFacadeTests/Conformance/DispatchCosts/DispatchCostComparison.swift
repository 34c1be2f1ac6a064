// SPDX-License-Identifier: Apache-2.0
//
// What the helpers of `GCD` cost beside what they wrap, printed as ratios of medians, measured in turns.
//
// It fails only in an optimised build, where even the helper's best round exceeds its limit times the other's median,
// twice in a row. In a debug build, among a thousand other tests, it does each pair a few times: to await one of them
// is to stand behind every task of theirs.
//
//     INTERLOCK_COMPARE=1 swift test -c release --filter DispatchCostComparison

import Foundation
import Testing
// contract: GCD
@Suite("costs: helpers over plain dispatch", .serialized)
struct DispatchCostComparison {
    private struct Measured: Sendable {
        let title: String
        let limit: Double
        let (helper, plain, best): (Double, Double, Double)

        var isWithinLimit: Bool { best <= limit * plain }

        var line: String {
            title.padding(toLength: 38, withPad: " ", startingAt: 0)
                + String(format: "%9.0f  %9.0f  %6.2f", helper, plain, helper / plain)
        }
    }

    @Test func noHelperCostsMoreThanItsLimit() async throws {
        let report = Journal<Measured>()
        try await onThread {
            let heading = "helper / plain".padding(toLength: 38, withPad: " ", startingAt: 0)
            print(isOptimised ? "" : "\nA debug build: the ratios below mean nothing.")
            print(heading + "   helper      plain   ratio  (ns each)")
            for pair in DispatchPairs.all {
                var measured = measure(pair)
                if isOptimised && !measured.isWithinLimit { measured = measure(pair) }
                print(measured.line)
                report.note(contentsOf: [measured])
            }
        }
        #expect(report.entries.count == DispatchPairs.all.count)
        for measured in report.entries {
            #expect(measured.best > 0 && measured.plain > 0, "\(measured.title): nothing was done at all")
            if isOptimised {
                #expect(
                    measured.isWithinLimit,
                    "dearer than \(measured.limit) times the plain form: \(measured.line)"
                )
            }
        }
    }

    private func measure(_ pair: DispatchPair) -> Measured {
        let rounds = isOptimised ? 9 : 1
        let count = isOptimised ? pair.count : 5
        var times: [[Double]] = [[], []]
        for round in 0..<rounds {
            // The other one goes first each round.
            for work in [round % 2, 1 - round % 2] {
                let begin = ContinuousClock.now
                (work == 0 ? pair.helper : pair.plain)(count)
                times[work].append((ContinuousClock.now - begin) / .nanoseconds(1) / Double(count))
            }
        }
        let sorted = times.map { $0.sorted() }
        return Measured(
            title: pair.title,
            limit: pair.limit,
            helper: sorted[0][rounds / 2],
            plain: sorted[1][rounds / 2],
            best: sorted[0][0]
        )
    }
}
