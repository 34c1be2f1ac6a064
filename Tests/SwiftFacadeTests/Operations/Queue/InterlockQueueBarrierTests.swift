// SPDX-License-Identifier: Apache-2.0
//
// Barriers of an InterlockQueue that end out of turn, the steps in which one is added, and what counts for its
// limit.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations
@testable import InterlockPool
@testable import InterlockSync
// contract: InterlockQueue, OperationQueueClosed
@Suite(.timeLimit(.minutes(10))) struct InterlockQueueBarrierTests {
    let queue = InterlockQueue(name: "queue")

    /// In this order: what has a place ends, and not the other way round.
    private func isHeld<Output>(_ job: Job<Output>) -> Bool { !job.node.isPlaced && !job.isFinished }

    /// busy  [ first ]  early  [ cancelled ]  late
    @Test func aCancelledBarrierLeavesWhatItHeldToTheOneBeforeIt() async throws {
        let trace = Trace<String>()
        let end = await hold(queue, name: "busy")
        queue.barrier(name: "first") { trace.add("first") }
        let early = queue.job(name: "early") { trace.add("other") }
        let cancelled = queue.barrier(name: "cancelled") { trace.add("cancelled") }
        let late = queue.job(name: "late") { trace.add("other") }
        cancelled.cancel()
        #expect(isHeld(early) && isHeld(late))
        #expect(queue.explainWaiting()["late"]?.reasons == [.barrier("first")])
        end.happen()
        let isEmpty = try await queue.wait(timeout: .seconds(20))
        #expect(isEmpty && trace.events == ["first", "other", "other"])
    }

    /// A close between the two steps of an addition would refuse a barrier that others wait for already.
    @Test func aCloseWaitsForABarrierThatIsBeingAdded() async {
        let isClosed = await blocking { [core = queue.core] in
            let closed = Handshake()
            var closer: TestThread?
            var isEarly = false
            core.changeState { _ in
                closer = TestThread {
                    core.close()
                    closed.give()
                }
                isEarly = closed.isGiven(within: 0.2) || core.isClosed
            }
            closer?.join()
            return (early: isEarly, late: core.isClosed)
        }
        #expect(!isClosed.early && isClosed.late)
    }

    /// While it runs, what it holds has not begun.
    @Test func whatARunningBarrierHoldsEndsWhenTheQueueIsShutDown() async throws {
        let (begun, end) = (Handshake(), Handshake())
        queue.barrier {
            begun.give()
            end.takeOnWorker()
        }
        await begun.taken()
        let held = AsyncOperation<Int>(name: "held") { 1 }
        queue.enqueue(held)
        _ = await queue.shutDown(within: .zero)
        await eventually("it ends beside the barrier") { held.isFinished }
        end.give()
        await #expect(throws: OperationCancelled(operation: "held")) { try await held.value }
        try await queue.wait()
    }

    @Test(arguments: [false, true]) func behindItsLastBarrierAQueueIsFree(isCancelled: Bool) async throws {
        let barrier = queue.barrier {}
        if isCancelled { barrier.cancel() }
        try await queue.wait()
        let stripes = queue.core.stripes
        // The last end is known before the stripes are free.
        await eventually("the stripes are free") {
            stripes.withAll { !stripes[0].value.pointee.isHeld }
        }
    }

    // MARK: Places

    /// It began when the queue was free; a limit holds the queue, or a barrier that has been cancelled.
    @Test(arguments: [false, true]) func whatRanBeforeCountsForALimit(behindBarrier: Bool) async throws {
        let end = await hold(queue)
        if behindBarrier { queue.barrier {}.cancel() }
        queue.limit = 1
        let next = queue.job { 1 }
        #expect(isHeld(next))
        end.happen()
        #expect(try await next.value == 1)
    }

    @Test func aPriorityThatChangesGivesNoPlace() async throws {
        queue.limit = 1
        let end = await hold(queue)
        let operation = AsyncOperation<Int> { 1 }
        queue.enqueue(operation)
        for priority in [Operation.QueuePriority.high, .low, .veryHigh] { operation.queuePriority = priority }
        #expect(operation.node?.isPlaced == false && !operation.isFinished)
        end.happen()
        #expect(try await operation.value == 1)
    }
}
