// SPDX-License-Identifier: Apache-2.0
//
// Cells: pieces of work, each done by several contenders in turns. A round gives every contender one slice, in a new
// order. Reported are the rounds' median, and half the distance from the fastest to the slowest.

import Foundation

/// Answers nanoseconds an operation in one slice.
struct Contender: Sendable {
    let name: String
    let run: @Sendable (_ time: Duration) async -> Double

    init(_ name: String, _ run: @escaping @Sendable (_ time: Duration) async -> Double) {
        self.name = name
        self.run = run
    }
}

/// A piece of work.
struct Cell: Sendable {
    let title: String
    let contenders: [Contender]
}

/// The figures of a cell.
struct Outcome: Codable {
    struct Line: Codable {
        let contender: String
        let nanoseconds: [Double]

        var median: Double { nanoseconds.sorted()[nanoseconds.count / 2] }
        var spread: Double { ((nanoseconds.max() ?? 0) - (nanoseconds.min() ?? 0)) / 2 }
    }

    let title: String
    let lines: [Line]

    /// How many times `by` goes into `of`: the median of the rounds' ratios.
    func ratio(_ of: String, _ by: String) -> Double? {
        guard
            let dividend = lines.first(where: { $0.contender == of }),
            let divisor = lines.first(where: { $0.contender == by })
        else { return nil }
        return zip(dividend.nanoseconds, divisor.nanoseconds).map { $0 / $1 }.sorted()[
            divisor.nanoseconds.count / 2
        ]
    }

    var markdown: String {
        let base = lines[0].median
        var text = "### \(title)\n\n| | ns | ± | times \(lines[0].contender) |\n|---|---:|---:|---:|\n"
        for line in lines {
            text +=
                "| \(line.contender) | \(figure(line.median)) | \(figure(line.spread)) | \(figure(line.median / base)) |\n"
        }
        return text
    }
}

extension Cell {
    func measure(rounds: Int, time: Duration) async -> Outcome {
        var samples = Array(repeating: [Double](), count: contenders.count)
        for _ in 0..<rounds {
            for index in contenders.indices.shuffled() {
                samples[index].append(await contenders[index].run(time))
            }
        }
        return Outcome(
            title: title,
            lines: zip(contenders, samples).map { Outcome.Line(contender: $0.name, nanoseconds: $1) }
        )
    }
}

/// Three significant digits.
func figure(_ value: Double) -> String {
    switch value {
    case ..<10: String(format: "%.2f", value)
    case ..<100: String(format: "%.1f", value)
    default: String(format: "%.0f", value)
    }
}
