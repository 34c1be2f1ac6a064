// SPDX-License-Identifier: Apache-2.0
//
// The window between an outcome's record and its settling. Ending an operation takes two sections of the record's lock,
// and between them the ending thread runs nothing that a test could hold up (on Darwin an observer of Foundation's, on
// Linux nothing). So the test is the ending thread, and calls the two sections itself; the operation's place in its
// queue is the test's too, and says when the admission goes on:
//
//   ending thread                          thread that goes on after a wait
//   records the outcome
//                                          finds it: neither work nor `didStart`
//   ends

import Foundation
import Testing

import Interlock
@testable import InterlockOperations

/// Keeps what an operation goes on with until the test says so.
private final class KeptPlace: ResumingQueue {
    private let parts = Trace<@Sendable () -> Void>()
    var count: Int { parts.events.count }

    func reasonNotStarted(_ operation: AnyObject) -> WaitReason? { nil }
    func resume(_ operation: Operation, _ body: @escaping @Sendable () -> Void) { parts.add(body) }
    func goOn() { for part in parts.events { part() } }
}

// contract: AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct AdmissionWindowTests {
    enum Wait: CaseIterable { case delay, condition, category }

    private static let windows = Counter()

    /// Its work begins where the record says so: `execute()` does not look for an outcome.
    // Operation is; the subclass adds only what it never changes.
    private final class Executed: AsyncOperation<Int>, @unchecked Sendable {
        let executions = Counter()
        override func execute() {
            executions.increment()
            finish(.success(2))
        }
    }

    /// An executing operation whose last wait before its work is over.
    private func waited(_ wait: Wait, _ events: Trace<String>) async -> (Executed, KeptPlace) {
        let (operation, place, clock) = (Executed(), KeptPlace(), ManualClock())
        // Its own: these tests run beside each other.
        let category = ExclusionCategory("window \(Self.windows.increment())")
        let holder = Held("holder", category)
        operation.addObserver(
            OperationObserver(
                didStart: { _ in events.add("start") },
                didFinish: { _, _ in events.add("finish") }
            )
        )
        switch wait {
        case .delay: operation.delay(by: .seconds(1), clock: clock)
        case .condition: operation.addCondition(.that("yes") { true })
        case .category:
            holder.operation.start()
            operation.excludes(category)
        }
        operation.becomeArrival(place)
        operation.start()
        if wait == .delay { await clock.advanceSleeper(by: .seconds(1)) }
        holder.end()
        await eventually("it goes on") { place.count == 1 }
        return (operation, place)
    }

    @Test(arguments: Wait.allCases) func anOutcomeThatIsRecordedAndNotSettledLetsNoWorkBegin(wait: Wait) async
    {
        let events = Trace<String>()
        let (operation, place) = await waited(wait, events)
        let recorded = operation.record.withLock { $0.decide(.failure(JobFailure())) }
        #expect(recorded.isFirst && recorded.mustEnd)
        place.goOn()
        #expect(operation.executions.value == 0 && events.events.isEmpty)
        #expect(operation.isExecuting && !operation.isFinished)
        operation.makeEndKnown(wasExecuting: true)
        #expect(throws: JobFailure()) { try operation.result?.get() }
        #expect(operation.isFinished && events.events == ["finish"])
    }

    /// A canceller, too, needs two sections: it asks, tells the listeners, and ends the operation. Work that began
    /// between them would go on beside whatever gets the operation's category next.
    @Test(arguments: Wait.allCases) func aCancellationThatIsAskedForLetsNoWorkBegin(wait: Wait) async {
        let events = Trace<String>()
        let (operation, place) = await waited(wait, events)
        operation.onChange { event in if event == .cancelled { place.goOn() } }
        operation.cancel()
        #expect(operation.executions.value == 0 && events.events == ["finish"])
        #expect(throws: operation.cancellationError) { try operation.result?.get() }
    }

    /// The canceller does not end it, for its beginning is announced first: the starting thread does.
    @Test(arguments: Wait.allCases) func aCancellationWhileTheBeginningIsAnnouncedEndsIt(wait: Wait) {
        let operation = Executed()
        switch wait {
        case .delay: operation.delay(by: .seconds(1), clock: ManualClock())
        case .condition: operation.addCondition(.that("yes") { true })
        case .category: operation.excludes(ExclusionCategory("window of a beginning"))
        }
        operation.onChange { [weak operation] event in if event == .executing { operation?.cancel() } }
        operation.start()
        #expect(operation.isFinished && operation.executions.value == 0)
        #expect(throws: operation.cancellationError) { try operation.result?.get() }
    }

    /// The search for a cycle of categories takes its time: what it waited for may have come free meanwhile.
    @Test func aRefusalThatComesAfterTheWorkHasBegunEndsNothing() {
        let held = Held(nil, ExclusionCategory("window of a late refusal"))
        held.operation.start()
        held.operation.refuseAdmission(JobFailure())
        #expect(held.operation.isExecuting)
        held.end(3)
        #expect(throws: Never.self) { try #expect(held.operation.result?.get() == 3) }
    }

    @Test(arguments: Wait.allCases) func withoutAnOutcomeTheWorkBegins(wait: Wait) async throws {
        let events = Trace<String>()
        let (operation, place) = await waited(wait, events)
        place.goOn()
        #expect(try operation.result?.get() == 2)
        #expect(operation.executions.value == 1 && events.events == ["start", "finish"])
    }

    // The other end of the window: an outcome recorded while a wait is on lets no further one begin.
    @Test func anOutcomeThatIsRecordedAndNotSettledAsksNoFurtherCondition() async {
        let (asked, ended) = (Trace<String>(), Handshake())
        let (operation, place) = (Executed(), KeptPlace())
        operation.addCondition(
            OperationCondition("first") { _ in
                asked.add("first")
                _ = operation.record.withLock { $0.decide(.failure(JobFailure())) }
            }
        )
        operation.addCondition(OperationCondition("second") { _ in asked.add("second") })
        operation.becomeArrival(place)
        operation.start()
        let task = operation.record.withLock { $0.held.policies?.conditionTask }
        await task?.value
        #expect(asked.events == ["first"] && place.count == 0)
        operation.makeEndKnown(wasExecuting: true)
        operation.onFinish { _ in ended.give() }
        await ended.taken()
        #expect(operation.executions.value == 0)
    }
}
