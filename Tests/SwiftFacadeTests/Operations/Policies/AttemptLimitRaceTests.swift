// SPDX-License-Identifier: Apache-2.0
//
// An attempt whose end, limit and cancellation come at the same time, 10,000 of each, in queues of both kinds.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations
// contract: RetryPolicy, AsyncOperation
@Suite(.timeLimit(.minutes(10)), .serialized) struct AttemptLimitRaceTests {
    private final class Subject: Sendable {
        let operation: AsyncOperation<Int>
        let first = VisibleBox<Completion<Int>>()
        let (tries, informed, accepted) = (Counter(), Counter(), Counter())

        /// The second attempt gives 2, where the first did not succeed.
        init(in queue: any QueueUnderTest) {
            let (tries, informed, first, begun) = (tries, informed, first, Handshake())
            let policy = RetryPolicy(attempts: 2, attemptLimit: .seconds(3), clock: ManualClock())
            operation = AsyncOperation(name: "raced", retry: policy) { completion in
                if tries.increment() == 2 {
                    completion.succeed(2)
                    return
                }
                completion.onCancel { informed.increment() }
                first.value.withLock { $0 = completion }
                begun.give()
            }
            queue.enqueue(operation)
            begun.take()
        }

        func succeed() {
            if first.value.withLock({ $0 })!.succeed(1) { accepted.increment() }
        }

        func passLimit() {
            (first.value.withLock { $0 }!.job as! Attempt<Int>).limitPassed(.seconds(3))
        }

        func complaints(cancelled: Bool) -> [String] {
            guard let result = operation.wait(timeout: .seconds(Handshake.limit)) else {
                return ["it does not end: \(operation.explainWaiting())"]
            }
            first.value.withLock { $0 = nil }
            if accepted.value == 1 {
                return result.isValue(1) && tries.value == 1 ? [] : ["accepted, but \(result)"]
            }
            // A success that came just before the cancellation has freed the handler.
            if cancelled, result.isCancelled { return informed.value < 2 ? [] : ["\(informed.value) calls"] }
            return result.isValue(2) && informed.value == 1 ? [] : ["\(result), \(informed.value) calls"]
        }
    }

    @Test(arguments: QueueKind.all, [false, true]) func anEndRacesWithTheLimitAndACancellation(
        queue: QueueKind,
        isCancelled: Bool
    ) async {
        let tested = queue.make(nil)
        await Race.run(
            Subject.self,
            make: { _ in Subject(in: tested) },
            racers: { $0.succeed() },
            { $0.passLimit() },
            { if isCancelled { $0.operation.cancel() } },
            judge: { $0.complaints(cancelled: isCancelled) }
        )
    }
}
