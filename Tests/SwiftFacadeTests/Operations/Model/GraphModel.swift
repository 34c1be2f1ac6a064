// SPDX-License-Identifier: Apache-2.0
//
// What must come of a plan, worked out node by node in the order of the plan, without threads or queues. Where a
// cancellation races, both its outcomes are right, and the model goes on with the one that was seen.

@testable import Interlock

enum GraphOutcome: Hashable {
    case value(Int)
    /// The work of this node threw.
    case failure(Int)
    case cancelled(Int)
    case abandoned(Int)
    /// An operation without a result has finished.
    case done

    /// An error passes on to the steps below.
    var value: Int? { if case .value(let value) = self { value } else { nil } }
}

/// One ending that is right for a node.
struct GraphVerdict: Hashable, CustomStringConvertible {
    let outcome: GraphOutcome
    /// Whether the node's closure is called; nil where both are right.
    let runs: Bool?

    var description: String { "\(outcome)\(runs.map { $0 ? ", run" : ", not run" } ?? "")" }
}

struct GraphModel {
    let plan: GraphPlan

    /// The value that a node's closure computes.
    static func value(of node: Int, from inputs: [Int]) -> Int {
        inputs.reduce(node) { $0 &* 31 &+ $1 }
    }

    /// The right endings of a node. `seen` has those of the nodes before it.
    func verdicts(of number: Int, _ seen: [GraphOutcome]) -> [GraphVerdict] {
        let node = plan.nodes[number]
        let natural = naturalVerdict(of: number, seen)
        switch node.cancellation {
        case .none: return [natural]
        // What was recorded first stays.
        case .beforeAdding where node.admission == .settledEarly,
            .whileWaiting where node.admission == .settledEarly,
            .anyTime where node.admission == .settledEarly:
            return [natural]
        case .beforeAdding where node.isForeign: return [GraphVerdict(outcome: .done, runs: false)]
        case .beforeAdding, .whileWaiting: return [GraphVerdict(outcome: .cancelled(number), runs: false)]
        case .anyTime: return [natural, GraphVerdict(outcome: .cancelled(number), runs: nil)]
        case .whileRunning, .answered:
            // The closure itself asks for it.
            if natural.runs != true { return [natural] }
            // A task may answer its cancellation; its step's `flatMap` has ended before.
            if node.cancellation == .answered, node.answersCancellation { return [natural] }
            return [GraphVerdict(outcome: .cancelled(number), runs: true)]
        }
    }

    /// As if nobody cancelled the node.
    private func naturalVerdict(of number: Int, _ seen: [GraphOutcome]) -> GraphVerdict {
        let node = plan.nodes[number]
        if node.isForeign { return GraphVerdict(outcome: .done, runs: true) }
        if let refusal = refusal(of: number) { return refusal }
        let inputs = node.inputs.map { seen[$0] }
        let failure = inputs.first { $0.value == nil }
        if case .recover = node.shape {
            if failure == nil { return GraphVerdict(outcome: inputs[0], runs: false) }
            return GraphVerdict(outcome: ending(of: number, from: []), runs: true)
        }
        if let failure { return GraphVerdict(outcome: failure, runs: false) }
        return GraphVerdict(outcome: ending(of: number, from: inputs.map { $0.value! }), runs: true)
    }

    /// How a node ends whose admission does not let it run; nil where it does.
    private func refusal(of number: Int) -> GraphVerdict? {
        switch plan.nodes[number].admission {
        case .open: nil
        case .settledEarly: GraphVerdict(outcome: .value(number), runs: false)
        }
    }

    private func ending(of number: Int, from inputs: [Int]) -> GraphOutcome {
        switch plan.nodes[number].ending {
        case .value, .twice: .value(Self.value(of: number, from: inputs))
        case .failure: .failure(number)
        case .dropped: .abandoned(number)
        }
    }

    /// The nodes that cannot finish before the late operation has.
    func waitingForLateOperation() -> Set<Int> {
        var waiting: Set<Int> = []
        for (number, node) in plan.nodes.enumerated() {
            switch node.cancellation {
            case .beforeAdding, .whileWaiting, .anyTime: continue
            case .none, .whileRunning, .answered: break
            }
            if node.lateEdge == .kept || node.predecessors.contains(where: waiting.contains) {
                waiting.insert(number)
            }
        }
        return waiting
    }
}

extension GraphNode {
    /// Whether a result after the cancellation counts.
    var answersCancellation: Bool {
        guard work == .task else { return false }
        switch shape {
        case .source, .then, .and, .all: return true
        // The closure of `recover` is a plain one; `flatMap` ends at once.
        default: return false
        }
    }
}
