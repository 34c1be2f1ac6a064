// SPDX-License-Identifier: Apache-2.0
//
// Groups that are suspended, resumed, cancelled, and given children at the same time, 10,000 of each: nothing is left.

import Foundation
import Testing

import Interlock

// contract: GroupOperation
@Suite(.timeLimit(.minutes(10)), .serialized) struct GroupSuspensionRaceTests {
    private final class Subject: Sendable {
        let outer = GroupOperation<[Int]>(name: "outer")
        let inner: GroupOperation<Int>
        let refused = Counter()

        init(on queue: OperationQueue?) throws {
            inner =
                queue.map { GroupOperation(name: "inner", on: $0) } ?? GroupOperation(name: "inner", limit: 1)
            for number in 0..<3 { try inner.add(AsyncOperation { number }) }
            try outer.add(inner)
        }

        func addLate() {
            do { try inner.add(AsyncOperation { 3 }) } catch { refused.increment() }
        }

        func complaints(mayBeCancelled: Bool) -> [String] {
            outer.resume()
            inner.resume()
            guard let result = outer.wait(timeout: .seconds(Handshake.limit)) else {
                return ["it does not end: \(outer.explainWaiting())"]
            }
            var wrong: [String] = []
            if !inner.unfinishedChildren.isEmpty || !inner.isFinished { wrong.append("a child is left") }
            switch result {
            case .success(let values):
                let expected = refused.value == 0 ? [[0, 1, 2, 3]] : [[0, 1, 2]]
                if values != expected { wrong.append("\(values), \(refused.value) refused") }
            case .failure(let error):
                if !mayBeCancelled || !(error is OperationCancelled) { wrong.append("\(error)") }
            }
            return wrong
        }
    }

    @Test(arguments: QueueKind.all, [true, false]) func suspensionsRaceWithTheStartAndAdditions(
        queue: QueueKind,
        isGiven: Bool
    ) async {
        let (tested, given) = (queue.make(nil), isGiven ? OperationQueue() : nil)
        await Race.run(
            Subject.self,
            make: { _ in try! Subject(on: given) },
            racers: { tested.add($0.outer) },
            { subject in
                subject.outer.suspend()
                subject.inner.suspend()
                subject.outer.resume()
            },
            { subject in
                subject.addLate()
                subject.inner.resume()
            },
            judge: { $0.complaints(mayBeCancelled: false) }
        )
    }

    @Test(arguments: QueueKind.all, [true, false]) func aSuspensionRacesWithACancellation(
        queue: QueueKind,
        isGiven: Bool
    ) async {
        let (tested, given) = (queue.make(nil), isGiven ? OperationQueue() : nil)
        await Race.run(
            Subject.self,
            make: { _ in
                let subject = try! Subject(on: given)
                tested.add(subject.outer)
                return subject
            },
            // Stays suspended: the cancellation has to end it.
            racers: { $0.outer.suspend() },
            { $0.outer.cancel() },
            { $0.addLate() },
            judge: { subject in
                guard subject.outer.wait(timeout: .seconds(Handshake.limit)) != nil else {
                    return ["it does not end: \(subject.outer.explainWaiting())"]
                }
                return subject.complaints(mayBeCancelled: true)
            }
        )
    }
}
