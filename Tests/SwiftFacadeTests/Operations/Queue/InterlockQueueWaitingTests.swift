// SPDX-License-Identifier: Apache-2.0
//
// Operations of an InterlockQueue that wait between their start and their work, and how waiting ones are explained.

import Foundation
import Testing

import Interlock

@Suite struct InterlockQueueWaitingTests {
    @Test func anOperationThatWaitsForItsConditionKeepsItsPlaceAndGoesOnInThePool() async throws {
        let pool = try WorkerPool(name: "places-pool", threads: 1)
        let queue = InterlockQueue(name: "places", pool: pool, limit: 1)
        let (asked, answer) = (Handshake(), Latch(count: 1))
        let order = Trace<String>()
        let first = AsyncOperation(name: "first") {
            order.add("first")
            return threadName()
        }
        first.addCondition(
            OperationCondition("answer") { _ in
                asked.give()
                try await answer.wait()
            }
        )
        let second = AsyncOperation(name: "second") { order.add("second") }
        queue.enqueue(first, second)
        await asked.taken()
        #expect(queue.explainWaiting()["first"]?.reasons == [.condition("answer")])
        #expect(queue.explainWaiting()["second"]?.reasons == [.queueIsFull("places", running: ["first"])])
        answer.countDown()
        #expect(try await first.value.hasPrefix("places-pool"))
        _ = try await second.value
        #expect(order.events == ["first", "second"])
    }

    @Test func whatASuspendedQueueHoldsIsExplained() async throws {
        let queue = InterlockQueue(name: "held", isSuspended: true)
        let above = AsyncOperation(name: "above") { 1 }
        let below = above.then(name: "below") { $0 }
        queue.enqueue(above, below)
        let explanation = queue.explainWaiting()
        #expect(explanation["above"]?.reasons == [.queueSuspended("held")])
        #expect(explanation["below"]?.reasons.contains(.dependency("above")) == true)
        queue.resume()
        #expect(try await below.value == 1)
        try await queue.wait()
        #expect(queue.explainWaiting().entries.isEmpty)
    }

    @Test func theChildrenThatAGroupWaitsForAreExplained() async throws {
        let child = HeldOperation("child")
        let group = GroupOperation<Int>(name: "group")
        try group.add(other: child.operation)
        let queue = OperationQueue()
        queue.enqueue(group)
        await child.begun.taken()
        #expect(group.explainWaiting()["group"]?.reasons == [.work, .child("child")])
        child.goOn.give()
        _ = try await group.value
    }
}
