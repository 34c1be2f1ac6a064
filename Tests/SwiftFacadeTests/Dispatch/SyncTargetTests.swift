// SPDX-License-Identifier: Apache-2.0
//
// What `GCD.sync` knows of targets, and its limits. The reports are in DispatchMisuseTests.swift.

import Dispatch
import Foundation
import Testing

import Interlock
@testable import InterlockOperations
// contract: GCD
@Suite(.timeLimit(.minutes(10))) struct SyncTargetTests {
    @Test func queuesThatShareAConcurrentTargetNest() {
        for target in [
            GCD.concurrentQueue(label: "wide"), DispatchQueue(label: "wide", attributes: .concurrent),
        ] {
            let (a, b) = (
                GCD.serialQueue(label: "A", target: target), GCD.serialQueue(label: "B", target: target)
            )
            #expect(sync(on: a) { sync(on: b) { 1 } } == 1)
        }
    }

    @Test func queuesWithTargetsOfTheirOwnNest() {
        let queues = ["A", "B"].map {
            GCD.serialQueue(label: $0, target: GCD.serialQueue(label: "below \($0)"))
        }
        #expect(sync(on: queues[0]) { sync(on: queues[1]) { 1 } } == 1)
    }

    // MARK: Tags

    @Test func aTagIsOneForAllWhoMeetTheQueueAtOnce() async {
        for _ in 0..<100 {
            let queue = DispatchQueue(label: "met", attributes: .concurrent)
            let tags = VisibleMutex<[QueueTag?]>([])
            let both = Handshake()
            await blocking {
                for _ in 0..<2 {
                    queue.async {
                        let tag = QueueTag.current?.takeUnretainedValue()
                        tags.withLock { $0.append(tag) }
                        both.give()
                    }
                }
                let tag = QueueTag.of(queue)
                both.take(2)
                tags.withLock { $0.append(tag) }
            }
            let met = tags.withLock { $0 }
            #expect(met.count == 3 && met.allSatisfy { $0 != nil && $0 === met[0] })
        }
    }

    @Test func theTagGoesWithItsQueue() async {
        let tags = WeakTag()
        do {
            let queue = DispatchQueue(label: "brief")
            let label = await blocking { queue.sync { tags.see(QueueTag.current?.takeUnretainedValue()) } }
            #expect(label == "brief")
        }
        await eventually("the tag of a queue that was current is freed") { tags.isFreed }
    }

    private final class WeakTag: Sendable {
        private struct Box { weak var tag: QueueTag? }
        private let box = VisibleMutex(Box())
        func see(_ tag: QueueTag?) -> String? {
            box.withLock { $0.tag = tag }
            return tag?.label
        }
        var isFreed: Bool { box.withLock { $0.tag == nil } }
    }

    // MARK: Limits

    @Test func aLimitEndsTheWaitForTheQueueAndNothingIsLeft() async {
        let queue = GCD.serialQueue(label: "held")
        let (ran, freed) = (Counter(), Counter())
        let goOn = await hold(queue)
        await blocking {
            func late() -> Int? {
                let captured = Tracked(freed: freed)
                return GCD.sync(on: queue, timeout: .milliseconds(5)) {
                    captured.touch()
                    return ran.increment()
                }
            }
            #expect(late() == nil)
            #expect(freed.value == 1, "freed while the queue is still held")
            #expect(GCD.sync(on: queue, timeout: .zero) { ran.increment() } == nil)
        }
        goOn.give()
        await blocking { queue.sync {} }
        #expect(ran.value == 0)
    }

    // waiter    sends            limit passes           has the value, which is its own
    // queue              begins                 ends
    @Test func aBodyThatHasBegunIsWaitedForBeyondItsLimit() async {
        let queue = GCD.serialQueue(label: "free")
        let (begun, freed) = (Counter(), Counter())
        await blocking {
            let limit = Duration.milliseconds(50)
            var value: Tracked?
            // A busy machine may begin it too late.
            while begun.value == 0 {
                let end = ContinuousClock.now + limit + .milliseconds(5)
                value = GCD.sync(on: queue, timeout: limit) {
                    begun.increment()
                    while ContinuousClock.now < end { sched_yield() }
                    return Tracked(freed: freed)
                }
            }
            #expect(value != nil && freed.value == 0)
        }
        #expect(freed.value == 1)
    }

    @Test func withinTheLimitTheQueueRunsTheBody() async {
        let queue = GCD.serialQueue(label: "free")
        let key = DispatchSpecificKey<String>()
        queue.setSpecific(key: key, value: "free")
        await blocking {
            #expect(
                GCD.sync(on: queue, timeout: .seconds(600)) { DispatchQueue.getSpecific(key: key) } == "free"
            )
            #expect(
                GCD.sync(on: queue, timeout: .seconds(600)) { EnteredQueues.current.map(\.label) } == ["free"]
            )
            #expect(throws: JobFailure()) {
                try GCD.sync(on: queue, timeout: .seconds(600)) { () throws(JobFailure) in throw JobFailure()
                }
            }
        }
    }
}
