// SPDX-License-Identifier: Apache-2.0
//
// Guarded arrays keep every element in every run, and a child's end is reported correctly.

import Foundation
import Testing

@testable import SafeAgainstUnsafe

@Suite struct SafeAgainstUnsafeTests {
    @Test(
        .disabled(if: isThreadSanitized, "ThreadSanitizer does not see a Mutex that a thread had to wait for")
    )
    func everyGuardedArrayKeepsAThousandElementsInEveryRun() {
        let reports = SafeTrials.run(rounds: 10)
        #expect(reports.count == 6)
        for report in reports {
            #expect(report.completeRuns == 10, "\(report.name): \(report.counts)")
            #expect(report.perIteration > .zero)
        }
    }

    private func shell(_ script: String, limit: Duration = .seconds(30)) throws -> UnsafeTrials.Ending {
        try UnsafeTrials.run(executable: URL(filePath: "/bin/sh"), arguments: ["-c", script], limit: limit)
    }

    @Test func howAChildEndedIsToldAsItWas() throws {
        #expect(try shell("echo 1000") == .finished(count: 1000))
        #expect(try shell("echo 1000").isComplete)
        #expect(try shell("echo 998") == .finished(count: 998))
        #expect(try !shell("echo 998").isComplete)
        #expect(try shell("kill -SEGV $$") == .crashed(signal: SIGSEGV))
        #expect(try shell("exit 3") == .crashed(signal: 3))
        #expect(try shell("read forever < /dev/zero", limit: .milliseconds(300)) == .hung)
        #expect(throws: (any Error).self) {
            try UnsafeTrials.run(executable: URL(filePath: "/nonexistent"), arguments: [])
        }
    }
}
