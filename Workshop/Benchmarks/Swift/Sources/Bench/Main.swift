// SPDX-License-Identifier: Apache-2.0
//
// The Swift facade beside what one would write without it: runs the cells, prints Markdown, and the goals.
//
//     bench_swift [--quick] [--only WORDS] [--rounds N] [--slice MS] [--json FILE]
//     bench_swift --trace    which share of the questions a cache answers

import Foundation

@main
enum Main {
    static func main() async throws {
        var arguments = Array(CommandLine.arguments.dropFirst())
        func value(of flag: String) -> String? {
            guard let index = arguments.firstIndex(of: flag), index + 1 < arguments.count else { return nil }
            defer { arguments.removeSubrange(index...index + 1) }
            return arguments[index + 1]
        }
        if arguments.contains("--trace") { return CacheTrace.print() }
        let json = value(of: "--json")
        let only = value(of: "--only")
        func number(of flag: String, otherwise: Int) -> Int {
            guard let text = value(of: flag) else { return otherwise }
            guard let number = Int(text), number > 0 else { fail("\(flag) takes a number above 0") }
            return number
        }
        let isQuick = arguments.contains("--quick")
        let rounds = number(of: "--rounds", otherwise: isQuick ? 3 : 9)
        let time = Duration.milliseconds(number(of: "--slice", otherwise: isQuick ? 15 : 30))
        arguments.removeAll { $0 == "--quick" }
        guard arguments.isEmpty else { fail("unknown: \(arguments.joined(separator: " "))") }

        let arrays: [ArrayWork] = [
            .read(threads: 1), .read(threads: 2), .append, .mixed(threads: 2, writeEvery: 1_000),
            .mixed(threads: 2, writeEvery: 100), .lastAndAppend,
        ]
        let cells =
            (arrays.map(\.cell) + RingWork.cells + [SuspendingWork.cell(elements: isQuick ? 50_000 : 200_000)]
            + PoolWork.cells + CacheWork.cells)
            .filter { only == nil || $0.title.contains(only!) }

        print("## Swift facade\n")
        print(
            "\(rounds) rounds of \(time) a contender; nanoseconds between two operations, whichever thread does them,",
            "as median ± half the range.\n"
        )
        let neighbours = Neighbours()
        var states = States()
        var outcomes: [Outcome] = []
        for cell in cells {
            let outcome = await cell.measure(rounds: rounds, time: time)
            print(states.around(outcome.title, outcome.markdown))
            outcomes.append(outcome)
        }
        print("### Goals\n\n\(Goal.heading)")
        for row in Goal.all.compactMap({ $0.row(outcomes, states) }) { print(row) }
        if let json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            // A slice without one operation, on a busy machine.
            encoder.nonConformingFloatEncodingStrategy = .convertToString(
                positiveInfinity: "inf",
                negativeInfinity: "-inf",
                nan: "nan"
            )
            let run = Run(
                arguments: Array(CommandLine.arguments.dropFirst()),
                rounds: rounds,
                sliceMilliseconds: time / .milliseconds(1),
                coresUsedByOthers: neighbours.coresUsed,
                states: states,
                cells: outcomes
            )
            try encoder.encode(run).write(to: URL(fileURLWithPath: json))
        }
    }

    private static func fail(_ sentence: String) -> Never {
        FileHandle.standardError.write(Data("error: \(sentence)\n".utf8))
        exit(2)
    }
}
