// SPDX-License-Identifier: Apache-2.0
//
// What an InterlockQueue gives to which pool, with which of the pool's priorities.

import Foundation
import Testing

import Interlock
// contract: InterlockQueue, WorkerPool
@Suite(.timeLimit(.minutes(10))) struct InterlockQueuePoolTests {
    let queue = InterlockQueue(name: "queue")

    @Test func asyncWorkOfABlockingOperationRunsOnTheBlockingPool() async throws {
        let plain = try await queue.job(isBlocking: true) { threadName() }.value
        let other = try await queue.job { threadName() }.value
        let operation = AsyncOperation<String> { () async -> String in threadName() }
        queue.enqueue(operation, isBlocking: true)
        let pools = [plain, other, try await operation.value].map { $0.prefix { $0 != "-" } }
        #expect(pools[0] == pools[2] && pools[0] != pools[1], "\(pools)")
    }

    /// Nothing holds the queue back: the pool has all at once.
    @Test func thePoolHasThreeOfTheFivePriorities() async throws {
        let held = try await blocking { try HeldPool() }
        let queue = InterlockQueue(name: "free", pool: held.pool)
        let trace = Trace<Operation.QueuePriority>()
        for priority in [Operation.QueuePriority.veryLow, .low, .normal, .high, .veryHigh] {
            let operation = AsyncOperation<Void> { trace.add(priority) }
            operation.queuePriority = priority
            queue.enqueue(operation)
        }
        held.release()
        try await queue.wait()
        #expect(trace.events == [.high, .veryHigh, .normal, .veryLow, .low])
    }

    @Test func prioritiesOfJobsAreThoseOfOperations() async throws {
        queue.limit = 1
        queue.suspend()
        let trace = Trace<String>()
        queue.job(priority: .low) { trace.add("low job") }
        queue.job(priority: .high) { trace.add("high job") }
        for (name, priority) in [
            ("very low", .veryLow), ("low", .low), ("high", .high), ("very high", .veryHigh),
        ] as [(String, Operation.QueuePriority)] {
            let operation = AsyncOperation<Void> { trace.add(name) }
            operation.queuePriority = priority
            queue.enqueue(operation)
        }
        queue.resume()
        try await queue.wait()
        #expect(trace.events == ["very high", "high job", "high", "low job", "low", "very low"])
    }
}
