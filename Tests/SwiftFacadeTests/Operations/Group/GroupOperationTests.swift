// SPDX-License-Identifier: Apache-2.0
//
// A group from its first child to its last: results, failures, growth, nesting.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations
// contract: ChildRefused, FailurePolicy, WaitReason, GroupOperation
@Suite(.timeLimit(.minutes(10))) struct GroupOperationTests {
    let queue = OperationQueue()

    @Test func resultsComeInTheOrderOfAdditionWhicheverEndsFirst() async throws {
        let group = GroupOperation<Int>(name: "group")
        let last = Handshake()
        try group.add(
            AsyncOperation {
                last.take()
                return 0
            }
        )
        for number in 1..<5 { try group.add(AsyncOperation { number }) }
        try group.add(
            AsyncOperation {
                last.give()
                return 5
            }
        )
        queue.enqueue(group)
        #expect(try await group.value == [0, 1, 2, 3, 4, 5])
        #expect(try group.results.map { try $0.get() } == [0, 1, 2, 3, 4, 5])
        #expect(group.unfinishedChildren.isEmpty)
    }

    @Test func aGroupWithoutChildrenEndsAtOnce() async throws {
        let group = GroupOperation<Int>().enqueued(on: queue)
        #expect(try await group.value == [])
    }

    @Test func nothingRunsBeforeTheGroupDoes() async throws {
        let above = AsyncOperation<Int> { 1 }
        let group = GroupOperation<Int>()
        let child = AsyncOperation<Int> { 2 }
        try group.add(child)
        group.addDependency(above)
        queue.enqueue(group)
        #expect(child.state == .ready && group.state == .waiting)
        #expect(group.unfinishedChildren == [child])
        queue.enqueue(above)
        #expect(try await group.value == [2])
    }

    @Test func theGroupEndsAfterItsLastChildAndNotBefore() async throws {
        let (group, last) = (GroupOperation<Int>(), Held("last"))
        try group.add(AsyncOperation { 1 })
        try group.add(last.operation)
        queue.enqueue(group)
        await last.begun.taken()
        await eventually("the other has ended") { group.unfinishedChildren == [last.operation] }
        #expect(group.explainWaiting().entries.first?.reasons == [.work, .child("last")])
        #expect(group.isExecuting && group.results.isEmpty)
        last.end(2)
        #expect(try await group.value == [1, 2])
    }

    @Test func childrenMayAddChildrenWhileItRuns() async throws {
        let group = GroupOperation<Int>(name: "growing")
        let produced = Trace<String>()
        group.addObserver(OperationObserver(didProduce: { _, other in produced.add(other.name ?? "?") }))
        try group.add(
            AsyncOperation { [weak group] in
                try group?.add(
                    AsyncOperation(name: "second") { [weak group] in
                        try group?.add(AsyncOperation(name: "third") { 3 })
                        return 2
                    }
                )
                return 1
            }
        )
        queue.enqueue(group)
        #expect(try await group.value == [1, 2, 3])
        #expect(produced.events == ["second", "third"])
    }

    @Test func whatIsAddedAfterTheEndIsRefusedAndStaysTheCallers() async throws {
        let group = GroupOperation<Int>(name: "ended").enqueued(on: queue)
        _ = try await group.value
        let late = AsyncOperation<Int>(name: "late") { 7 }
        let refusal = ChildRefused(group: "ended", child: "late", reason: .isEnding)
        #expect(throws: refusal) { try group.add(late) }
        #expect(
            refusal.description
                == "ended does not take operation late: ended has ended, or is ending and starts nothing more"
        )
        #expect(!late.isCancelled)
        queue.enqueue(late)
        #expect(try await late.value == 7)
    }

    @Test func whatWasStartedOrAddedBeforeIsRefused() async throws {
        let group = GroupOperation<Int>(name: "group")
        let child = AsyncOperation<Int>(name: "child") { 1 }
        try group.add(child)
        #expect(throws: ChildRefused(group: "group", child: "child", reason: .isChild)) {
            try group.add(child)
        }
        let done = AsyncOperation<Int>(name: "done") { 1 }
        done.start()
        #expect(throws: ChildRefused(group: "group", child: "done", reason: .hasStarted)) {
            try group.add(done)
        }
        queue.enqueue(group)
        #expect(try await group.value == [1])
    }

    // MARK: Failures

    @Test func theFirstErrorCancelsTheOthersAndIsTheResultOnceTheyHaveEnded() async throws {
        let begun = Handshake()
        let group = GroupOperation<Int>(name: "group")
        let other = awaitingCancellation("other", begun: begun)
        try group.add(other)
        try group.add(
            AsyncOperation {
                begun.take()
                throw JobFailure()
            }
        )
        queue.enqueue(group)
        await #expect(throws: JobFailure()) { try await group.value }
        #expect(other.isFinished && other.isCancelled)
        #expect(throws: OperationCancelled(operation: "other")) { try group.results[0].get() }
        #expect(throws: JobFailure()) { try group.results[1].get() }
    }

    @Test func whereAllRunTheFirstErrorInOrderIsTheResult() async throws {
        let second = Handshake()
        let group = GroupOperation<Int>(onFailure: .runAll)
        try group.add(
            AsyncOperation {
                second.take()
                throw JobFailure(why: "first in order")
            }
        )
        try group.add(
            AsyncOperation {
                defer { second.give() }
                throw JobFailure(why: "first in time")
            }
        )
        try group.add(AsyncOperation { 3 })
        queue.enqueue(group)
        await #expect(throws: JobFailure(why: "first in order")) { try await group.value }
        #expect(try group.results[2].get() == 3)
        #expect(throws: JobFailure(why: "first in time")) { try group.results[1].get() }
    }

    @Test func otherOperationsAreWaitedForAndMayFailTheGroup() async throws {
        let ran = Counter()
        let group = GroupOperation<Int>(onFailure: .runAll)
        try group.add(other: BlockOperation { ran.increment() })
        try group.add(other: AsyncOperation<String> { "text" })
        try group.add(AsyncOperation { 1 })
        queue.enqueue(group)
        #expect(try await group.value == [1])
        #expect(ran.value == 1)
        let failing = GroupOperation<Int>()
        try failing.add(other: AsyncOperation<String> { throw JobFailure() })
        queue.enqueue(failing)
        await #expect(throws: JobFailure()) { try await failing.value }
        let cancelled = GroupOperation<Int>()
        let block = BlockOperation {}
        block.name = "block"
        block.cancel()
        try cancelled.add(other: block)
        queue.enqueue(cancelled)
        await #expect(throws: OperationCancelled(operation: "block")) { try await cancelled.value }
    }

    // MARK: Cancelling

    @Test func cancellingTheGroupCancelsItsChildrenAndWaitsForThem() async throws {
        let group = GroupOperation<Int>(name: "group", limit: 1)
        let held = HeldOperation("running")
        let (running, waiting) = (held.operation, AsyncOperation<Int> { 2 })
        try group.add(running)
        try group.add(waiting)
        queue.enqueue(group)
        await held.begun.taken()
        group.cancel()
        #expect(running.isCancelled && waiting.isCancelled && !group.isFinished)
        #expect(throws: ChildRefused(group: "group", child: "late", reason: .isEnding)) {
            try group.add(AsyncOperation(name: "late") { 3 })
        }
        held.goOn.give()
        await #expect(throws: OperationCancelled(operation: "group")) { try await group.value }
        #expect(running.isFinished && waiting.isFinished)
    }

    // In the other order the end of one would let the next begin.
    @Test func theChildAddedLastIsCancelledFirst() async throws {
        final class Child: Operation, @unchecked Sendable {
            let recording: () -> Void
            init(_ recording: @escaping () -> Void) { self.recording = recording }
            override func cancel() {
                recording()
                super.cancel()
            }
        }
        let (group, held) = (GroupOperation<Int>(name: "group", limit: 1), HeldOperation("running"))
        let cancelled = Trace<Int>()
        try group.add(held.operation)
        for number in 0..<3 { try group.add(other: Child { cancelled.add(number) }) }
        queue.enqueue(group)
        await held.begun.taken()
        group.cancel()
        #expect(cancelled.events == [2, 1, 0])
        held.goOn.give()
        await #expect(throws: OperationCancelled(operation: "group")) { try await group.value }
    }

    // A dependent of a child outside the group must not wait for ever.
    @Test(arguments: [true, false]) func childrenThatNeverRunEnd(isCancelled: Bool) async throws {
        let ran = Counter()
        let group = GroupOperation<Int>(name: "group")
        let children = (0..<3).map { _ in AsyncOperation<Int>(name: "child") { ran.increment() } }
        for child in children { try group.add(child) }
        try group.add(other: BlockOperation { ran.increment() })
        let below = children[2].recover { _ in -1 }
        queue.enqueue(below)
        if isCancelled { group.cancel() } else { group.finish(.failure(JobFailure())) }
        queue.enqueue(group)
        #expect(try await below.value == -1)
        _ = await group.outcome
        await eventually("all have ended") { group.unfinishedChildren.isEmpty }
        #expect(ran.value == 0 && children.allSatisfy(\.isFinished))
    }

    @Test func endedFromOutsideItCancelsItsChildren() async throws {
        let begun = Handshake()
        let group = GroupOperation<Int>()
        let child = awaitingCancellation(begun: begun, value: 1)
        try group.add(child)
        queue.enqueue(group)
        await begun.taken()
        #expect(group.finish(.success([9])))
        #expect(try await group.value == [9])
        _ = await child.outcome
        #expect(child.isCancelled)
    }

    // MARK: Nesting, limits, observers

    @Test func groupsMayBeChildrenOfGroups() async throws {
        let outer = GroupOperation<[Int]>(name: "outer")
        for row in 0..<3 {
            let inner = GroupOperation<Int>(name: "row \(row)", limit: 2)
            for column in 0..<4 { try inner.add(AsyncOperation { row * 10 + column }) }
            try outer.add(inner)
        }
        queue.enqueue(outer)
        #expect(try await outer.value == (0..<3).map { row in (0..<4).map { row * 10 + $0 } })
    }

    @Test func noMoreChildrenThanTheLimitRunAtOnce() async throws {
        let crowd = Crowd()
        let group = GroupOperation<Int>(limit: 2)
        for number in 0..<50 {
            try group.add(
                AsyncOperation { completion in
                    crowd.enter()
                    DispatchQueue.global().async {
                        crowd.leave()
                        completion.succeed(number)
                    }
                }
            )
        }
        queue.enqueue(group)
        #expect(try await group.value == Array(0..<50))
        #expect(crowd.most <= 2 && crowd.total == 50)
    }

    @Test func childrenAreObserved() async throws {
        let trace = Trace<String>()
        let group = GroupOperation<Int>()
        try group.add(AsyncOperation(name: "early") { 1 })
        group.addChildObserver(
            OperationObserver(
                didEnqueue: { trace.add("enqueued \($0.name ?? "?")") },
                didFinish: { child, _ in trace.add("finished \(child.name ?? "?")") }
            )
        )
        queue.enqueue(group)
        _ = try await group.value
        await eventually("the end is announced") { trace.events.count == 2 }
        #expect(trace.events == ["enqueued early", "finished early"])
    }
}
