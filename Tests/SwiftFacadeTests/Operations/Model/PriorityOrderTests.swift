// SPDX-License-Identifier: Apache-2.0
//
// The order in which a queue that runs one operation at a time begins what was ready beforehand: by priority, and in
// the order of addition within one. A plan of operations of all kinds is added to a suspended queue, which then goes
// on.

import Foundation
import Testing

import Interlock

/// The orders that a queue promises, as a sequential program: positions in the order of the starts.
private enum PriorityOrder {
    private static let order: [Operation.QueuePriority] = [.veryHigh, .high, .normal, .low, .veryLow]

    /// Foundation's: five priorities, one after the other.
    static func strict(_ priorities: [Operation.QueuePriority]) -> [Int] {
        order.flatMap { priority in priorities.indices.filter { priorities[$0] == priority } }
    }

    /// The same, but of 64 picks four look for a high one first, two for a normal one, one each for a low and a very
    /// low one: none starves. Which of the 64 comes first depends on what the queue did before: `firstPick`.
    static func fair(_ priorities: [Operation.QueuePriority], firstPick: Int) -> [Int] {
        var lists = order.map { priority in priorities.indices.filter { priorities[$0] == priority }[...] }
        return priorities.indices.compactMap { start in
            let pick = (firstPick + start) % 64
            let first = pick == 0 ? 4 : pick == 32 ? 3 : pick % 32 == 16 ? 2 : pick % 16 == 8 ? 1 : 0
            for level in [first, 0, 1, 2, 3, 4] {
                if let next = lists[level].popFirst() { return next }
            }
            return nil
        }
    }

    /// The right orders of a queue.
    static func all(_ kind: QueueKind, _ priorities: [Operation.QueuePriority]) -> [[Int]] {
        kind.make(1) is OwnQueue ? (0..<64).map { fair(priorities, firstPick: $0) } : [strict(priorities)]
    }
}
// contract: InterlockQueue, AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct PriorityOrderTests {
    private enum Form: CaseIterable { case block, task, handler, foreign, cancelled, refused, excluding }

    private static let priorities: [Operation.QueuePriority] = [.veryHigh, .high, .normal, .low, .veryLow]

    private static func make(_ form: Form, _ number: Int, _ trace: Trace<Int>) -> Operation {
        switch form {
        case .block, .cancelled: AsyncOperation<Void> { trace.add(number) }
        case .task: AsyncOperation<Void> { () async in trace.add(number) }
        case .handler:
            AsyncOperation<Void> { completion in
                trace.add(number)
                DispatchQueue.global().async { completion.succeed() }
            }
        case .foreign: BlockOperation { trace.add(number) }
        case .refused:
            AsyncOperation<Void> { Issue.record("it was refused") }
                .addCondition(
                    .that("no") {
                        trace.add(number)
                        return false
                    }
                )
        case .excluding:
            AsyncOperation<Void> { trace.add(number) }.excludes(ExclusionCategory("priority \(number % 3)"))
        }
    }

    @Test(arguments: QueueKind.all) func whatIsReadyBeginsByPriorityAndInOrder(kind: QueueKind) async {
        for seed in 1...60 as ClosedRange<UInt64> {
            var random = SplitMix(state: seed)
            let count = [5, 40, 130, 400][Int(seed % 4)]
            let (queue, trace) = (kind.make(1), Trace<Int>())
            queue.suspend()
            var (priorities, forms): ([Operation.QueuePriority], [Form]) = ([], [])
            for number in 0..<count {
                // Some plans are urgent nearly throughout: there the fair picks show.
                let isUrgent = seed % 3 == 0 && Int.random(in: 0..<10, using: &random) > 0
                priorities.append(isUrgent ? .high : Self.priorities.randomElement(using: &random)!)
                forms.append(Form.allCases.randomElement(using: &random)!)
                let operation = Self.make(forms[number], number, trace)
                operation.queuePriority = priorities[number]
                if forms[number] == .cancelled { operation.cancel() }
                queue.enqueue(operation)
            }
            queue.resume()
            await blocking { queue.waitUntilEmpty() }
            // A cancelled one ends without a trace, but in its turn.
            let orders = PriorityOrder.all(kind, priorities)
                .map { order in order.filter { forms[$0] != .cancelled } }
            let agreement = orders.map { zip($0, trace.events).prefix { $0 == $1 }.count }.max()!
            let text = priorities.map { "\($0.rawValue)" }.joined(separator: " ")
            #expect(
                orders.contains(trace.events) as Bool,
                "seed \(seed), \(count) operations: right up to start \(agreement) of \(trace.events); \(text)"
            )
        }
    }
}
