// SPDX-License-Identifier: Apache-2.0
//
// A select: whose turn it is, what its members are, and how it ends. Each test waits in both forms.
// SelectWaitTests.swift has what happens while it waits.

import CInterlock
import Foundation
import Testing

import Interlock
@testable import InterlockSync

/// The two forms of a wait.
enum WaitForm: CaseIterable, Sendable {
    case blocking, suspending

    func next(
        _ select: Select,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> Select.Outcome {
        func block() throws -> Select.Outcome { try select.next() }
        switch self {
        case .blocking: return try block()
        case .suspending: return try await select.next()
        }
    }

    func next(
        _ select: Select,
        timeout: Duration,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> Select.Outcome {
        func block() throws -> Select.Outcome { try select.next(timeout: timeout) }
        switch self {
        case .blocking: return try block()
        case .suspending: return try await select.next(timeout: timeout)
        }
    }

    func next(
        _ select: Select,
        until deadline: ContinuousClock.Instant,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> Select.Outcome {
        func block() throws -> Select.Outcome { try select.next(until: deadline) }
        switch self {
        case .blocking: return try block()
        case .suspending: return try await select.next(until: deadline)
        }
    }
}

/// State that closures of one select share: it is not Sendable.
final class Served {
    var names: [String] = []
    var numbers: [Int] = []
}

func filled(_ elements: Range<Int>) throws -> MPMCRing<Int> {
    let ring = try MPMCRing<Int>(capacity: max(elements.count, 1))
    for element in elements { #expect(ring.tryPush(element).isPushed) }
    return ring
}

// contract: Select
@Suite(.timeLimit(.minutes(10))) struct SelectTests {
    // MARK: Turns

    /// Of four members that stay ready each has one of every four calls; the limit is the timer.
    @Test(arguments: WaitForm.allCases)
    func oneWaiterServesThreeRingsASemaphoreAndATimerInTurns(form: WaitForm) async throws {
        let rounds = 6
        let (orders, names) = (try filled(0..<rounds), try MPMCRing<String>(capacity: rounds))
        for number in 0..<rounds { #expect(names.tryPush("\(number)").isPushed) }
        let reloads = FIFOSemaphore(permits: rounds)
        let (select, served) = (Select(), Served())
        try SPSCRing<Double>(capacity: rounds).split { producer, consumer in
            for number in 0..<rounds { #expect(producer.tryPush(Double(number)).isPushed) }
            select.add(consumer) { price in
                served.names.append("price")
                served.numbers.append(Int(price))
            }
        }
        select.add(orders) { _ in served.names.append("order") }
        select.add(names) { _ in served.names.append("name") }
        select.add(reloads) { served.names.append("reload") }
        for _ in 0..<rounds {
            for _ in 0..<4 { #expect(try await form.next(select) == .served) }
            #expect(Set(served.names.suffix(4)).count == 4, "\(served.names)")
        }
        #expect(served.numbers == Array(0..<rounds))
        let begin = ContinuousClock.now
        let limit = Duration.milliseconds(10)
        #expect(try await form.next(select, timeout: limit) == .timedOut)
        #expect(ContinuousClock.now - begin >= limit)
        #expect(try await form.next(select, until: begin) == .timedOut)
        #expect(served.names.count == 4 * rounds && reloads.value == -1)
    }

    @Test(arguments: WaitForm.allCases)
    func aPassedLimitStillRunsWhatIsReady(form: WaitForm) async throws {
        let (select, served) = (Select(), Served())
        select.add(try filled(0..<2)) { served.numbers.append($0) }
        #expect(try await form.next(select, until: .now - .seconds(1)) == .served)
        #expect(try await form.next(select, timeout: .zero) == .served)
        #expect(try await form.next(select, timeout: .zero) == .timedOut)
        #expect(served.numbers == [0, 1])
    }

    @Test(arguments: WaitForm.allCases)
    func elementsThatCannotBeCopiedReachTheirClosure(form: WaitForm) async throws {
        let lives = LifetimeCounter()
        let (select, served) = (Select(), Served())
        let ring = try MPMCRing<CountedUnique>(capacity: 3)
        for number in 0..<3 { _ = ring.tryPush(CountedUnique(number, lives)) }
        select.add(ring) { element in served.numbers.append(element.isWhole ? element.id : -1) }
        for _ in 0..<2 { #expect(try await form.next(select) == .served) }
        #expect(served.numbers == [0, 1] && lives.living == 1 && ring.count == 1)
    }

    // MARK: Ends

    @Test(arguments: WaitForm.allCases)
    func itEndsWhenEveryRingIsClosedAndDrained(form: WaitForm) async throws {
        let (one, other) = (try filled(0..<2), try filled(10..<11))
        let (select, served) = (Select(), Served())
        select.add(one) { served.numbers.append($0) }
        select.add(other) { served.numbers.append($0) }
        select.add(FIFOSemaphore(permits: 0)) { served.names.append("permit") }
        select.add(Latch(count: 1)) { served.names.append("latch") }
        select.add(roomIn: try filled(0..<1)) { served.names.append("room") }
        one.close()
        other.close()
        for _ in 0..<3 { #expect(try await form.next(select) == .served) }
        #expect(served.numbers.sorted() == [0, 1, 10] && served.names.isEmpty)
        for _ in 0..<2 { #expect(try await form.next(select) == .ended) }
        // Another goes on.
        select.add(try filled(5..<6)) { served.numbers.append($0) }
        #expect(try await form.next(select) == .served)
        #expect(served.numbers.last == 5)
        #expect(try await form.next(select, timeout: .zero) == .timedOut)
    }

    @Test(arguments: WaitForm.allCases)
    func theErrorOfTheFirstRingThatEndedComesLast(form: WaitForm) async throws {
        let (one, other) = (try filled(0..<1), try filled(10..<12))
        let (select, served) = (Select(), Served())
        select.add(one) { served.numbers.append($0) }
        select.add(other) { served.numbers.append($0) }
        one.close(throwing: JobFailure(why: "one"))
        other.close(throwing: JobFailure(why: "other"))
        for _ in 0..<3 { #expect(try await form.next(select) == .served) }
        #expect(served.numbers.sorted() == [0, 10, 11])
        for _ in 0..<2 {
            await #expect(throws: JobFailure(why: "one")) { _ = try await form.next(select) }
        }
        // A ring that is added then goes on without it.
        let later = try filled(20..<21)
        select.add(later) { served.numbers.append($0) }
        later.close()
        #expect(try await form.next(select) == .served)
        #expect(try await form.next(select) == .ended)
    }

    @Test(arguments: WaitForm.allCases)
    func removingTheLastRingEndsIt(form: WaitForm) async throws {
        let select = Select()
        let member = select.add(try filled(0..<1)) { _ in Issue.record("it was removed") }
        #expect(member.remove() && !member.remove())
        #expect(try await form.next(select) == .ended)
    }

    // MARK: Closures that throw

    /// The element is the closure's; every other one, and every permit, is where it was.
    @Test(arguments: WaitForm.allCases)
    func whatAClosureThrowsPassesAndNothingElseIsTaken(form: WaitForm) async throws {
        let (ring, others) = (try filled(0..<3), try filled(10..<13))
        let permits = FIFOSemaphore(permits: 3)
        let (select, served) = (Select(), Served())
        select.add(ring) { element in
            served.numbers.append(element)
            throw JobFailure(why: "\(element)")
        }
        select.add(others) { served.numbers.append($0) }
        select.add(permits) { throw JobFailure(why: "permit") }
        var failures: [String] = []
        for _ in 0..<9 {
            do { #expect(try await form.next(select) == .served) } catch let error as JobFailure {
                failures.append(error.why)
            }
        }
        #expect(failures.sorted() == ["0", "1", "2", "permit", "permit", "permit"])
        #expect(served.numbers.sorted() == [0, 1, 2, 10, 11, 12])
        #expect(permits.value == 0 && ring.count == 0 && others.count == 0)
        #expect(try await form.next(select, timeout: .zero) == .timedOut)
    }

    // MARK: Semaphores

    /// select      waits, and stands in the queue first
    /// task                                              waits
    /// signals                                                   one: to the select    another: to the task
    @Test(arguments: WaitForm.allCases)
    func itTakesItsTurnInTheSemaphoresQueue(form: WaitForm) async throws {
        let permits = FIFOSemaphore(permits: 0)
        let (select, served) = (Select(), Served())
        select.add(permits) { served.names.append("permit") }
        #expect(try await form.next(select, timeout: .zero) == .timedOut)
        let task = Task { try await permits.wait() }
        #expect(await eventuallySuspending { permits.value == -2 })
        permits.signal()
        #expect(permits.value == -1 && !permits.tryWait())
        permits.signal()
        try await task.value
        #expect(try await form.next(select) == .served)
        // It does not stand in the queue until the next call.
        #expect(served.names == ["permit"] && permits.value == 0)
        #expect(try await form.next(select, timeout: .zero) == .timedOut)
        #expect(permits.value == -1)
    }

    /// In the queue; handed a permit; given one that was there; answered.
    @Test(arguments: WaitForm.allCases, [false, true])
    func aPermitThatNoClosureWasGivenGoesBack(form: WaitForm, byDropping: Bool) async throws {
        for (waits, given, expected) in [(false, 0, 0), (true, 0, 0), (true, 1, 1), (false, 2, 2)] {
            let permits = FIFOSemaphore(permits: 0)
            do {
                let select = Select()
                let member = select.add(permits) { Issue.record("it was removed") }
                if waits { #expect(try await form.next(select, timeout: .zero) == .timedOut) }
                permits.signal(given)
                if !byDropping { #expect(member.remove()) }
            }
            #expect(permits.value == expected, "\(waits), \(given)")
        }
    }

    @Test(arguments: WaitForm.allCases)
    func aPermitThatWaitsItsTurnGoesBack(form: WaitForm) async throws {
        let permits = FIFOSemaphore(permits: 3)
        let (select, served) = (Select(), Served())
        select.add(try filled(0..<4)) { served.numbers.append($0) }
        let member = select.add(permits) { served.names.append("permit") }
        // The ring's turn; the select asks for a permit meanwhile.
        #expect(try await form.next(select) == .served)
        #expect(served.numbers == [0] && permits.value == 2)
        #expect(member.remove() && permits.value == 3)
        #expect(try await form.next(select) == .served)
        #expect(served.numbers == [0, 1] && served.names.isEmpty)
    }

    // MARK: Latches and room

    @Test(arguments: WaitForm.allCases)
    func anOpenLatchIsServedOnce(form: WaitForm) async throws {
        let (open, closed) = (Latch(count: 0), Latch(count: 1))
        let (select, served) = (Select(), Served())
        let member = select.add(open) { served.names.append("open") }
        select.add(closed) {
            served.names.append("closed")
            throw JobFailure()
        }
        #expect(try await form.next(select) == .served)
        #expect(!member.remove(), "it has left")
        #expect(try await form.next(select, timeout: .zero) == .timedOut)
        closed.countDown()
        await #expect(throws: JobFailure.self) { _ = try await form.next(select) }
        #expect(try await form.next(select, timeout: .zero) == .timedOut)
        #expect(served.names == ["open", "closed"])
    }

    @Test(arguments: WaitForm.allCases)
    func roomIsServedWhileThereIsSomeAndTheRingIsOpen(form: WaitForm) async throws {
        let (select, served) = (Select(), Served())
        let shared = try MPMCRing<Int>(capacity: 2)
        select.add(roomIn: shared) { if shared.tryPush(1).isPushed { served.names.append("shared") } }
        for _ in 0..<2 { #expect(try await form.next(select) == .served) }
        #expect(try await form.next(select, timeout: .zero) == .timedOut)
        #expect(shared.tryPop() == 1)
        #expect(try await form.next(select) == .served)
        #expect(served.names == ["shared", "shared", "shared"] && shared.count == 2)
        shared.close()
        #expect(try await form.next(select, timeout: .zero) == .timedOut)

        try await SPSCRing<Int>(capacity: 1).split { (producer, consumer) async throws(any Error) -> Void in
            let member = select.add(roomIn: producer) { served.names.append("room") }
            #expect(try await form.next(select) == .served)
            #expect(producer.tryPush(1).isPushed)
            #expect(try await form.next(select, timeout: .zero) == .timedOut)
            #expect(consumer.tryPop() == 1)
            #expect(try await form.next(select) == .served)
            consumer.close()
            #expect(try await form.next(select, timeout: .zero) == .timedOut)
            #expect(!member.remove(), "it has left with the ring's end")
        }
        #expect(served.names.suffix(2) == ["room", "room"])
    }

    // MARK: Leaving

    @Test(arguments: WaitForm.allCases)
    func aMemberLeavesAndOthersComeInAClosure(form: WaitForm) async throws {
        let (ring, later) = (try filled(0..<3), try filled(7..<8))
        let (select, served) = (Select(), Served())
        var member: Select.Member?
        member = select.add(ring) { [unowned select] element in
            served.numbers.append(element)
            #expect(member?.remove() == true)
            select.add(later) { served.numbers.append($0) }
        }
        for _ in 0..<2 { #expect(try await form.next(select) == .served) }
        #expect(try await form.next(select, timeout: .zero) == .timedOut)
        #expect(served.numbers == [0, 7] && ring.count == 2)
        member = nil
    }

    /// The closure's captures go at the next call, or with the select; a consumer's ring is closed at once.
    @Test(arguments: WaitForm.allCases)
    func whatLeavesIsReleased(form: WaitForm) async throws {
        let lives = LifetimeCounter()
        try await SPSCRing<Counted>(capacity: 4).split {
            (producer, consumer) async throws(any Error) -> Void in
            let select = Select()
            let captured = Counted(-1, lives)
            let member = select.add(consumer) { [captured] _ in _ = captured }
            #expect(producer.tryPush(Counted(0, lives)).isPushed)
            #expect(!producer.isClosed && member.remove() && producer.isClosed)
            #expect(try await form.next(select) == .ended)
            _ = consume captured
            #expect(lives.living == 1, "the element is the ring's, which the producer keeps")
            #expect(producer.tryPush(Counted(1, lives)).refused()?.id == 1)
        }
        #expect(lives.living == 0)
        try SPSCRing<Int>(capacity: 1).split { producer, consumer in
            do {
                let select = Select()
                let captured = Counted(-1, lives)
                select.add(consumer) { [captured] _ in _ = captured }
            }
            #expect(producer.isClosed && lives.living == 0)
        }
    }

    // MARK: Wakes

    @Test(arguments: WaitForm.allCases)
    func wakesThatNoCallHasAnsweredAreOne(form: WaitForm) async throws {
        let (select, served) = (Select(), Served())
        select.add(try filled(0..<2)) { served.numbers.append($0) }
        let waker = select.waker
        waker.wake()
        waker.wake()
        // What is ready goes first.
        for _ in 0..<2 { #expect(try await form.next(select) == .served) }
        #expect(try await form.next(select) == .woken)
        #expect(try await form.next(select, timeout: .zero) == .timedOut)
        waker.wake()
        #expect(try await form.next(select, timeout: .zero) == .woken)
        #expect(served.numbers == [0, 1])
    }

    // MARK: Misuse

    @Test(.ownThreads) func aCallWithinACallIsReported() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            alarm(240)
            let select = Select()
            let ring = try MPMCRing<Int>(capacity: 1)
            _ = ring.tryPush(1)
            select.add(ring) { [unowned select] _ in _ = try select.next(timeout: .zero) }
            _ = try await select.next()
        }
        #expect(result?.report.contains("interlock: Select.next(): another call is under way") == true)
    }

    @Test(.ownThreads) func twoTasksOfAnActorAreReported() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            alarm(240)
            actor Server {
                let select = Select()
                func next() async throws -> Select.Outcome { try await select.next() }
                var isSuspended: Bool { select.core.suspended == 1 }
            }
            let server = Server()
            async let first = server.next()
            while await !server.isSuspended { await Task.yield() }
            _ = try await server.next()
            _ = try await first
        }
        #expect(result?.report.contains("interlock: Select.next(): another call is under way") == true)
    }
}
