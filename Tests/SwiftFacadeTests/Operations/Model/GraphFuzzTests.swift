// SPDX-License-Identifier: Apache-2.0
//
// Random graphs of operations against the sequential model: what runs, fails and is cancelled, every dependency before
// its dependent, each event once; conditions asked in order and once, categories held by no more than may. A graph that
// does not agree is made smaller and printed.
//
//     INTERLOCK_FUZZ_SECONDS   budget of the driver of new seeds, for each kind of queue; 1 if unset
//     INTERLOCK_FUZZ_ROUNDS    at most so many graphs
//     INTERLOCK_FUZZ_SEED      seed of the first graph, greater by 1 for each next. A seed alone is played once
//     INTERLOCK_GRAPH_NODES    the nodes of each graph; by default the seed's choice

import Foundation
import Testing

import Interlock

// contract: AsyncOperation
@Suite(.timeLimit(.minutes(10)), .serialized) struct GraphFuzzTests {
    private static let kinds = QueueKind.all + [.mixed]

    private static func number(_ variable: String) -> UInt64? {
        ProcessInfo.processInfo.environment[variable].flatMap { UInt64($0) }
    }

    private static func nodes(_ seed: UInt64) -> Int {
        number("INTERLOCK_GRAPH_NODES").map { Int($0) } ?? [3, 8, 20, 60, 200][Int(seed % 5)]
    }

    @Test(arguments: kinds) func knownGraphsEndAsTheModelSays(kind: QueueKind) async {
        for seed in 1...60 as ClosedRange<UInt64> {
            guard await Self.check(GraphPlan(seed: seed, nodes: Self.nodes(seed)), kind) else { return }
        }
    }

    @Test(arguments: kinds) func graphsOfAThousandEndAsTheModelSays(kind: QueueKind) async {
        for seed in 1...6 as ClosedRange<UInt64> {
            guard await Self.check(GraphPlan(seed: seed, nodes: 1000), kind) else { return }
        }
    }

    @Test(arguments: kinds) func newGraphsEndAsTheModelSays(kind: QueueKind) async {
        let given = Self.number("INTERLOCK_FUZZ_SEED")
        let seconds = Self.number("INTERLOCK_FUZZ_SECONDS")
        let most = Self.number("INTERLOCK_FUZZ_ROUNDS") ?? (given != nil && seconds == nil ? 1 : .max)
        let first = given ?? DispatchTime.now().uptimeNanoseconds
        print("fuzz graphs on \(kind): seeds from \(first)")
        let limit = ContinuousClock.now.advanced(by: .seconds(Int(seconds ?? 1)))
        var seed = first
        repeat {
            guard await Self.check(GraphPlan(seed: seed, nodes: Self.nodes(seed)), kind) else { return }
            seed &+= 1
        } while seed &- first < most && ContinuousClock.now < limit
        print("fuzz graphs on \(kind): \(seed &- first) graphs, seeds from \(first): no mismatch")
    }

    // MARK: The model itself

    // 0 throws; 1 is its step; 2 recovers; 3 waits for 2 without its data
    @Test func theModelPassesAnErrorOnUntilItIsRecovered() {
        let nodes = [
            Self.node(.source, .failure), Self.node(.then(0)), Self.node(.recover(1)),
            Self.node(.source, after: [1]),
        ]
        let (outcomes, runs) = Self.ends(of: nodes)
        #expect(outcomes == [.failure(0), .failure(0), .value(2), .value(3)])
        #expect(runs == [true, false, true, true])
    }

    // 0 throws; 1 waits for it, and refuses for that; 2 takes its output; 3 refuses where the failure is absent
    @Test func theModelPassesARefusalOnWithItsReason() {
        let question = GraphCondition.question(.init(number: 1, answer: .holds, suspends: false))
        var nodes = [Self.node(.source, .failure), Self.node(.source, after: [0]), Self.node(.then(1))]
        nodes[1].admission = .conditions([question, .noFailedDependencies, question])
        nodes.append(Self.node(.source, after: [0]))
        nodes[3].admission = .conditions([.not(.noCancelledDependencies), question])
        let (outcomes, runs) = Self.ends(of: nodes)
        let refused = GraphOutcome.refused(
            1,
            condition: "no failed dependencies",
            .dependency(.failure(0))
        )
        let name = "not no cancelled dependencies"
        #expect(outcomes == [.failure(0), refused, refused, .refused(3, condition: name, .unmet(name, []))])
        #expect(runs == [true, false, false, false])
    }

    @Test func theModelAsksNoFurtherThanNeeded() {
        func question(_ number: Int, _ answer: GraphCondition.Answer) -> GraphCondition {
            .question(.init(number: number, answer: answer, suspends: false))
        }
        var asked: [Int] = []
        let either = GraphCondition.or(question(1, .saysNo), question(2, .holds))
        let both = GraphCondition.and(question(3, .throwsRefusal), question(4, .holds))
        let all = GraphCondition.all([either, .not(both), question(5, .throwsRefusal), question(6, .holds)])
        #expect(all.reason(of: 7, GraphDependencies(), &asked) == .thrown(node: 7, question: 5))
        #expect(asked == [1, 2, 3, 5])
    }

    private static func ends(of nodes: [GraphNode]) -> ([GraphOutcome], [Bool?]) {
        let model = GraphModel(plan: GraphPlan(seed: 0, limits: [nil], categories: [1], nodes: nodes))
        var ends: [GraphEnd] = []
        var runs: [Bool?] = []
        for number in nodes.indices {
            let verdicts = model.verdicts(of: number, ends)
            ends.append(GraphEnd(outcome: verdicts[0].outcome, isCancelled: false))
            runs.append(verdicts[0].runs)
        }
        return (ends.map(\.outcome), runs)
    }

    private static func node(
        _ shape: GraphNode.Shape,
        _ ending: GraphNode.Ending = .value,
        after: [Int] = []
    ) -> GraphNode {
        GraphNode(
            shape: shape,
            work: .block,
            ending: ending,
            admission: .open,
            cancellation: .none,
            lateEdge: .none,
            after: after,
            removed: [],
            queue: 0
        )
    }

    @Test func aSmallerPlanIsAPlan() {
        for seed in 1...40 as ClosedRange<UInt64> {
            let plan = GraphPlan(seed: seed, nodes: 30)
            var random = SplitMix(state: seed)
            let start = Int.random(in: 0..<28, using: &random)
            let smaller = plan.removing(start..<start + 2)
            #expect(smaller.nodes.count == 28)
            for (number, node) in smaller.nodes.enumerated() {
                #expect((node.inputs + node.after).allSatisfy { $0 < number }, "seed \(seed), node \(number)")
                #expect(node.removed.allSatisfy(node.after.contains), "seed \(seed), node \(number)")
            }
        }
    }

    // MARK: Reporting

    private static func check(_ plan: GraphPlan, _ kind: QueueKind) async -> Bool {
        let complaints = await blocking { GraphRun(plan, kind).play() }
        guard !complaints.isEmpty else { return true }
        let (smaller, last) = await blocking { shrunk(plan, complaints, kind) }
        Issue.record(
            """
            graph on \(kind), seed \(plan.seed), \(plan.nodes.count) nodes: \(complaints.prefix(5))
            after leaving out what is not needed: \(last.prefix(5))
            \(smaller)
            replay: INTERLOCK_FUZZ_SEED=\(plan.seed) INTERLOCK_GRAPH_NODES=\(plan.nodes.count)
            """
        )
        return false
    }

    /// Leaves out half of the nodes, then ever shorter runs, while the rest still does not agree in one of three plays.
    private static func shrunk(
        _ plan: GraphPlan,
        _ complaints: [String],
        _ kind: QueueKind
    ) -> (GraphPlan, [String]) {
        var (left, last) = (plan, complaints)
        let limit = ContinuousClock.now.advanced(by: .seconds(60))
        var run = left.nodes.count / 2
        while run > 0 {
            var start = 0
            while start + run <= left.nodes.count, ContinuousClock.now < limit {
                let fewer = left.removing(start..<start + run)
                let found = (0..<3).lazy.map { _ in GraphRun(fewer, kind, limit: 2).play() }.first {
                    !$0.isEmpty
                }
                if let found {
                    (left, last) = (fewer, found)
                } else {
                    start += run
                }
            }
            run /= 2
        }
        return (left, last)
    }
}
