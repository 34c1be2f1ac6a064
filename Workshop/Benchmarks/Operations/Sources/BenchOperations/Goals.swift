// SPDX-License-Identifier: Apache-2.0
//
// The goals of the operations, whether a run reached them and in which state of the machine; and whether the cost of a
// node grows with the graph.

struct Goals {
    private static let job = "InterlockQueue, Job"
    private static let operation = "InterlockQueue, AsyncOperation"

    let outcomes: [Outcome]
    let states: States
    let sizes: [Size]

    var markdown: String {
        let header = "### Goals\n\n| goal | wanted | seen | | state |\n|---|---:|---:|---|---|\n"
        return header + (ratios + costs + growth + bytes).joined(separator: "\n")
    }

    private func outcome(_ graph: Graph) -> Outcome? {
        outcomes.first { $0.title == graph.title }
    }

    /// `graphs`: those whose tables have the figures.
    private func row(
        _ claim: String,
        _ wanted: String,
        _ seen: String,
        _ isReached: Bool,
        _ graphs: [Graph] = []
    ) -> String {
        let state = graphs.isEmpty ? "–" : states.together(graphs.map(\.title))
        return "| \(claim) | \(wanted) | \(seen) | \(isReached ? "reached" : "**missed**") | \(state) |"
    }

    // MARK: Beside OperationQueue

    private var ratios: [String] {
        let independent = Graph.independent(100_000)
        let chain = Graph.chain(2_000)
        let block = "OperationQueue, BlockOperation"
        return [
            ratio(independent, "OperationQueue, AsyncOperation", Self.operation, 5),
            ratio(independent, block, Self.operation, 5), ratio(independent, block, Self.job, 5),
            ratio(chain, block, Self.operation, 50), ratio(chain, block, Self.job, 50),
        ].compactMap { $0 }
    }

    private func ratio(_ graph: Graph, _ peer: String, _ ours: String, _ least: Double) -> String? {
        guard let seen = outcome(graph)?.ratio(of: peer, to: ours) else { return nil }
        return row(
            "\(graph.title): \(peer) / \(ours)",
            "≥ \(figure(least))",
            figure(seen),
            seen >= least,
            [graph]
        )
    }

    // MARK: A node with its edge

    private static let grown = [10_000, 100_000, 1_000_000].map(Graph.random)

    private var costs: [String] {
        Self.grown.compactMap { graph in
            outcome(graph)?.median(of: Self.job).map {
                row("\(graph.title): Job, ns", "≤ 300", figure($0), $0 <= 300, [graph])
            }
        }
    }

    private var growth: [String] {
        [Self.job, Self.operation].compactMap { contender in
            guard
                let small = outcome(Self.grown[0])?.median(of: contender),
                let large = outcome(Self.grown[2])?.median(of: contender)
            else { return nil }
            let seen = large / small
            return row(
                "\(contender): a node of 10⁶ / of 10⁴",
                "≤ 2.0",
                figure(seen),
                seen <= 2,
                [Self.grown[0], Self.grown[2]]
            )
        }
    }

    /// Nanoseconds a node for graphs of growing size, with the ratio to the smallest.
    var growthTable: String {
        let graphs = Self.grown.compactMap(outcome)
        guard graphs.count == Self.grown.count else { return "" }
        var text =
            "### Random graphs of growing size: nanoseconds a node with its edge\n\n"
            + "| | 10⁴ nodes | 10⁵ nodes | ratio to 10⁴ | 10⁶ nodes | ratio to 10⁴ |\n|---|---:|---:|---:|---:|---:|\n"
        for line in graphs[0].lines {
            let medians = graphs.map { $0.median(of: line.contender) }
            text += "| \(line.contender) | \(figure(medians[0]!))"
            for median in medians.dropFirst() {
                text += median.map { " | \(figure($0)) | \(figure($0 / medians[0]!))" } ?? " | – | –"
            }
            text += " |\n"
        }
        return text
    }

    // MARK: Bytes

    private var bytes: [String] {
        sizes.map { row("bytes of one that waits: \($0.kind)", "told", "\($0.bytes)", $0.bytes > 0) }
    }
}
