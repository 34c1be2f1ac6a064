// SPDX-License-Identifier: Apache-2.0
//
// `GCD.sync` refuses to wait for itself, names the queues involved, and refuses nothing else. A child process makes
// each report; an alarm ends a child that hangs.

import Dispatch
import Foundation
import Testing

import Interlock
@testable import InterlockOperations
@testable import InterlockPool
@testable import InterlockSync
// contract: GCD
@Suite(.timeLimit(.minutes(10))) struct CheckedSyncTests {
    @Test func valuesAndErrorsPassThrough() throws {
        let queue = GCD.serialQueue(label: "plain")
        #expect(sync(on: queue) { 42 } == 42)
        #expect(throws: JobFailure()) {
            try sync(on: queue) { () throws(JobFailure) in throw JobFailure() }
        }
    }

    @Test func differentQueuesNest() {
        let (a, b, c) = (GCD.serialQueue(label: "A"), GCD.serialQueue(label: "B"), DispatchQueue(label: "C"))
        for _ in 0..<3 {
            #expect(sync(on: a) { sync(on: b) { sync(on: c) { 3 } } } == 3)
        }
        #expect(EnteredQueues.current.isEmpty)
    }

    @Test func theSameLabelIsNotTheSameQueue() {
        let (one, two) = (GCD.serialQueue(label: "twin"), GCD.serialQueue(label: "twin"))
        #expect(sync(on: one) { sync(on: two) { 1 } } == 1)
    }

    @Test func aQueueMayBeEnteredAgainAfterItWasLeft() async {
        let queue = GCD.serialQueue(label: "again")
        for _ in 0..<10 { sync(on: queue) {} }
        for _ in 0..<10 {
            let value: Int? = try? await GCD.run(on: .global(qos: .utility)) { sync(on: queue) { 1 } }
            #expect(value == 1)
        }
    }

    @Test func workStartedInsideIsNotInside() async {
        let queue = GCD.serialQueue(label: "inside")
        let arrival = Promise<Int>()
        sync(on: queue) {
            DispatchQueue.global().async { arrival.fulfil(sync(on: queue) { 7 }) }
            Task { sync(on: queue) {} }
        }
        #expect(await arrival.take() == 7)
    }

    @Test func globalQueuesMayBeEnteredFromThemselves() async throws {
        let value = try await GCD.run(on: .global(qos: .utility)) { sync(on: .global(qos: .utility)) { 5 } }
        #expect(value == 5)
    }

    @Test func aConcurrentTargetMayBeEnteredFromTheQueueOnIt() async throws {
        let target = GCD.concurrentQueue(label: "target")
        let queue = DispatchQueue(label: "on target", target: target)
        let arrival = Promise<Int>()
        queue.async { arrival.fulfil(sync(on: target) { 5 }) }
        #expect(await arrival.take() == 5)
    }

    @Test func syncOntoTheCurrentQueueIsReported() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            alarm(240)
            let queue = DispatchQueue(label: "org.interlock.photos")
            sync(on: queue) { sync(on: queue) {} }
        }
        #expect(
            sentence(result).contains(
                "interlock: GCD.sync(on: \"org.interlock.photos\"): would wait for itself"
            )
        )
        #expect(sentence(result).contains("(\"org.interlock.photos\" → \"org.interlock.photos\")"))
    }

    @Test func syncFromAsyncWorkOntoItsOwnQueueIsReported() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            alarm(240)
            let queue = DispatchQueue(label: "never met before")
            queue.async { sync(on: queue) {} }
            try await Task.sleep(for: .seconds(60))
        }
        #expect(sentence(result).contains("GCD.sync(on: \"never met before\"): would wait for itself"))
    }

    // A, then B, then A: libdispatch sees B only, and hangs.
    @Test func enteringAQueueFurtherOutIsReportedWithBothLabels() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            alarm(240)
            let (a, b) = (DispatchQueue(label: "A"), DispatchQueue(label: "B"))
            sync(on: a) { sync(on: b) { sync(on: a) {} } }
        }
        #expect(sentence(result).contains("this thread is running on \"B\" and has entered \"A\" already"))
        #expect(sentence(result).contains("(\"A\" → \"B\" → \"A\")"))
    }

    @Test func theFirstOfThreeMayHaveBeenEnteredByAsync() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            alarm(240)
            let (a, b) = (GCD.serialQueue(label: "A"), DispatchQueue(label: "B"))
            a.async { sync(on: b) { sync(on: a) {} } }
            try await Task.sleep(for: .seconds(60))
        }
        #expect(sentence(result).contains("(\"A\" → \"B\" → \"A\")"))
    }

    @Test func syncOntoTheMainQueueFromItselfIsReported() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            alarm(240)
            await MainActor.run { sync(on: .main) {} }
        }
        #expect(sentence(result).contains("would wait for itself"))
    }
}
