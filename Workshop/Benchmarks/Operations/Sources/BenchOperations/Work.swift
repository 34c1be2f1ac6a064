// SPDX-License-Identifier: Apache-2.0
//
// The same graphs for each contender: made, run and freed within the measured time. The work of a node is a number, so
// that what is measured is the cost of the graph.

import CFlowGraph
import Dispatch
import Foundation
import Interlock

/// Node `i` of a graph depends on `above[i]`, an earlier node, or on none (-1).
struct Graph: Sendable {
    let title: String
    let above: [Int]

    var hasEdges: Bool { above.contains { $0 >= 0 } }

    static func independent(_ count: Int) -> Graph {
        Graph(title: "\(count) independent", above: Array(repeating: -1, count: count))
    }

    static func chain(_ count: Int) -> Graph {
        Graph(title: "a chain of \(count)", above: Array(-1..<count - 1))
    }

    /// As many edges as nodes but one, from a fixed seed.
    static func random(_ count: Int) -> Graph {
        var state: UInt64 = 42
        let above = (0..<count).map { node in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return node == 0 ? -1 : Int(state >> 33) % node
        }
        return Graph(title: "a random graph, \(count) nodes, \(count) edges", above: above)
    }
}

// Unchecked since `Operation` is of Foundation; it has no state of its own.
final class EmptyOperation: Operation, @unchecked Sendable {}

struct Contender: Sendable {
    let name: String
    /// Beyond so many nodes with edges it is left out: Foundation's queue searches all that waits at each end, 40,000
    /// nodes take it 4 to 17 seconds.
    let most: Int
    let run: @Sendable (Graph) async -> Void
}

enum Contenders {
    static let all: [Contender] = {
        let ours = [
            Contender(name: "InterlockQueue, Job", most: .max) { jobs($0) },
            Contender(name: "InterlockQueue, AsyncOperation", most: .max) { own($0) },
            Contender(name: "InterlockQueue, BlockOperation", most: 200_000) { foreign($0) },
            // What Foundation itself takes of each.
            Contender(name: "InterlockQueue, empty Operation", most: 200_000) { empty($0) },
        ]
        let peers = [
            Contender(name: "OperationQueue, AsyncOperation", most: 10_000) { foundationOwn($0) },
            Contender(name: "OperationQueue, BlockOperation", most: 10_000) { foundation($0) },
            Contender(name: "DispatchGroup", most: .max) { dispatch($0) },
            Contender(name: "TaskGroup or tasks", most: .max) { await tasks($0) },
        ]
        let flowGraph = Contender(name: "oneTBB flow graph", most: .max) {
            flow_graph_run($0.above, $0.above.count)
        }
        return ours + peers + (flow_graph_is_there() ? [flowGraph] : [])
    }()

    // MARK: Ours

    private static func jobs(_ graph: Graph) {
        // A graph begins when it is made, for all contenders: otherwise a chain's figure is that of wake-ups.
        let queue = InterlockQueue(isSuspended: graph.hasEdges)
        var jobs: [Job<Int>] = []
        jobs.reserveCapacity(graph.above.count)
        for (node, above) in graph.above.enumerated() {
            jobs.append(above < 0 ? queue.job { node } : jobs[above].then { $0 &+ node })
        }
        queue.resume()
        queue.wait()
    }

    private static func own(_ graph: Graph) {
        let queue = InterlockQueue()
        run(graph) { node in
            AsyncOperation<Int> { node }
        } enqueue: {
            queue.enqueue($0)
        } wait: {
            queue.wait()
        }
    }

    private static func foreign(_ graph: Graph) {
        let queue = InterlockQueue()
        run(graph) { node in
            BlockOperation { keep(node) }
        } enqueue: {
            queue.enqueue($0)
        } wait: {
            queue.wait()
        }
    }

    private static func empty(_ graph: Graph) {
        let queue = InterlockQueue()
        run(graph) { _ in
            EmptyOperation()
        } enqueue: {
            queue.enqueue($0)
        } wait: {
            queue.wait()
        }
    }

    // MARK: Peers

    private static func foundationOwn(_ graph: Graph) {
        let queue = OperationQueue()
        run(graph) { node in
            AsyncOperation<Int> { node }
        } enqueue: {
            queue.addOperation($0)
        } wait: {
            queue.waitUntilAllOperationsAreFinished()
        }
    }

    private static func foundation(_ graph: Graph) {
        let queue = OperationQueue()
        run(graph) { node in
            BlockOperation { keep(node) }
        } enqueue: {
            queue.addOperation($0)
        } wait: {
            queue.waitUntilAllOperationsAreFinished()
        }
    }

    private static func run<Kind: Operation>(
        _ graph: Graph,
        make: (Int) -> Kind,
        enqueue: (Kind) -> Void,
        wait: () -> Void
    ) {
        var operations: [Kind] = []
        operations.reserveCapacity(graph.above.count)
        for (node, above) in graph.above.enumerated() {
            let operation = make(node)
            if above >= 0 { operation.addDependency(operations[above]) }
            operations.append(operation)
        }
        for operation in operations { enqueue(operation) }
        wait()
    }

    /// A group for each node on which another depends.
    private static func dispatch(_ graph: Graph) {
        let queue = DispatchQueue.global()
        let all = DispatchGroup()
        var groups: [DispatchGroup?] = Array(repeating: nil, count: graph.above.count)
        for above in graph.above where above >= 0 && groups[above] == nil { groups[above] = DispatchGroup() }
        for group in groups { group?.enter() }
        for (node, above) in graph.above.enumerated() {
            let own = groups[node]
            all.enter()
            let work = DispatchWorkItem {
                keep(node)
                own?.leave()
                all.leave()
            }
            if above < 0 {
                queue.async(execute: work)
            } else {
                groups[above]!.notify(queue: queue, work: work)
            }
        }
        all.wait()
    }

    private static func tasks(_ graph: Graph) async {
        if graph.above.allSatisfy({ $0 < 0 }) {
            await withTaskGroup(of: Int.self) { group in
                for node in graph.above.indices { group.addTask { node } }
                for await _ in group {}
            }
            return
        }
        var tasks: [Task<Int, Never>] = []
        tasks.reserveCapacity(graph.above.count)
        for (node, above) in graph.above.enumerated() {
            let upstream = above < 0 ? nil : tasks[above]
            tasks.append(Task { await (upstream?.value ?? 0) &+ node })
        }
        for task in tasks { _ = await task.value }
    }
}

/// The optimiser must not see that a result is unused.
@inline(never)
func keep(_ number: Int) { withExtendedLifetime(number) {} }
