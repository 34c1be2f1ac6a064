// SPDX-License-Identifier: Apache-2.0
//
// The machine's state before and after each table, from Workshop/Benchmarks/state, which scripts/bench builds. Without
// that program no state is known. Workshop/Benchmarks/Operations has a link to this file.

import Foundation

/// A probe of the machine, under the names of Workshop/Benchmarks/runner/state.h.
struct Probed: Codable {
    let state: String
    let reasons: [String]
    let additions, additionsAtBest, additionsPerStep: Double
    let locked, lockedAtBest, trip, tripAtBest: Double
    let coreShare, coresUsedByOthers, coresStolen, watched: Double

    enum CodingKeys: String, CodingKey {
        case state, reasons
        case additions = "additions_per_ns"
        case additionsAtBest = "additions_per_ns_best"
        case additionsPerStep = "additions_per_step"
        case locked = "locked_ns"
        case lockedAtBest = "locked_ns_best"
        case trip = "line_trip_ns"
        case tripAtBest = "line_trip_ns_best"
        case coreShare = "core_share"
        case coresUsedByOthers = "cores_used_by_others"
        case coresStolen = "cores_stolen"
        case watched = "watched_s"
    }
}

struct States {
    struct Table: Encodable {
        let table: String
        let state: String
        let before: Probed
        let after: Probed
    }

    private(set) var tables: [Table] = []
    private var last: (text: String, probed: Probed)?

    /// Probes the machine before the first table.
    init() {
        last = Self.probe()
    }

    /// The table that was just measured, with a line before and one after its rows.
    mutating func around(_ title: String, _ markdown: String) -> String {
        guard let before = last, let after = Self.probe() else { return markdown }
        last = after
        let hasChanged = before.probed.state != after.probed.state
        let state = hasChanged ? "changed" : after.probed.state
        tables.append(Table(table: title, state: state, before: before.probed, after: after.probed))
        let lines = markdown.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        return """
            \(lines[0])

            Before: \(before.text)
            \(lines.count > 1 ? lines[1] : "")
            After: \(hasChanged ? "**changed**, " : "")\(after.text)

            """
    }

    /// Of the table of that title: quiet, shared, changed or unknown.
    subscript(title: String) -> String {
        tables.first { $0.table == title }?.state ?? "unknown"
    }

    /// Of several tables.
    func together(_ titles: [String]) -> String {
        Self.together(titles.map { self[$0] })
    }

    var ofRun: String { Self.together(tables.map(\.state)) }

    private static func together(_ states: [String]) -> String {
        let known = Set(states).subtracting(["unknown"])
        return known.count > 1 ? "changed" : known.first ?? "unknown"
    }

    /// Nil where the program is missing; ends this one where a probe fails.
    private static func probe() -> (text: String, probed: Probed)? {
        let environment = ProcessInfo.processInfo.environment
        guard let program = environment["INTERLOCK_BENCH_STATE"] else { return nil }
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = environment["INTERLOCK_BENCH_BEST"].map { ["--keep", $0] } ?? []
        process.standardOutput = output
        do {
            try process.run()
            let data = try output.fileHandleForReading.readToEnd() ?? Data()
            process.waitUntilExit()
            let end = data.firstIndex(of: UInt8(ascii: "\n")) ?? data.endIndex
            let probed = try JSONDecoder().decode(Probed.self, from: data[end...])
            return (String(decoding: data[..<end], as: UTF8.self), probed)
        } catch {
            FileHandle.standardError.write(
                Data("error: \(program) did not tell the machine's state: \(error)\n".utf8)
            )
            exit(2)
        }
    }
}
