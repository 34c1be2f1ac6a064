// SPDX-License-Identifier: Apache-2.0
//
// Mutual exclusion by category: limits, order, what gives a category back, and the cycle that is left.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations

// contract: ExclusionCategory, OperationDeadlocked, WaitReason, AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct ExclusionTests {
    let queue = OperationQueue()

    init() { queue.maxConcurrentOperationCount = 64 }

    @Test(arguments: [1, 3]) func noMoreThanTheLimitWorkAtOnce(limit: Int) async throws {
        let category = ExclusionCategory("limited to \(limit)", limit: limit)
        let crowd = Crowd()
        let operations = (0..<60).map { _ in
            AsyncOperation<Void> {
                crowd.enter()
                sched_yield()
                crowd.leave()
            }.excludes(category)
        }
        for (number, operation) in operations.enumerated() {
            [queue, OperationQueue()][number % 2].addOperation(operation)
        }
        for operation in operations { _ = try await operation.value }
        #expect(crowd.most <= limit && crowd.total == 60)
        #expect(category.holders.isEmpty && category.waiters.isEmpty)
        #expect(
            ExclusionRegistry.state.withLock { $0.entries[category.name] == nil },
            "nothing is left of it"
        )
    }

    @Test func aCategoryIsFreeForWhatLearnsOfTheEnd() {
        let category = ExclusionCategory("free at the end")
        let holders = Trace<[String]>()
        let operation = AsyncOperation<Void>(name: "holder") { holders.add(category.holders) }
        operation.excludes(category)
        operation.onChange { event in if event == .finished { holders.add(category.holders) } }
        operation.onFinish { _ in holders.add(category.holders) }
        operation.start()
        #expect(holders.events == [["holder"], [], []])
    }

    @Test func severalWorkAtOnceUpToTheLimit() async throws {
        let category = ExclusionCategory("several", limit: 2)
        let held = (0..<3).map { Held("\($0)", category) }
        for one in held {
            queue.addOperation(one.operation)
            if one !== held[2] { await one.begun.taken() }
        }
        await eventually("the third waits") { category.waiters == ["2"] }
        #expect(category.holders == ["0", "1"])
        held[0].end()
        await held[2].begun.taken()
        for one in held { one.end() }
        try await OperationQueue.finished(held.map(\.operation))
    }

    @Test func firstComeFirstServed() async throws {
        let category = ExclusionCategory("in order")
        let holder = Held("holder", category)
        queue.addOperation(holder.operation)
        await holder.begun.taken()
        let trace = Trace<Int>()
        let operations = (0..<20).map { number in
            AsyncOperation<Void>(name: "\(number)") { trace.add(number) }.excludes(category)
        }
        for (number, operation) in operations.enumerated() {
            queue.addOperation(operation)
            await eventually("it waits") { category.waiters.count == number + 1 }
        }
        #expect(category.waiters == (0..<20).map(String.init))
        #expect(category.holders == ["holder"])
        holder.end()
        try await OperationQueue.finished(operations)
        #expect(trace.events == Array(0..<20))
    }

    // holder: a      both: a and b, waits for a      later: b, comes after both
    @Test func whatWaitsForTwoCategoriesIsNotOvertakenInEither() async throws {
        let (a, b) = (ExclusionCategory("overtaking a"), ExclusionCategory("overtaking b"))
        let (holder, both, later) = (Held("holder", a), Held("both", a, b), Held("later", b))
        queue.addOperation(holder.operation)
        await holder.begun.taken()
        queue.addOperation(both.operation)
        await eventually("both waits") { a.waiters == ["both"] && b.waiters == ["both"] }
        queue.addOperation(later.operation)
        await eventually("later waits") { b.waiters == ["both", "later"] }
        #expect(b.holders.isEmpty)
        let reason = later.operation.record.withLock { $0.admission }
        #expect(reason == .exclusion(category: b.name, holder: "both"))
        holder.end()
        await both.begun.taken()
        #expect(a.holders == ["both"] && b.holders == ["both"])
        both.end()
        await later.begun.taken()
        later.end()
        _ = try await later.operation.value
    }

    @Test func categoriesTakenInAnyOrderDoNotDeadlock() async throws {
        let categories = (0..<5).map { ExclusionCategory("philosopher \($0)") }
        var generator = SystemRandomNumberGenerator()
        let counts = (0..<5).map { _ in Crowd() }
        let operations = (0..<2_000).map { _ in
            let wanted = (0..<5).shuffled(using: &generator).prefix(Int.random(in: 1...3, using: &generator))
            let operation = AsyncOperation<Void> {
                for number in wanted { counts[number].enter() }
                for number in wanted { counts[number].leave() }
            }
            for number in wanted { operation.excludes(categories[number]) }
            return operation
        }
        for operation in operations { queue.addOperation(operation) }
        for operation in operations {
            _ = try #require(try await operation.wait(timeout: .seconds(Handshake.limit)))
        }
        for count in counts { #expect(count.most == 1) }
    }

    @Test func aCancelledWaiterGivesUpItsPlaceAndWhatItHadTaken() async throws {
        let (a, b) = (ExclusionCategory("given up a"), ExclusionCategory("given up b"))
        let (holder, both, later) = (Held("holder", a), Held("both", a, b), Held("later", b))
        queue.addOperation(holder.operation)
        await holder.begun.taken()
        queue.enqueue(both.operation)
        await eventually("both waits") { b.waiters == ["both"] }
        queue.addOperation(later.operation)
        await eventually("later waits") { b.waiters == ["both", "later"] }
        both.operation.cancel()
        #expect(both.operation.isFinished)
        await later.begun.taken()
        #expect(b.holders == ["later"] && a.waiters.isEmpty && a.holders == ["holder"])
        holder.end()
        later.end()
        try await OperationQueue.finished([holder.operation, later.operation])
        #expect(a.holders.isEmpty && b.holders.isEmpty)
    }

    @Test func aCategoryIsFreeWhenItsHolderHasFinishedHoweverItDid() async throws {
        let category = ExclusionCategory("given back")
        let failing = AsyncOperation<Void> { throw JobFailure() }.excludes(category)
        failing.start()
        #expect(failing.isFinished && category.holders.isEmpty)
        let refused = AsyncOperation<Void> {}.excludes(category).addCondition(.that("no") { false })
        queue.addOperation(refused)
        _ = try await refused.wait()
        #expect(category.holders.isEmpty)
        let held = Held("cancelled", category)
        held.operation.start()
        #expect(category.holders == ["cancelled"])
        held.operation.cancel()
        #expect(category.holders.isEmpty)
        let late = Held("timed out", category)
        let clock = ManualClock()
        late.operation.timeOut(after: .seconds(1), clock: clock)
        late.operation.start()
        #expect(category.holders == ["timed out"])
        await clock.advanceSleeper(by: .seconds(1))
        await #expect(throws: OperationTimedOut.self) { try await late.operation.value }
        #expect(category.holders.isEmpty)
    }

    @Test func anOperationDroppedUnfinishedGivesItsCategoryBack() {
        // Operation is; the subclass adds nothing.
        final class Endless: AsyncOperation<Int>, @unchecked Sendable {
            override func execute() {}
        }
        let category = ExclusionCategory("dropped")
        do {
            let endless = Endless()
            endless.name = "endless"
            endless.excludes(category).timeOut(after: .seconds(3600), clock: ManualClock())
            endless.start()
            #expect(category.holders == ["endless"])
        }
        #expect(category.holders.isEmpty)
    }

    // A cancellation comes between the storing of a ticket and its entry.
    @Test func aTicketGivenBackBeforeItsEntryTakesNothing() {
        let category = ExclusionCategory("given back early")
        let operation = AsyncOperation<Int> { 1 }
        let freed = Counter()
        let ticket: ExclusionTicket
        do {
            let captured = Tracked(freed: freed)
            ticket = ExclusionTicket(of: operation, named: "early", in: [category]) { captured.touch() }
        }
        ticket.giveBack()
        #expect(freed.value == 1)
        #expect(ticket.enter() == .withdrawn)
        #expect(category.holders.isEmpty && category.waiters.isEmpty)
        ticket.giveBack()
    }

    @Test func aCategoryGivenTwiceIsTakenOnce() throws {
        let category = ExclusionCategory("twice")
        let operation = AsyncOperation<Int> { 1 }.excludes(category, ExclusionCategory("twice"))
        operation.start()
        #expect(try operation.result?.get() == 1)
    }

    // The step holds the category for which the operation it makes waits.
    @Test func aStepThatHoldsWhatItsOperationNeedsFails() async throws {
        let category = ExclusionCategory("cycle")
        let first = AsyncOperation<Int> { 1 }
        let step = first.flatMap(name: "step", on: queue) { value in
            AsyncOperation<Int>(name: "inner") { value }.excludes(category)
        }
        step.excludes(category)
        queue.enqueue(first, step)
        let outcome = try #require(try await step.wait(timeout: .seconds(Handshake.limit)))
        let error = #expect(throws: OperationDeadlocked.self) { try outcome.get() }
        #expect(error == OperationDeadlocked(operation: "inner", awaited: "step", category: "cycle"))
        #expect(error?.description.contains("wait for each other") == true)
    }

    @Test func aChildThatNeedsWhatItsGroupHoldsIsExplained() async throws {
        let category = ExclusionCategory("group's")
        let group = GroupOperation<Int>(name: "group").excludes(category)
        let child = AsyncOperation<Int>(name: "child") { 1 }.excludes(category)
        try group.add(child)
        queue.addOperation(group)
        await eventually("it waits") { category.waiters == ["child"] }
        let explanation = group.explainWaiting()
        #expect(explanation["group"]?.reasons == [.work, .child("child")])
        #expect(explanation["child"]?.reasons == [.exclusion(category: category.name, holder: "group")])
        child.cancel()
        await #expect(throws: OperationCancelled.self) { try await group.value }
    }

    // The step holds a; waiting holds b and waits for a; inner waits for b, or for waiting itself.
    @Test(arguments: [false, true]) func aLongerCycleIsSeenFromEitherSide(throughDependency: Bool)
        async throws
    {
        let suffix = throughDependency ? "by dependency" : "by category"
        let (a, b) = (ExclusionCategory("long a \(suffix)"), ExclusionCategory("long b \(suffix)"))
        let (begun, goOn) = (Handshake(), Handshake())
        let waiting = AsyncOperation<Int>(name: "waiting") { 1 }.excludes(a, b)
        let first = AsyncOperation<Int> { 1 }
        let step = first.flatMap(name: "step", on: queue) { value in
            begun.give()
            goOn.take()
            let inner = AsyncOperation<Int>(name: "inner") { value }
            if throughDependency { inner.addDependency(waiting) } else { inner.excludes(b) }
            return inner
        }
        step.excludes(a)
        queue.enqueue(first, step)
        await begun.taken()
        queue.addOperation(waiting)
        await eventually("it waits") { a.waiters == ["waiting"] }
        goOn.give()
        let outcome = try #require(try await step.wait(timeout: .seconds(Handshake.limit)))
        let error = #expect(throws: OperationDeadlocked.self) { try outcome.get() }
        #expect(
            error
                == (throughDependency
                    ? OperationDeadlocked(operation: "step", awaited: "waiting", category: a.name)
                    : OperationDeadlocked(operation: "inner", awaited: "waiting", category: b.name))
        )
        #expect(try await waiting.value == 1, "the step's end frees the category")
    }

    // Of two places one is held by an operation outside the cycle: it will come free.
    @Test func aSecondPlaceIsAWayOut() async throws {
        let category = ExclusionCategory("two places", limit: 2)
        let other = Held("other", category)
        queue.addOperation(other.operation)
        await other.begun.taken()
        let first = AsyncOperation<Int> { 1 }
        let step = first.flatMap(name: "step", on: queue) { value in
            AsyncOperation<Int>(name: "inner") { value + 1 }.excludes(category)
        }
        step.excludes(category)
        queue.enqueue(first, step)
        await eventually("inner waits") { category.waiters == ["inner"] }
        #expect(!step.isFinished)
        other.end()
        #expect(try await step.value == 2)
    }
}
