// SPDX-License-Identifier: Apache-2.0
//
// Rounds: each gives every contender the same graph, in an order drawn anew, so that a busy moment of the machine meets
// all alike. Reported are the median and the least.

import Foundation

/// The figures of a graph.
struct Outcome: Encodable {
    struct Line: Encodable {
        let contender: String
        /// For a node with its edge, of each round.
        let nanoseconds: [Double]

        var median: Double { nanoseconds.sorted()[nanoseconds.count / 2] }
    }

    let title: String
    let nodes: Int
    let lines: [Line]

    func median(of contender: String) -> Double? {
        lines.first { $0.contender == contender }?.median
    }

    /// How many times `ours` goes into `peer`: the median of the rounds' ratios.
    func ratio(of peer: String, to ours: String) -> Double? {
        guard
            let dividend = lines.first(where: { $0.contender == peer }),
            let divisor = lines.first(where: { $0.contender == ours })
        else { return nil }
        return zip(dividend.nanoseconds, divisor.nanoseconds).map { $0 / $1 }.sorted()[
            divisor.nanoseconds.count / 2
        ]
    }

    var markdown: String {
        var text = "### \(title)\n\n| | median | least |\n|---|---:|---:|\n"
        for line in lines {
            text += "| \(line.contender) | \(figure(line.median)) | \(figure(line.nanoseconds.min()!)) |\n"
        }
        return text
    }
}

extension Graph {
    /// Small graphs are run several times in a row: a sample has this many nodes at least.
    private static let leastNodes = 10_000

    func measure(rounds: Int) async -> Outcome {
        let contenders = Contenders.all.filter { !hasEdges || above.count <= $0.most }
        let times = max(1, Self.leastNodes / above.count)
        var samples = Array(repeating: [Double](), count: contenders.count)
        for _ in 0..<rounds {
            for index in contenders.indices.shuffled() {
                let begin = ContinuousClock.now
                for _ in 0..<times { await contenders[index].run(self) }
                let time = begin.duration(to: .now) / .nanoseconds(1)
                samples[index].append(time / Double(times * above.count))
            }
        }
        return Outcome(
            title: title,
            nodes: above.count,
            lines: zip(contenders, samples).map { Outcome.Line(contender: $0.name, nanoseconds: $1) }
        )
    }
}

func figure(_ value: Double) -> String {
    value < 10 ? String(format: "%.1f", value) : String(format: "%.0f", value)
}
