// SPDX-License-Identifier: Apache-2.0
//
// The demo's first part: the thousand appends, on guarded arrays and, in children, on one without a guard.

import Foundation
import Interlock
import Report
import SafeAgainstUnsafe
import Timeline

struct ArrayChapter {
    private let reports: [SafeTrials.Report]
    private let endings: [UnsafeTrials.Ending]

    static let children = 10

    static func run() async throws -> ArrayChapter {
        Console.line(
            "1,000 iterations run concurrently; each reads the last element and appends one more than it."
        )
        Console.line()
        let chapter = try await GCD.run {
            ArrayChapter(
                reports: SafeTrials.run(),
                endings: try (0..<children).map { _ in
                    try UnsafeTrials.run(executable: executable, arguments: ["--unprotected-child"])
                }
            )
        }
        Console.table(columns: chapter.table.columns, rows: chapter.table.rows)
        Console.line()
        Console.line(chapter.unsafeNote)
        return chapter
    }

    func add(to page: inout Page) {
        page.safe = table
        page.unsafeNote = unsafeNote
    }

    private static let executable =
        Bundle.main.executableURL ?? URL(filePath: CommandLine.arguments[0])

    private var table: Page.Table {
        Page.Table(
            columns: ["array", "runs with all 1,000 elements", "time for one iteration"],
            rows: reports.map { report in
                [report.name, "\(report.completeRuns) of \(report.counts.count)", report.perIteration.text]
            }
        )
    }

    private var unsafeNote: String {
        var crashes: [Int32: Int] = [:]
        var losses: [Int] = []
        var hung = 0
        for ending in endings {
            switch ending {
            case .crashed(let signal): crashes[signal, default: 0] += 1
            case .finished(let count) where !ending.isComplete: losses.append(count)
            case .finished: break
            case .hung: hung += 1
            }
        }
        var parts: [String] = []
        if !crashes.isEmpty {
            let names = crashes.sorted { $0.key < $1.key }.map {
                "\($0.value) by \(Self.name(ofSignal: $0.key))"
            }
            parts.append("\(crashes.values.reduce(0, +)) crashed (\(names.joined(separator: ", ")))")
        }
        if !losses.isEmpty {
            let counts = losses.map(String.init).joined(separator: ", ")
            parts.append("\(losses.count) lost elements (\(counts) left)")
        }
        if hung > 0 { parts.append("\(hung) hung and had to be killed") }
        let lucky = endings.count(where: \.isComplete)
        if lucky > 0 { parts.append("\(lucky) got through by luck") }
        return
            "An unprotected array, in \(endings.count) child processes of up to \(UnsafeTrials.runsInAChild) runs "
            + "each: \(parts.joined(separator: ", "))."
    }

    private static func name(ofSignal number: Int32) -> String {
        let names = [
            SIGSEGV: "SIGSEGV", SIGABRT: "SIGABRT", SIGILL: "SIGILL", SIGTRAP: "SIGTRAP", SIGBUS: "SIGBUS",
        ]
        return names[number] ?? "signal \(number)"
    }
}
