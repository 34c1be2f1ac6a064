// SPDX-License-Identifier: Apache-2.0
//
// Groups and `flatMap` steps in an `InterlockQueue`: what they begin runs in their place, and the circles that remain
// are refused.

import Foundation
import Testing

@testable import Interlock

@Suite(.timeLimit(.minutes(5))) struct InterlockQueuePlaceTests {
    private func serial() -> InterlockQueue { InterlockQueue(name: "serial", limit: 1) }

    @Test func aGroupAndItsChildrenInOneSerialQueueEnd() async throws {
        let (queue, crowd) = (serial(), Crowd())
        let group = GroupOperation<Int>(on: queue)
        for number in 0..<20 {
            try group.add(
                AsyncOperation {
                    crowd.enter()
                    defer { crowd.leave() }
                    return number
                }
            )
        }
        let after = AsyncOperation<Int> { 7 }
        queue.enqueue(group, after)
        #expect(try await group.value == Array(0..<20))
        #expect(try await after.value == 7)
        #expect(crowd.most == 1)
    }

    @Test func groupsInGroupsAndStepsInOneSerialQueueEnd() async throws {
        let queue = serial()
        let outer = GroupOperation<[Int]>(on: queue)
        for row in 0..<3 {
            let inner = GroupOperation<Int>(on: queue)
            try inner.add(AsyncOperation { row })
            let source = AsyncOperation<Int> { row + 10 }
            let below = source.flatMap(on: queue) { number in AsyncOperation { number + 10 } }
            try inner.add(source)
            try inner.add(below)
            try outer.add(inner)
        }
        queue.add(outer)
        #expect(try await outer.value == (0..<3).map { [$0, $0 + 10, $0 + 20] })
    }

    @Test func aQueueFullOfGroupsEnds() async throws {
        let queue = InterlockQueue(limit: 2)
        let groups = try (0..<6).map { number in
            let group = GroupOperation<Int>(on: queue)
            try group.add(AsyncOperation { number })
            return group
        }
        for group in groups { queue.add(group) }
        for (number, group) in groups.enumerated() { #expect(try await group.value == [number]) }
    }

    // Behind the barrier, the child would wait for the group's end.
    @Test func aBarrierBehindAGroupLetsItsChildrenPass() async throws {
        let queue = InterlockQueue(isSuspended: true)
        let group = GroupOperation<Int>(on: queue)
        try group.add(AsyncOperation { 1 })
        queue.add(group)
        let barrier = queue.addBarrier { 2 }
        queue.resume()
        #expect(try await group.value == [1])
        #expect(try await barrier.value == 2)
    }

    @Test func childrenRunInTheQueueThatIsGiven() async throws {
        let (queue, home) = (InterlockQueue(), InterlockQueue(isSuspended: true))
        let group = GroupOperation<Int>(on: home)
        let child = AsyncOperation<Int> { 1 }
        try group.add(child)
        queue.add(group)
        await eventually("the child is in its queue") { home.count == 1 }
        #expect(home.operations.first === child && queue.count == 1)
        home.resume()
        #expect(try await group.value == [1])
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
        queue.add(group)
        let names = try await group.value
        #expect(names.allSatisfy { $0.hasPrefix("group-pool") }, "\(names)")
        #expect(crowd.most == 1)
    }

    @Test func cancellingTheQueueCancelsTheChildrenOfItsGroups() async throws {
        let queue = serial()
        let begun = Handshake()
        let group = GroupOperation<Int>(name: "group", on: queue)
        try group.add(
            AsyncOperation {
                begun.give()
                await untilCancelled()
                throw CancellationError()
            }
        )
        let waiting = AsyncOperation<Int> { 1 }
        try group.add(waiting)
        queue.add(group)
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

    // MARK: Circles

    @Test func aGroupWhoseChildWaitsForWhatIsBehindItSaysSo() async throws {
        let queue = InterlockQueue(limit: 1, isSuspended: true)
        let behind = AsyncOperation<Int>(name: "behind") { 1 }
        let group = GroupOperation<Int>(name: "group")
        let child = AsyncOperation<Int>(name: "child") { 2 }
        child.addDependency(behind)
        try group.add(AsyncOperation { 1 })
        try group.add(child)
        queue.enqueue(group, behind)
        queue.resume()
        let refusal = ChildRefused(group: "group", child: "child", reason: .waitsForPlace("behind"))
        await #expect(throws: refusal) { try await group.value }
        #expect(try await behind.value == 1)
        _ = await child.outcome
        #expect(child.isCancelled)
    }

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
