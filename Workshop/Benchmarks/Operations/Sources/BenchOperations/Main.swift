// SPDX-License-Identifier: Apache-2.0
//
// Graphs of jobs and operations beside what one would use instead. Prints Markdown, and the goals.
//
//     bench_operations [--quick] [--only WORDS] [--rounds N] [--json FILE]
//     bench_operations --nodes N [--contender NAME] [--independent | --chain] [--times N]
//                                       one contender alone; for perf

import CFlowGraph
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
        func number(of flag: String) -> Int? {
            guard let text = value(of: flag) else { return nil }
            guard let number = Int(text), number > 0 else {
                fail("\(flag) takes a number above 0, not \(text)")
            }
            return number
        }
        if let nodes = number(of: "--nodes") {
            let graph: Graph =
                arguments.contains("--independent")
                ? .independent(nodes) : arguments.contains("--chain") ? .chain(nodes) : .random(nodes)
            let name = value(of: "--contender") ?? Contenders.all[0].name
            guard let contender = Contenders.all.first(where: { $0.name == name }) else {
                fail("no contender \(name); there are \(Contenders.all.map(\.name).joined(separator: "; "))")
            }
            for _ in 0..<(number(of: "--times") ?? 1) { await contender.run(graph) }
            return
        }
        let json = value(of: "--json")
        let only = value(of: "--only")
        let isQuick = arguments.contains("--quick")
        let rounds = number(of: "--rounds") ?? (isQuick ? 3 : 7)
        arguments.removeAll { $0 == "--quick" }
        guard arguments.isEmpty else { fail("unknown: \(arguments.joined(separator: " "))") }

        let neighbours = Neighbours()
        let (outcomes, states, sizes) = await report(rounds, only)
        guard let json else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        let run = Run(
            arguments: CommandLine.arguments.dropFirst().joined(separator: " "),
            rounds: rounds,
            coresUsedByOthers: neighbours.coresUsed,
            states: states,
            cells: outcomes,
            sizes: sizes
        )
        try encoder.encode(run).write(to: URL(fileURLWithPath: json))
    }

    /// Prints what it measures, each graph when it is measured.
    private static func report(_ rounds: Int, _ only: String?) async -> ([Outcome], States, [Size]) {
        let graphs: [Graph] = [
            .independent(100_000), .chain(2_000), .random(10_000), .random(100_000), .random(1_000_000),
        ]
        print("## Operations and jobs\n")
        print("\(rounds) rounds; nanoseconds a node with its edge: made, run and freed. Median, least.\n")
        if !flow_graph_is_there() { print("Left out: oneTBB's flow graph, which is not installed.\n") }
        var outcomes: [Outcome] = []
        var states = States()
        for graph in graphs where only.map(graph.title.contains) ?? true {
            let outcome = await graph.measure(rounds: rounds)
            print(states.around(outcome.title, outcome.markdown))
            fflush(nil)
            outcomes.append(outcome)
        }
        let sizes = only == nil ? Memory.measure() : []
        if !sizes.isEmpty { print(Memory.markdown(sizes)) }
        let goals = Goals(outcomes: outcomes, states: states, sizes: sizes)
        print(goals.growthTable)
        print(goals.markdown)
        return (outcomes, states, sizes)
    }

    private static func fail(_ sentence: String) -> Never {
        FileHandle.standardError.write(Data("error: \(sentence)\n".utf8))
        exit(2)
    }
}
