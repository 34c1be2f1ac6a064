// SPDX-License-Identifier: Apache-2.0
//
// Groups and `flatMap` steps beside what only an `InterlockQueue` has: barriers, pools, cancelling all, scopes. What
// both kinds of queues have is in GroupPlaceTests.swift.

import Foundation
import Testing

import Interlock
// contract: InterlockQueue, GroupOperation
@Suite(.timeLimit(.minutes(10))) struct InterlockQueuePlaceTests {
    private func serial() -> InterlockQueue { InterlockQueue(name: "serial", limit: 1) }

    // Behind the barrier, the child would wait for the group's end.
    @Test func aBarrierBehindAGroupLetsItsChildrenPass() async throws {
        let queue = InterlockQueue(isSuspended: true)
        let group = GroupOperation<Int>(on: queue)
        try group.add(AsyncOperation { 1 })
        queue.enqueue(group)
        let barrier = queue.barrier { 2 }
        queue.resume()
        #expect(try await group.value == [1])
        #expect(try await barrier.value == 2)
    }

    @Test func aGroupWithoutAQueueRunsItsChildrenOnThePoolOfItsOwn() async throws {
        let pool = try WorkerPool(name: "group-pool", threads: 2)
        let queue = InterlockQueue(pool: pool)
        let (group, crowd) = (GroupOperation<String>(limit: 1), Crowd())
        for _ in 0..<4 {
            try group.add(
                AsyncOperation {
                    crowd.enter()
                    defer { crowd.leave() }
                    return threadName()
                }
            )
        }
        queue.enqueue(group)
        let names = try await group.value
        #expect(names.allSatisfy { $0.hasPrefix("group-pool") }, "\(names)")
        #expect(crowd.most == 1)
    }

    @Test func cancellingTheQueueCancelsTheChildrenOfItsGroups() async throws {
        let queue = serial()
        let begun = Handshake()
        let group = GroupOperation<Int>(name: "group", on: queue)
        try group.add(awaitingCancellation(begun: begun))
        let waiting = AsyncOperation<Int> { 1 }
        try group.add(waiting)
        queue.enqueue(group)
        await begun.taken()
        queue.cancelAll()
        await #expect(throws: OperationCancelled(operation: "group")) { try await group.value }
        #expect(waiting.isCancelled && waiting.isFinished)
        try await queue.wait()
    }

    @Test func aScopeMayRunItsOperationsHere() async throws {
        let (queue, ran) = (serial(), Counter())
        let result = try await withOperations(on: queue) { scope in
            for _ in 0..<10 { try scope.add(AsyncOperation { ran.increment() }) }
            return 3
        }
        #expect(result == 3 && ran.value == 10 && queue.count == 0)
    }

    // MARK: Cycles

    @Test func aStepWhoseOperationWaitsForWhatIsBehindItSaysSo() async throws {
        let queue = InterlockQueue(limit: 1, isSuspended: true)
        let behind = AsyncOperation<Int>(name: "behind") { 1 }
        let source = AsyncOperation<Int> { 1 }
        let step = source.flatMap(name: "step", on: queue) { number in
            let inner = AsyncOperation<Int>(name: "inner") { number }
            inner.addDependency(behind)
            return inner
        }
        // The step becomes ready after it, and is more urgent.
        behind.queuePriority = .low
        queue.enqueue(source, step, behind)
        queue.resume()
        let refusal = OperationDeadlocked(operation: "step", awaited: "behind")
        await #expect(throws: refusal) { try await step.value }
        #expect(try await behind.value == 1)
    }
}
