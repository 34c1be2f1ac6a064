// SPDX-License-Identifier: Apache-2.0
//
// What must come of a plan, worked out node by node in the order of the plan, without threads or queues. Where a
// cancellation races, both its outcomes are right, and the model goes on with the one that was seen.

import Interlock

enum GraphOutcome: Hashable, Sendable {
    case value(Int)
    /// The work of this node threw.
    case failure(Int)
    case cancelled(Int)
    case abandoned(Int)
    /// A condition of this node refused.
    indirect case refused(Int, condition: String, GraphReason)
    /// An operation without a result has finished.
    case done

    /// An error passes on to the steps below.
    var value: Int? { if case .value(let value) = self { value } else { nil } }
}

/// How a node has ended.
struct GraphEnd {
    let outcome: GraphOutcome
    let isCancelled: Bool
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
    /// The nodes that cannot finish before the late operation has.
    let waitsForLate: Set<Int>

    init(plan: GraphPlan) {
        self.plan = plan
        waitsForLate = Self.waitingForLateOperation(plan)
    }

    /// The value that a node's closure computes.
    static func value(of node: Int, from inputs: [Int]) -> Int {
        inputs.reduce(node) { $0 &* 31 &+ $1 }
    }

    /// The right endings of a node. `seen` has those of the nodes before it.
    func verdicts(of number: Int, _ seen: [GraphEnd]) -> [GraphVerdict] {
        let node = plan.nodes[number]
        let natural = naturalVerdict(of: number, seen)
        func cancelled(runs: Bool?) -> GraphVerdict { GraphVerdict(outcome: .cancelled(number), runs: runs) }
        switch node.cancellation {
        case .none: return [natural]
        // What was recorded first stays.
        case _ where node.admission == .settledEarly: return [natural]
        case .beforeAdding where node.isForeign: return [GraphVerdict(outcome: .done, runs: false)]
        case .beforeAdding, .whileWaiting: return [cancelled(runs: false)]
        case .anyTime: return [natural, cancelled(runs: nil)]
        case .whileAsked: return questions(of: number, seen).isEmpty ? [natural] : [cancelled(runs: false)]
        case .whileExcluded:
            if refusal(of: number, seen) != nil { return [natural] }
            // The late operation has ended by then, and the category may be free.
            if waitsForLate.contains(number) { return [natural, cancelled(runs: nil)] }
            return [cancelled(runs: false)]
        case .whileRunning, .answered:
            // The closure itself asks for it.
            if natural.runs != true { return [natural] }
            // A task may answer its cancellation; its step's `flatMap` has ended before.
            if node.cancellation == .answered, node.answersCancellation { return [natural] }
            return [cancelled(runs: true)]
        }
    }

    /// Whether a node is marked as cancelled after its end; nil where both are right.
    func isCancelled(_ number: Int, _ seen: [GraphEnd]) -> Bool? {
        switch plan.nodes[number].cancellation {
        case .none: return false
        case .beforeAdding, .whileWaiting: return true
        case .whileRunning, .answered: return naturalVerdict(of: number, seen).runs
        case .whileAsked: return !questions(of: number, seen).isEmpty
        case .whileExcluded:
            let verdicts = verdicts(of: number, seen)
            return verdicts.count > 1 ? nil : verdicts[0].outcome == .cancelled(number)
        case .anyTime: return nil
        }
    }

    /// The questions that a node is asked, in order; where a cancellation races with them, at most these.
    func questions(of number: Int, _ seen: [GraphEnd]) -> [Int] {
        guard case .conditions(let conditions) = plan.nodes[number].admission else { return [] }
        var asked: [Int] = []
        let above = dependencies(of: number, seen)
        _ = conditions.first { $0.reason(of: number, above, &asked) != nil }
        switch plan.nodes[number].cancellation {
        case .beforeAdding, .whileWaiting: return []
        case .whileAsked: return Array(asked.prefix(1))
        default: return asked
        }
    }

    /// What would be if the node were not cancelled.
    private func naturalVerdict(of number: Int, _ seen: [GraphEnd]) -> GraphVerdict {
        let node = plan.nodes[number]
        if node.isForeign { return GraphVerdict(outcome: .done, runs: true) }
        if let refusal = refusal(of: number, seen) { return refusal }
        let inputs = node.inputs.map { seen[$0].outcome }
        let failure = inputs.first { $0.value == nil }
        if case .recover = node.shape {
            if failure == nil { return GraphVerdict(outcome: inputs[0], runs: false) }
            return GraphVerdict(outcome: ending(of: number, from: []), runs: true)
        }
        if let failure { return GraphVerdict(outcome: failure, runs: false) }
        return GraphVerdict(outcome: ending(of: number, from: inputs.map { $0.value! }), runs: true)
    }

    /// How a node ends whose admission does not let it run; nil where it does.
    private func refusal(of number: Int, _ seen: [GraphEnd]) -> GraphVerdict? {
        switch plan.nodes[number].admission {
        case .open: return nil
        case .settledEarly: return GraphVerdict(outcome: .value(number), runs: false)
        case .conditions(let conditions):
            var asked: [Int] = []
            let above = dependencies(of: number, seen)
            for condition in conditions {
                guard let reason = condition.reason(of: number, above, &asked) else { continue }
                let outcome = GraphOutcome.refused(number, condition: condition.name, reason)
                return GraphVerdict(outcome: outcome, runs: false)
            }
            return nil
        }
    }

    /// What the conditions of a node see above it: its inputs, then its edges without data. The late operation
    /// succeeds.
    private func dependencies(of number: Int, _ seen: [GraphEnd]) -> GraphDependencies {
        let node = plan.nodes[number]
        var above = GraphDependencies()
        switch node.shape {
        case .and, .all:
            // One operation is between them, and passes on the first error in order.
            above.failures = Array(node.inputs.map { seen[$0].outcome }.filter { $0.value == nil }.prefix(1))
        default: for input in node.inputs { add(input, seen, to: &above) }
        }
        for other in node.after { add(other, seen, to: &above) }
        return above
    }

    private func add(_ number: Int, _ seen: [GraphEnd], to above: inout GraphDependencies) {
        let end = seen[number]
        if end.isCancelled { above.cancelled.append(number) }
        // Of another class only a cancellation is known.
        if plan.nodes[number].isForeign {
            if end.isCancelled { above.failures.append(.cancelled(number)) }
        } else if end.outcome.value == nil {
            above.failures.append(end.outcome)
        }
    }

    private func ending(of number: Int, from inputs: [Int]) -> GraphOutcome {
        switch plan.nodes[number].ending {
        case .value, .twice: .value(Self.value(of: number, from: inputs))
        case .failure: .failure(number)
        case .dropped: .abandoned(number)
        }
    }

    private static func waitingForLateOperation(_ plan: GraphPlan) -> Set<Int> {
        var waiting: Set<Int> = []
        for (number, node) in plan.nodes.enumerated() {
            switch node.cancellation {
            case .beforeAdding, .whileWaiting, .anyTime: continue
            case .none, .whileRunning, .answered, .whileAsked, .whileExcluded: break
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
