// SPDX-License-Identifier: Apache-2.0
//
// Foundation's queues with this module's operations.

import Foundation
import Testing

import Interlock

// contract: AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct OperationQueueTests {
    let queue = OperationQueue()

    @Test(arguments: [1, 2]) func theLimitHoldsUntilTheCallbackAndNotUntilStartReturns(limit: Int)
        async throws
    {
        queue.maxConcurrentOperationCount = limit
        let (crowd, begun) = (Crowd(), Trace<Int>())
        let operations = (0..<30).map { number in
            AsyncOperation<Void> { completion in
                crowd.enter()
                begun.add(number)
                DispatchQueue.global().async {
                    crowd.leave()
                    completion.succeed()
                }
            }
        }
        await blocking { [queue] in queue.addOperations(operations, waitUntilFinished: true) }
        try await OperationQueue.finished(operations)
        #expect(crowd.total == 30 && (1...limit).contains(crowd.most))
        if limit == 1 { #expect(begun.events == Array(0..<30)) }
    }

    @Test func aSuspendedQueueStartsNothingUntilItResumes() async throws {
        let ran = Counter()
        queue.isSuspended = true
        let operation = AsyncOperation<Int> { ran.increment() }
        queue.addOperation(operation)
        #expect(try await operation.wait(timeout: .milliseconds(20)) == nil)
        #expect(operation.state == .ready && ran.value == 0)
        queue.isSuspended = false
        #expect(try await operation.value == 1)
    }

    @Test func aSerialQueueTakesTheHigherPriorityFirst() async throws {
        queue.maxConcurrentOperationCount = 1
        queue.isSuspended = true
        let trace = Trace<String>()
        for (name, priority) in [
            ("low", Operation.QueuePriority.low), ("normal", .normal), ("high", .high),
            ("normal too", .normal),
        ] {
            let operation = AsyncOperation<Void>(name: name) { trace.add(name) }
            operation.queuePriority = priority
            queue.addOperation(operation)
        }
        queue.isSuspended = false
        try await queue.allFinished()
        #expect(trace.events == ["high", "normal", "normal too", "low"])
    }

    // Foundation's queues start nothing while suspended, and queue and operations hold each other.
    @Test func aQueueDroppedWhileSuspendedKeepsWhatIsInItUnfinished() async throws {
        let operation = AsyncOperation<Int> { 1 }
        weak var seen: OperationQueue?
        do {
            let dropped = OperationQueue()
            dropped.isSuspended = true
            dropped.addOperation(operation)
            seen = dropped
        }
        operation.cancel()
        #expect(try await operation.wait(timeout: .milliseconds(20)) == nil)
        let queue = try #require(seen)
        queue.isSuspended = false
        await #expect(throws: OperationCancelled.self) { try await operation.value }
    }

    // Three chains of two steps, the second step of each more urgent.
    @Test func urgentLaterStepsFinishWhatHasBegunFirst() async throws {
        queue.maxConcurrentOperationCount = 1
        queue.isSuspended = true
        let trace = Trace<String>()
        for name in ["a", "b", "c"] {
            let first = AsyncOperation<Void>(name: name) { trace.add("\(name) begins") }
            let second = first.then { trace.add("\(name) ends") }
            second.queuePriority = .high
            queue.enqueue(first, second)
        }
        queue.isSuspended = false
        try await queue.allFinished()
        #expect(
            trace.events == ["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]
        )
    }

    @Test func theUnderlyingQueueIsWhereTheyRun() async throws {
        let underlying = GCD.serialQueue(label: "underlying")
        let key = DispatchSpecificKey<String>()
        underlying.setSpecific(key: key, value: "here")
        queue.underlyingQueue = underlying
        let operation = AsyncOperation<String?> { DispatchQueue.getSpecific(key: key) }
        queue.addOperation(operation)
        #expect(try await operation.value == "here")
        try await queue.allFinished()
    }

    @Test func allFinishedWaitsForEveryKindAndForThoseAddedMeanwhile() async throws {
        let ended = Counter()
        let queue = queue
        @Sendable func add(_ left: Int) {
            queue.addOperation(
                BlockOperation {
                    if left > 0 { add(left - 1) }
                    ended.increment()
                }
            )
        }
        add(99)
        queue.addOperation(
            AsyncOperation<Void> {
                await Task.yield()
                ended.increment()
            }
        )
        try await queue.allFinished()
        #expect(ended.value == 101)
    }

    @Test func aCancelledWaitForASetThrowsAndTheSetGoesOn() async throws {
        let goOn = Handshake()
        let operation = AsyncOperation<Int> {
            await goOn.taken()
            return 1
        }
        queue.addOperation(operation)
        let waiter = Task { try await OperationQueue.finished([operation]) }
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        #expect(!operation.isFinished)
        goOn.give()
        #expect(try await operation.value == 1)
        try await OperationQueue.finished([operation])
        try await OperationQueue.finished([])
    }
}
