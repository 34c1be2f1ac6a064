// SPDX-License-Identifier: Apache-2.0
//
// How operations and queues explain their waiting: every reason where it is forced, with names.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations

/// An operation that runs until it is let go.
struct HeldOperation {
    let operation: AsyncOperation<Int>
    let begun = Handshake()
    let goOn = Handshake()

    init(_ name: String) {
        let (begun, goOn) = (begun, goOn)
        operation = AsyncOperation<Int>(name: name) {
            begun.give()
            goOn.take()
            return 1
        }
    }
}
// contract: InterlockQueue, WaitExplanation, WaitReason, AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct ExplainingTests {
    let queue = OperationQueue()

    @Test func aHungGraphAnswersWithNames() async throws {
        let forgotten = AsyncOperation<Int>(name: "forgotten") { 1 }
        let middle = forgotten.then(name: "middle") { $0 }.enqueued(on: queue)
        let last = middle.then(name: "last") { $0 }
        queue.addOperation(last)
        let explanation = last.explainWaiting()
        #expect(explanation.entries.map(\.operation) == ["last", "middle", "forgotten"])
        #expect(explanation["last"]?.reasons == [.dependency("middle")])
        #expect(explanation["middle"]?.reasons == [.dependencyInNoQueue("forgotten")])
        #expect(explanation["forgotten"]?.reasons == [.noQueue])
        #expect(explanation.cycle == nil)
        #expect(
            explanation.description == """
                last: waits for middle
                middle: waits for forgotten, which is in no queue and was not started
                forgotten: is in no queue and was not started
                """
        )
        #expect(queue.explainWaiting().entries.map(\.operation) == ["middle", "last", "forgotten"])
        forgotten.start()
        #expect(try await last.value == 1)
        #expect(last.explainWaiting().entries.isEmpty && last.explainWaiting().description == "nothing waits")
    }

    // Added by Foundation's call, it was asked whether it is ready: it may be in a queue.
    @Test func whatMayBeInAQueueIsNotSaidToBeInNone() {
        queue.isSuspended = true
        queue.name = "own"
        let above = AsyncOperation<Int>(name: "above") { 1 }
        let below = AsyncOperation<Int>(name: "below") { 2 }
        below.addDependency(above)
        #expect(below.explainWaiting()["below"]?.reasons == [.dependencyInNoQueue("above"), .noQueue])
        queue.addOperation(above)
        #expect(below.explainWaiting()["below"]?.reasons == [.dependency("above"), .noQueue])
        #expect(below.explainWaiting()["above"]?.reasons == [.notStarted])
        #expect(queue.explainWaiting()["above"]?.reasons == [.queueSuspended("own")])
        queue.cancelAllOperations()
        queue.isSuspended = false
    }

    @Test func aQueueThatIsSuspendedOrFullIsNamedWithWhatRuns() async throws {
        queue.name = "narrow"
        queue.maxConcurrentOperationCount = 1
        let running = HeldOperation("running")
        let waiting = AsyncOperation<Int>(name: "waiting") { 2 }
        queue.enqueue(running.operation, waiting)
        await running.begun.taken()
        #expect(
            waiting.explainWaiting()["waiting"]?.reasons == [.queueIsFull("narrow", running: ["running"])]
        )
        #expect(queue.explainWaiting()["running"]?.reasons == [.work])
        #expect(
            waiting.explainWaiting().description
                == "waiting: waits in queue narrow, whose places are taken by running"
        )
        queue.isSuspended = true
        #expect(waiting.explainWaiting()["waiting"]?.reasons == [.queueSuspended("narrow")])
        queue.isSuspended = false
        running.goOn.give()
        #expect(try await waiting.value == 2)
    }

    @Test func anOutcomeRecordedBeforeTheStartIsExplainedAsSuch() {
        let above = AsyncOperation<Int>(name: "above") { 1 }
        let below = above.then(name: "below") { $0 }
        above.finish(.success(7))
        #expect(below.explainWaiting()["below"]?.reasons == [.dependencyInNoQueue("above"), .noQueue])
        #expect(below.explainWaiting()["above"]?.reasons == [.outcomeRecorded, .noQueue])
    }

    @Test func aCancelledOperationWaitsForItsQueueOnly() {
        let above = AsyncOperation<Int>(name: "above") { 1 }
        let below = above.then(name: "below") { $0 }
        below.cancel()
        #expect(below.explainWaiting()["below"]?.reasons == [.noQueue])
    }

    @Test func anAdmissionUnderWayIsExplained() async throws {
        let (asked, answer) = (Handshake(), Latch(count: 1))
        let network = OperationCondition("network") { _ in
            asked.give()
            try await answer.wait()
        }
        let upload = AsyncOperation(name: "upload") { 1 }.addCondition(network)
        queue.enqueue(upload)
        await asked.taken()
        #expect(upload.explainWaiting()["upload"]?.reasons == [.condition("network")])
        answer.countDown()
        #expect(try await upload.value == 1)
    }

    @Test func aCategoryIsExplainedWithItsHolder() async throws {
        let category = ExclusionCategory("disk of ExplainingTests")
        let holder = HeldOperation("holder")
        holder.operation.excludes(category)
        let waiter = AsyncOperation(name: "waiter") { 1 }.excludes(category)
        queue.enqueue(holder.operation)
        await holder.begun.taken()
        queue.enqueue(waiter)
        await eventually("the waiter has come to its category") { category.waiters == ["waiter"] }
        #expect(
            waiter.explainWaiting()["waiter"]?.reasons
                == [.exclusion(category: category.name, holder: "holder")]
        )
        holder.goOn.give()
        #expect(try await waiter.value == 1)
    }

    @Test func operationsOfOtherClassesAreExplained() async {
        let (begun, goOn) = (Handshake(), Handshake())
        let block = BlockOperation {
            begun.give()
            goOn.take()
        }
        let (idle, behind) = (BlockOperation {}, BlockOperation {})
        (block.name, idle.name, behind.name) = ("block", "idle", "behind")
        behind.addDependency(block)
        behind.addDependency(idle)
        queue.addOperation(block)
        queue.addOperation(behind)
        await begun.taken()
        let explanation = queue.explainWaiting()
        #expect(explanation["block"]?.reasons == [.work])
        #expect(explanation["behind"]?.reasons == [.dependency("block"), .dependency("idle")])
        #expect(explanation["idle"]?.reasons == [.notStarted])
        goOn.give()
        idle.start()
    }

    @Test func aBarrierOfFoundationsQueueIsExplained() async throws {
        let running = HeldOperation("running")
        queue.enqueue(running.operation)
        await running.begun.taken()
        queue.addBarrierBlock {}
        let behind = AsyncOperation<Int>(name: "behind") { 1 }.enqueued(on: queue)
        #expect(queue.explainWaiting()["behind"]?.reasons == [.barrier("a block")])
        running.goOn.give()
        _ = try await behind.wait(timeout: .seconds(Handshake.limit))
    }

    @Test func whatIsAnnouncedAsReadyIsBehindNoBarrier() async throws {
        let above = AsyncOperation<Int>(name: "above") { 1 }
        let below = AsyncOperation<Int>(name: "below") { 2 }
        below.addDependency(above)
        let reasons = Trace<[WaitReason]>()
        below.onChange { [weak below] event in
            if event == .ready, let below { reasons.add(below.explainWaiting()["below"]?.reasons ?? []) }
        }
        queue.enqueue(below)
        above.start()
        #expect(try await below.value == 2)
        #expect(reasons.events.count == 1 && !reasons.events[0].contains(.barrier("a block")))
    }

    // The last edge is of another class: nothing could refuse it.
    @Test func aCycleThatNothingCouldRefuseIsExplained() {
        let first = AsyncOperation<Int>(name: "first") { 1 }
        let block = BlockOperation {}
        block.name = "block"
        let below = first.then(name: "below") { $0 }
        first.addDependency(block)
        block.addDependency(first)
        let explanation = below.explainWaiting()
        #expect(explanation.cycle == ["first", "block"])
        #expect(explanation.description.hasSuffix("first → block → first: wait for each other for ever"))
        first.removeDependency(block)
        #expect(below.explainWaiting().cycle == nil)
    }

    // Its work waits for others, as that of a group.
    // Operation is; the subclass adds only what it never changes.
    private final class Parent: AsyncOperation<Int>, AwaitingOperation, @unchecked Sendable {
        let awaitedOperations: [Operation]
        let begun = Handshake()
        init(_ name: String, of children: [Operation]) {
            awaitedOperations = children
            super.init()
            self.name = name
        }
        override func execute() { begun.give() }
    }

    @Test func whatAnOperationsWorkWaitsForIsExplainedAndClosesACycle() async {
        let child = AsyncOperation<Int>(name: "child") { 1 }
        let grandchild = child.then(name: "grandchild") { $0 }
        let parent = Parent("parent", of: [grandchild])
        #expect(parent.pathClosed(byAwaiting: grandchild) == nil)
        #expect(child.pathClosed(by: parent)?.map(\.name) == ["parent", "grandchild", "child"])
        #expect(grandchild.pathClosed(byAwaiting: parent)?.map(\.name) == ["parent", "grandchild"])
        queue.enqueue(parent)
        await parent.begun.taken()
        #expect(parent.explainWaiting()["parent"]?.reasons == [.work, .child("grandchild")])
        #expect(parent.explainWaiting()["child"]?.reasons == [.noQueue])
        parent.finish(.success(1))
        #expect(child.pathClosed(by: parent) == nil)
    }

    // MARK: Misuse

    @Test(.ownThreads, arguments: ["twice", "elsewhere", "finished"]) func addingASecondTimeIsReported(
        how: String
    ) async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            [how] in
            let (queue, other) = (OperationQueue(), OperationQueue())
            (queue.name, other.name) = ("first", "other")
            queue.isSuspended = true
            let operation = AsyncOperation<Int>(name: "page") { 1 }
            switch how {
            case "finished": operation.start()
            default: queue.enqueue(operation)
            }
            if how == "elsewhere" { _ = operation.enqueued(on: other) } else { queue.enqueue(operation) }
        }
        let seen = how == "finished" ? "it has finished" : "it is in queue \"first\" already"
        let queue = how == "elsewhere" ? "other" : "first"
        #expect(
            sentence(result).contains(
                "OperationQueue.enqueue(\"page\"): \(seen), and cannot be added to \"\(queue)\"; an operation is added once"
            )
        )
    }

    @Test(.ownThreads, arguments: [false, true]) func addingToAQueueOfTheOtherKindIsReported(isOwnFirst: Bool)
        async
    {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            [isOwnFirst] in
            let (foundation, own) = (OperationQueue(), InterlockQueue(name: "own", isSuspended: true))
            foundation.name = "foundation"
            foundation.isSuspended = true
            let operation = AsyncOperation<Int>(name: "page") { 1 }
            if isOwnFirst { own.enqueue(operation) }
            foundation.enqueue(operation)
            own.enqueue(operation)
        }
        let seen =
            isOwnFirst
            ? "OperationQueue.enqueue(\"page\"): it is in the queue own already, and cannot be added to "
                + "\"foundation\""
            : "InterlockQueue.enqueue(\"page\"): it is in queue \"foundation\" already"
        #expect(sentence(result).contains("\(seen); an operation is added once"))
    }
}
