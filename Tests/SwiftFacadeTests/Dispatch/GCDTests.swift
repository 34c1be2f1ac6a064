// SPDX-License-Identifier: Apache-2.0
//
// Named queues, background work with its result on a chosen queue, delayed work.

import Dispatch
import Foundation
import Testing

import Interlock
@testable import InterlockOperations
// contract: DelayedWork, GCD
@Suite(.timeLimit(.minutes(10))) struct GCDTests {
    private static func fibonacci(_ number: Int) -> Int {
        number < 2 ? number : fibonacci(number - 1) + fibonacci(number - 2)
    }

    private static func broken() throws -> Int { throw JobFailure() }

    private let key = DispatchSpecificKey<String>()

    private func named(_ name: String) -> DispatchQueue {
        let queue = GCD.serialQueue(label: name)
        queue.setSpecific(key: key, value: name)
        return queue
    }

    // MARK: Queues

    @Test func aSerialQueueRunsOneAtATimeInOrder() async {
        let queue = GCD.serialQueue(label: "org.interlock.test.serial", qos: .utility)
        #expect(queue.label == "org.interlock.test.serial" && queue.qos.qosClass == .utility)
        let trace = Trace<String>()
        for number in 0..<200 {
            queue.async {
                trace.add("begin \(number)")
                trace.add("end \(number)")
            }
        }
        await blocking { queue.sync {} }
        #expect(trace.events == (0..<200).flatMap { ["begin \($0)", "end \($0)"] })
    }

    @Test func aConcurrentQueueRunsTwoAtOnce() async {
        let queue = GCD.concurrentQueue(label: "org.interlock.test.concurrent")
        let (first, second) = (Handshake(), Handshake())
        queue.async {
            first.give()
            second.take()
        }
        queue.async {
            second.give()
            first.take()
        }
        await blocking { queue.sync(flags: .barrier) {} }
    }

    // MARK: Work in the background

    @Test func workRunsOnItsQueueAndIsDeliveredOnTheOther() async {
        let (work, delivery) = (named("work"), named("delivery"))
        let key = key
        let arrival = Promise<(ran: String?, delivered: String?)>()
        GCD.run(on: work, deliverOn: delivery) {
            DispatchQueue.getSpecific(key: key)
        } completion: { (ran: String?) in
            arrival.fulfil((ran, DispatchQueue.getSpecific(key: key)))
        }
        #expect(await arrival.take() == ("work", "delivery"))
    }

    @Test func theDefaultDeliveryIsTheMainQueue() async {
        let key = key
        DispatchQueue.main.setSpecific(key: key, value: "main")
        let arrival = Promise<(Int, String?)>()
        GCD.run {
            Self.fibonacci(20)
        } completion: { (value: Int) in
            arrival.fulfil((value, DispatchQueue.getSpecific(key: key)))
        }
        #expect(await arrival.take() == (6765, "main"))
    }

    @Test func errorsAreDeliveredAsResults() async {
        let queue = named("work")
        let arrival = Promise<Result<Int, any Error>>()
        GCD.run(on: queue, deliverOn: queue) {
            try Self.broken()
        } completion: { result in
            arrival.fulfil(result)
        }
        let result = await arrival.take()
        #expect(throws: JobFailure()) { try result.get() }
    }

    @Test func theAsyncFormSuspendsAndThrows() async throws {
        let (queue, key) = (named("work"), key)
        #expect(try await GCD.run(on: queue) { DispatchQueue.getSpecific(key: key) } == "work")
        await #expect(throws: JobFailure()) { try await GCD.run(on: queue) { try Self.broken() } }
        let freed = Counter()
        _ = try await GCD.run(on: queue) { Tracked(freed: freed) }
        #expect(freed.value == 1, "the result is the caller's alone")
    }

    // queue:  [blocked..................]  (the work would be here)
    // task:            waits, cancelled: throws now
    @Test func workOfACancelledTaskThatHasNotBegunNeverRuns() async {
        let queue = named("work")
        let (ran, freed) = (Counter(), Counter())
        let goOn = await hold(queue)
        let task = {
            let captured = Tracked(freed: freed)
            return Task { [captured] in
                try await GCD.run(on: queue) {
                    captured.touch()
                    return ran.increment()
                }
            }
        }()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await eventually("the captures go while the queue is still blocked") { freed.value == 1 }
        goOn.give()
        await blocking { queue.sync {} }
        #expect(ran.value == 0)
    }

    // MARK: Delayed work

    @Test func delayedWorkIsNeverEarly() async throws {
        for milliseconds in [0, 1, 3, 10, 25] {
            let before = DispatchTime.now().uptimeNanoseconds
            let begin = ContinuousClock.now
            let task = GCD.after(.milliseconds(milliseconds), on: .global()) {
                DispatchTime.now().uptimeNanoseconds
            }
            let elapsed = try await task.value - before
            #expect(task.deadline - begin >= .milliseconds(milliseconds))
            #expect(elapsed >= UInt64(milliseconds) * 1_000_000, "ran after \(elapsed) ns")
            #expect(!task.cancel())
        }
    }

    @Test func delayedWorkGivesItsValueOrError() async throws {
        #expect(try await GCD.after(.zero, on: .global()) { 7 }.value == 7)
        let failing = GCD.after(.zero, on: .global()) { try Self.broken() }
        await #expect(throws: JobFailure()) { try await failing.value }
    }

    @Test func cancellingPreventsTheRunAndFreesTheCapturesAtOnce() async throws {
        let (freed, ran) = (Counter(), Counter())
        let task = {
            let captured = Tracked(freed: freed)
            return GCD.after(.seconds(3600), on: .global()) {
                captured.touch()
                ran.increment()
            }
        }()
        #expect(freed.value == 0)
        #expect(task.cancel())
        #expect(freed.value == 1, "freed an hour before the deadline")
        #expect(!task.cancel())
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(ran.value == 0)
    }

    @Test func cancellingInARaceWithTheTimerDecidesOnce() async throws {
        for _ in 0..<300 {
            let ran = Counter()
            let task = GCD.after(.microseconds(50), on: .global()) { ran.increment() }
            let prevented = await blocking { task.cancel() }
            let didRun = (try? await task.value) != nil
            #expect(didRun != prevented)
            #expect(ran.value == (prevented ? 0 : 1))
        }
    }

    @Test func aCancelledWaitLeavesTheDelayedWorkAlone() async throws {
        let goOn = Handshake()
        let queue = named("held")
        queue.async { goOn.take() }
        let delayed = GCD.after(.zero, on: queue) { 3 }
        let waiter = Task { try await delayed.value }
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        goOn.give()
        #expect(try await delayed.value == 3)
    }

    @Test func timeLimitsNeverWrap() {
        let now = DispatchTime.now()
        #expect(DispatchTime.after(.seconds(Int64.max)) == .distantFuture)
        #expect(DispatchTime.after(.seconds(300 * 365 * 86_400)) == .distantFuture)
        #expect(DispatchTime.after(nil) == .distantFuture)
        #expect(DispatchTime.after(.seconds(-1)) >= now)
        #expect(DispatchTime.after(.seconds(60)).uptimeNanoseconds >= now.uptimeNanoseconds + 60_000_000_000)
        #expect(DispatchTime.after(.seconds(60)) < .distantFuture)
    }
}
