// SPDX-License-Identifier: Apache-2.0
//
// `GCD.sync` refuses nothing but a wait for itself; DispatchMisuseTests.swift has that.

import Dispatch
import Foundation
import Testing

import Interlock
@testable import InterlockOperations
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
}
