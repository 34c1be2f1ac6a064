// SPDX-License-Identifier: Apache-2.0
//
// The conditions of a graph's nodes: Boolean expressions of questions, as values. From such a value come the
// `OperationCondition` of the run and, by another way, the answer of the model.

import Foundation
import Testing

import Interlock

indirect enum GraphCondition: Hashable, Sendable, CustomStringConvertible {
    enum Answer: Hashable { case holds, throwsRefusal, saysNo }

    /// A closure that the test writes. `number` tells it from the others of its node.
    struct Question: Hashable {
        var number: Int
        var answer: Answer
        /// Whether it answers later, on another thread.
        var suspends: Bool
    }

    case question(Question)
    case noFailedDependencies, noCancelledDependencies
    case not(GraphCondition)
    case and(GraphCondition, GraphCondition)
    case or(GraphCondition, GraphCondition)
    case all([GraphCondition])

    /// What `ConditionRefused` is to call it.
    var name: String {
        switch self {
        case .question(let question): "question \(question.number)"
        case .noFailedDependencies: "no failed dependencies"
        case .noCancelledDependencies: "no cancelled dependencies"
        case .not(let one): "not \(one.name)"
        case .and(let one, let other): "(\(one.name) and \(other.name))"
        case .or(let one, let other): "(\(one.name) or \(other.name))"
        case .all(let conditions): "(" + conditions.map(\.name).joined(separator: " and ") + ")"
        }
    }

    /// Its name, with the answers of its questions.
    var description: String {
        let answers = questions.map { " \($0.number): \($0.answer)\($0.suspends ? " later" : "")" }
        return ([name] + answers).joined(separator: ",")
    }

    private var questions: [Question] {
        switch self {
        case .question(let question): [question]
        case .noFailedDependencies, .noCancelledDependencies: []
        case .not(let one): one.questions
        case .and(let one, let other), .or(let one, let other): one.questions + other.questions
        case .all(let conditions): conditions.flatMap(\.questions)
        }
    }

    /// Whether the answer depends on which edges there are.
    var asksForDependencies: Bool {
        switch self {
        case .question: false
        case .noFailedDependencies, .noCancelledDependencies: true
        case .not(let one): one.asksForDependencies
        case .and(let one, let other), .or(let one, let other):
            one.asksForDependencies || other.asksForDependencies
        case .all(let conditions): conditions.contains(where: \.asksForDependencies)
        }
    }
}

/// Why a condition refused.
indirect enum GraphReason: Hashable, Sendable {
    case thrown(node: Int, question: Int)
    case unmet(String, [GraphReason])
    /// The error of a dependency.
    case dependency(GraphOutcome)
}

/// What a question throws.
struct GraphRefusal: Error, Hashable { let node: Int, question: Int }

// MARK: Making one

extension GraphCondition {
    /// Some conditions of a node; `questions` counts its questions.
    static func random(_ random: inout SplitMix) -> [GraphCondition] {
        var questions = 0
        return (0..<[1, 1, 2, 3].randomElement(using: &random)!).map { _ in
            expression(depth: 2, &questions, &random)
        }
    }

    private static func expression(depth: Int, _ questions: inout Int, _ random: inout SplitMix) -> Self {
        func part(_ random: inout SplitMix) -> Self { expression(depth: depth - 1, &questions, &random) }
        switch depth == 0 ? 0 : Int.random(in: 0..<12, using: &random) {
        case 1: return .noFailedDependencies
        case 2: return .noCancelledDependencies
        case 3: return .not(part(&random))
        case 4: return .not(.not(part(&random)))
        case 5: return .and(part(&random), part(&random))
        case 6, 7: return .or(part(&random), part(&random))
        case 8: return .all((0..<Int.random(in: 0...3, using: &random)).map { _ in part(&random) })
        default:
            questions += 1
            let answers = [Answer.holds, .holds, .holds, .holds, .throwsRefusal, .saysNo]
            return .question(
                Question(
                    number: questions,
                    answer: answers.randomElement(using: &random)!,
                    suspends: Bool.random(using: &random)
                )
            )
        }
    }
}

// MARK: The answer of the model

/// The dependencies of an operation that have ended, as its conditions see them, in order.
struct GraphDependencies {
    /// The errors of those that failed or were cancelled.
    var failures: [GraphOutcome] = []
    /// Those that were cancelled, whatever their result.
    var cancelled: [Int] = []
}

extension GraphCondition {
    /// Why it refuses the node, nil where it holds; adds the questions that have to be asked for that.
    func reason(of node: Int, _ above: GraphDependencies, _ asked: inout [Int]) -> GraphReason? {
        switch self {
        case .question(let question):
            asked.append(question.number)
            return switch question.answer {
            case .holds: nil
            case .throwsRefusal: .thrown(node: node, question: question.number)
            case .saysNo: .unmet(name, [])
            }
        case .noFailedDependencies: return above.failures.first.map { .dependency($0) }
        case .noCancelledDependencies: return above.cancelled.first.map { .dependency(.cancelled($0)) }
        case .not(let one): return one.reason(of: node, above, &asked) == nil ? .unmet(name, []) : nil
        case .and(let one, let other):
            return one.reason(of: node, above, &asked) ?? other.reason(of: node, above, &asked)
        case .or(let one, let other):
            guard let first = one.reason(of: node, above, &asked) else { return nil }
            guard let second = other.reason(of: node, above, &asked) else { return nil }
            return .unmet(name, [first, second])
        case .all(let conditions):
            for condition in conditions {
                if let reason = condition.reason(of: node, above, &asked) { return reason }
            }
            return nil
        }
    }
}

// MARK: The conditions of a run

extension GraphRun {
    func condition(_ planned: GraphCondition, of number: Int) -> OperationCondition {
        switch planned {
        case .question(let question) where question.answer == .saysNo:
            return .that(planned.name) { [self] in
                try await ask(question, of: number)
                return false
            }
        case .question(let question):
            return OperationCondition(planned.name) { [self] operation in
                if operation !== operations[number] { complain("\(number): a condition is given another") }
                try await ask(question, of: number)
                if question.answer == .throwsRefusal {
                    throw GraphRefusal(node: number, question: question.number)
                }
            }
        case .noFailedDependencies: return .noFailedDependencies
        case .noCancelledDependencies: return .noCancelledDependencies
        case .not(let one): return condition(one, of: number).not
        case .and(let one, let other): return condition(one, of: number).and(condition(other, of: number))
        case .or(let one, let other): return condition(one, of: number).or(condition(other, of: number))
        case .all(let conditions): return .all(conditions.map { condition($0, of: number) })
        }
    }

    private func ask(_ question: GraphCondition.Question, of number: Int) async throws {
        seen.withLock { $0[number].asked.append(question.number) }
        asking.enter()
        defer { asking.leave() }
        expectUpstreamFinished(number, "was asked")
        if plan.nodes[number].cancellation == .whileAsked {
            _ = TestThread { [self] in operations[number].cancel() }
            await untilCancelled()
            throw CancellationError()
        }
        guard question.suspends else { return }
        await withCheckedContinuation { answer in DispatchQueue.global().async { answer.resume() } }
    }

    /// The plan's form of a reason.
    func reason(_ error: any Error, of number: Int) -> GraphReason {
        switch error {
        case let refusal as GraphRefusal: .thrown(node: refusal.node, question: refusal.question)
        case let unmet as ConditionUnmet:
            .unmet(unmet.condition, unmet.reasons.map { reason($0, of: number) })
        default: .dependency(outcome(error, of: number))
        }
    }
}
