// SPDX-License-Identifier: Apache-2.0
//
// What `GCD.sync` knows of targets, and of queues entered by plain `sync` and `async`. A child process makes each
// report; an alarm ends a child that hangs.

import Dispatch
import Foundation
import Testing

import Interlock
@testable import InterlockOperations
@testable import InterlockPool
@testable import InterlockSync
// contract: GCD
@Suite(.timeLimit(.minutes(10))) struct SyncTargetTests {
    // MARK: Serial targets

    @Test func queuesThatShareASerialTargetAreReportedWithItsLabel() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            alarm(240)
            let target = GCD.serialQueue(label: "disk")
            let (a, b) = (
                GCD.serialQueue(label: "A", target: target), GCD.serialQueue(label: "B", target: target)
            )
            sync(on: a) { sync(on: b) {} }
        }
        #expect(
            sentence(result).contains(
                "interlock: GCD.sync(on: \"B\"): would wait for itself: this thread is running on \"A\" and has entered "
                    + "\"A\" and with it its serial target \"disk\", which \"B\" targets too (\"A\" → \"B\"), so the work "
                    + "could never start"
            )
        )
    }

    @Test func aSharedTargetFurtherDownAndFurtherOutIsReported() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            alarm(240)
            let target = GCD.serialQueue(label: "disk")
            let between = GCD.concurrentQueue(label: "between", target: target)
            let (a, b) = (
                GCD.serialQueue(label: "A", target: between), GCD.serialQueue(label: "B", target: target)
            )
            a.async { sync(on: DispatchQueue(label: "C")) { sync(on: b) {} } }
            try await Task.sleep(for: .seconds(60))
        }
        #expect(sentence(result).contains("\"disk\", which \"B\" targets too (\"A\" → \"C\" → \"B\")"))
    }

    // libdispatch answers for the current queue: "A" was not made by GCD.
    @Test func theTargetOfAPlainQueueIsSeenWhileThatIsCurrent() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            alarm(240)
            let target = GCD.serialQueue(label: "disk")
            let a = DispatchQueue(label: "A", target: target)
            let b = GCD.serialQueue(label: "B", target: target)
            sync(on: a) { sync(on: b) {} }
        }
        #expect(sentence(result).contains("its serial target \"disk\", which \"B\" targets too"))
    }

    @Test func theSerialTargetItselfIsReported() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            alarm(240)
            let target = DispatchQueue(label: "disk")
            let a = DispatchQueue(label: "A", target: target)
            sync(on: a) {}
            a.async { sync(on: target) {} }
            try await Task.sleep(for: .seconds(60))
        }
        #expect(
            sentence(result).contains(
                "has entered \"A\" and with it its serial target \"disk\" (\"A\" → \"disk\")"
            )
        )
    }

    @Test func aQueueOnTheCurrentOneIsReported() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            alarm(240)
            let target = GCD.serialQueue(label: "disk")
            let a = GCD.serialQueue(label: "A", target: target)
            sync(on: target) { sync(on: a) {} }
        }
        #expect(sentence(result).contains("has entered \"disk\" already, which \"A\" targets too"))
    }

    @Test func queuesOnTheMainQueueShareIt() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            alarm(240)
            let (a, b) = (
                GCD.serialQueue(label: "A", target: .main), GCD.serialQueue(label: "B", target: .main)
            )
            a.async { sync(on: b) {} }
            try await Task.sleep(for: .seconds(60))
        }
        #expect(
            sentence(result).contains("its serial target \"com.apple.main-thread\", which \"B\" targets too")
        )
    }

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

    // MARK: Plain sync and async

    // GCD has not met "A" before: the call on it sees it.
    @Test func anOuterPlainSyncIsSeen() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            alarm(240)
            let (a, b) = (DispatchQueue(label: "A"), DispatchQueue(label: "B"))
            func plain(_ body: () -> Void) { a.sync(execute: body) }
            plain { sync(on: b) { sync(on: a) {} } }
        }
        #expect(sentence(result).contains("(\"A\" → \"B\" → \"A\")"))
    }

    @Test func anOuterPlainAsyncIsSeenThroughAGlobalQueue() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            alarm(240)
            let a = DispatchQueue(label: "A")
            a.async { sync(on: .global(qos: .utility)) { sync(on: a) {} } }
            try await Task.sleep(for: .seconds(60))
        }
        #expect(sentence(result).contains("GCD.sync(on: \"A\"): would wait for itself"))
    }

    @Test func workOfAConcurrentQueueThatEntersItIsReported() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            alarm(240)
            let queue = DispatchQueue(label: "wide", attributes: .concurrent)
            queue.async { sync(on: queue) {} }
            try await Task.sleep(for: .seconds(60))
        }
        #expect(sentence(result).contains("GCD.sync(on: \"wide\"): would wait for itself"))
    }

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
            #expect(GCD.sync(on: queue, until: .now) { ran.increment() } == nil)
        }
        goOn.give()
        await blocking { queue.sync {} }
        #expect(ran.value == 0)
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
                GCD.sync(on: queue, until: .now + .seconds(600)) { EnteredQueues.current.map(\.label) } == [
                    "free"
                ]
            )
            #expect(throws: JobFailure()) {
                try GCD.sync(on: queue, timeout: .seconds(600)) { () throws(JobFailure) in throw JobFailure()
                }
            }
        }
    }

    @Test func aCycleIsReportedThoughThereIsALimit() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            @Sendable func limited(_ queue: DispatchQueue, _ body: @Sendable () -> Void) {
                _ = GCD.sync(on: queue, timeout: .seconds(3600), body)
            }
            alarm(240)
            let (a, b) = (DispatchQueue(label: "A"), DispatchQueue(label: "B"))
            limited(a) { limited(b) { sync(on: a) {} } }
        }
        #expect(sentence(result).contains("(\"A\" → \"B\" → \"A\")"))
    }
}
