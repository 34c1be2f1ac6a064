// SPDX-License-Identifier: Apache-2.0
//
// Graphs of jobs and operations beside what one would use instead. Prints Markdown, and the goals.
//
//     bench_operations [--quick] [--only WORDS] [--rounds N]
//     bench_operations --nodes N [--contender NAME] [--independent] [--times N]
//                                       one contender alone; for perf

import CHeap
import Foundation
import Interlock

@main
enum Main {
    static func main() async {
        var arguments = Array(CommandLine.arguments.dropFirst())
        func value(of flag: String) -> String? {
            guard let index = arguments.firstIndex(of: flag), index + 1 < arguments.count else { return nil }
            defer { arguments.removeSubrange(index...index + 1) }
            return arguments[index + 1]
        }
        if let nodes = value(of: "--nodes").flatMap(Int.init) {
            let name = value(of: "--contender") ?? Contenders.all[0].name
            let graph = arguments.contains("--independent") ? Graph.independent(nodes) : .random(nodes)
            let times = value(of: "--times").flatMap(Int.init) ?? 1
            for contender in Contenders.all where contender.name == name {
                for _ in 0..<times { await contender.run(graph) }
            }
            return
        }
        let only = value(of: "--only")
        let isQuick = arguments.contains("--quick")
        let rounds = value(of: "--rounds").flatMap(Int.init) ?? (isQuick ? 3 : 7)
        arguments.removeAll { $0 == "--quick" }
        guard arguments.isEmpty else {
            FileHandle.standardError.write(Data("error: unknown: \(arguments.joined(separator: " "))\n".utf8))
            exit(2)
        }
        let graphs: [Graph] = [
            .independent(100_000), .chain(2_000), .random(100_000), .random(1_000_000),
        ]
        print("## Operations and jobs\n")
        print("\(rounds) rounds; nanoseconds a node with its edge: made, run and freed. Median, least.\n")
        var table = Table()
        for graph in graphs where only.map({ graph.title.contains($0) }) ?? true {
            await table.measure(graph, rounds: rounds)
        }
        if only == nil { Memory.report() }
        table.reportGoals(graphs)
    }
}

struct Table {
    /// Medians by graph and contender.
    private var medians: [String: [String: Double]] = [:]

    mutating func measure(_ graph: Graph, rounds: Int) async {
        let contenders = Contenders.all.filter { graph.above.count <= $0.most }
        var samples: [String: [Double]] = [:]
        // In turns, so that a busy moment of the machine meets all.
        for _ in 0..<rounds {
            for contender in contenders {
                let begin = ContinuousClock.now
                await contender.run(graph)
                let time = begin.duration(to: .now) / .nanoseconds(1)
                samples[contender.name, default: []].append(time / Double(graph.above.count))
            }
        }
        print("### \(graph.title)\n\n| | median | least |\n|---|---:|---:|")
        for contender in contenders {
            let sorted = samples[contender.name]!.sorted()
            medians[graph.title, default: [:]][contender.name] = sorted[sorted.count / 2]
            print("| \(contender.name) | \(figure(sorted[sorted.count / 2])) | \(figure(sorted[0])) |")
        }
        print("")
    }

    func reportGoals(_ graphs: [Graph]) {
        print("### Goals\n\n| goal | wanted | seen | |\n|---|---:|---:|---|")
        ratio(graphs[0], "OperationQueue, AsyncOperation", "InterlockQueue, AsyncOperation", 5)
        ratio(graphs[0], "OperationQueue, BlockOperation", "InterlockQueue, AsyncOperation", 5)
        ratio(graphs[0], "OperationQueue, BlockOperation", "InterlockQueue, Job", 5)
        ratio(graphs[1], "OperationQueue, BlockOperation", "InterlockQueue, AsyncOperation", 50)
        ratio(graphs[1], "OperationQueue, BlockOperation", "InterlockQueue, Job", 50)
        for graph in graphs.dropFirst(2) {
            guard let time = medians[graph.title]?["InterlockQueue, Job"] else { continue }
            row("\(graph.title): Job, ns", "≤ 300", figure(time), time <= 300)
        }
    }

    private func ratio(_ graph: Graph, _ peer: String, _ ours: String, _ least: Double) {
        guard let times = medians[graph.title], let peerTime = times[peer], let time = times[ours] else {
            return
        }
        let seen = peerTime / time
        row("\(graph.title): \(peer) / \(ours)", "≥ \(figure(least))", figure(seen), seen >= least)
    }

    private func row(_ claim: String, _ wanted: String, _ seen: String, _ isReached: Bool) {
        print("| \(claim) | \(wanted) | \(seen) | \(isReached ? "reached" : "**missed**") |")
    }
}

func figure(_ value: Double) -> String {
    value < 10 ? String(format: "%.1f", value) : String(format: "%.0f", value)
}

/// The heap's bytes of what waits in a suspended queue.
enum Memory {
    static func report() {
        let count = 100_000
        print("### Bytes of the heap, each of \(count) that wait\n\n| | bytes |\n|---|---:|")
        let job = measure(count) {
            let queue = InterlockQueue(isSuspended: true)
            return (queue, (0..<count).map { number in queue.job { number } })
        }
        print("| Job, with its closure | \(job) |")
        let then = measure(count) {
            let queue = InterlockQueue(isSuspended: true)
            var last = queue.job { 0 }
            for number in 1..<count { last = last.then { $0 &+ number } }
            return (queue, [last])
        }
        print("| Job in a chain, with its closure and edge | \(then) |")
        let own = measure(count) {
            let queue = InterlockQueue(isSuspended: true)
            for number in 0..<count { queue.add(AsyncOperation<Int> { number }) }
            return (queue, [Int]())
        }
        print("| AsyncOperation in an InterlockQueue | \(own) |")
        let peer = measure(count) {
            let queue = OperationQueue()
            queue.isSuspended = true
            for number in 0..<count { queue.addOperation(BlockOperation { keep(number) }) }
            return (queue, [Int]())
        }
        print("| BlockOperation in an OperationQueue | \(peer) |\n")
    }

    private static func measure<Queue, Kept>(_ count: Int, _ make: () -> (Queue, [Kept])) -> Int {
        let before = heap_bytes()
        let made = make()
        let after = heap_bytes()
        defer { withExtendedLifetime(made) {} }
        if let queue = made.0 as? OperationQueue { queue.isSuspended = false }
        return (Int(after) - Int(before) - made.1.count * MemoryLayout<Kept>.stride) / count
    }
}
