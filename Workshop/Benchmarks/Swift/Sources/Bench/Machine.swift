// SPDX-License-Identifier: Apache-2.0
//
// A run's machine, compiler, and load by other processes, as the C suites write them.
// Workshop/Benchmarks/Operations has a link to this file.

import Foundation

struct Machine: Encodable {
    let processor = first(of: "/proc/cpuinfo", after: "model name") ?? "unknown"
    let cores = ProcessInfo.processInfo.activeProcessorCount
    let kernel = "Linux " + (first(of: "/proc/sys/kernel/osrelease", after: "") ?? "unknown")
    /// From scripts/bench: a program does not know its compiler.
    let compiler = ProcessInfo.processInfo.environment["INTERLOCK_COMPILER"] ?? "unknown"

    /// The rest of the first line with this prefix, after its colon.
    private static func first(of path: String, after prefix: String) -> String? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        return text.split(separator: "\n").first { $0.hasPrefix(prefix) }
            .map { line in
                let value = prefix.isEmpty ? line : line.drop { $0 != ":" }.dropFirst()
                return value.trimmingCharacters(in: .whitespaces)
            }
    }
}

/// How busy the rest of the machine is while this value lives, as in Workshop/Benchmarks/runner/report.h.
struct Neighbours {
    private let begin = ContinuousClock.now
    private let usedAtBegin = Self.usedByOthers()

    var coresUsed: Double {
        max(0, Self.usedByOthers() - usedAtBegin) / ((ContinuousClock.now - begin) / .seconds(1))
    }

    /// Seconds of CPU time of all processes less this one's and its children's that have ended: the probes
    /// (States.swift).
    private static func usedByOthers() -> Double {
        guard let stat = try? String(contentsOfFile: "/proc/stat", encoding: .utf8) else { return 0 }
        let fields = stat.prefix { $0 != "\n" }.split(separator: " ").dropFirst().prefix(8).compactMap {
            Double($0)
        }
        let busy = fields.enumerated().filter { $0.offset != 3 && $0.offset != 4 }.map(\.element).reduce(0, +)
        var own = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own)
        var ticks = tms()
        times(&ticks)
        let ofChildren = Double(ticks.tms_cutime + ticks.tms_cstime)
        let ofThis = Double(own.tv_sec) + Double(own.tv_nsec) / 1e9
        return (busy - ofChildren) / Double(sysconf(Int32(_SC_CLK_TCK))) - ofThis
    }
}
