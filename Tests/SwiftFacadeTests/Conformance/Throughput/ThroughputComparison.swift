// SPDX-License-Identifier: Apache-2.0
//
// The C core's throughput beside the best pure-Swift version's, printed as ratios of medians.
//
// It fails only in an optimised build, where even the best round of the C-backed version is slower than half the
// other's median, twice in a row: a busy machine does not slow all rounds of one side.
//
//     INTERLOCK_COMPARE=1 swift test -c release --filter ThroughputComparison
//
// (-enable-testing because other tests of the same target import internals.) In a debug build it runs shorter and says
// that the ratios mean nothing.

import Foundation
import Testing

@Suite("throughput: C-backed over pure Swift", .serialized)
struct ThroughputComparison {
    @Test func noCoreIsSlowerThanHalfItsPureSwiftVersion() async throws {
        let report = Journal<Contest.Ratio>()
        try await onThread {
            print(
                isOptimised
                    ? "\n" + Contest.Ratio.heading
                    : """

                    A debug build: the ratios below mean nothing, the comparison only shows that it runs.
                    For figures: INTERLOCK_COMPARE=1 swift test -c release --filter ThroughputComparison
                    \(Contest.Ratio.heading)
                    """
            )
            for contest in Contests.all {
                var ratios = measure(contest)
                if isOptimised && ratios.contains(where: \.isSlowerThanHalf) {
                    print("\(contest.title): slower than half; measured again")
                    ratios = measure(contest)
                }
                for ratio in ratios { print(ratio.line) }
                report.note(contentsOf: ratios)
            }
        }
        #expect(!report.entries.isEmpty)
        for ratio in report.entries {
            #expect(ratio.core > 0 && ratio.other > 0, "\(ratio.title): nothing was done at all")
            if isOptimised {
                #expect(!ratio.isSlowerThanHalf, "slower than half: \(ratio.line)")
            }
        }
    }
}

private func measure(_ contest: Contest) -> [Contest.Ratio] {
    isOptimised
        ? contest.ratios(rounds: 7, time: .milliseconds(20))
        : contest.ratios(rounds: 3, time: .milliseconds(3))
}
