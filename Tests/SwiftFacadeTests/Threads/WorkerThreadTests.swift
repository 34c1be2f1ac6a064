// SPDX-License-Identifier: Apache-2.0
//
// Worker threads: what is posted is handled in order, in every state. Handlers that wait for the test force the
// schedules.

import Foundation
import Testing

import Interlock

/// A thread whose handler begins with the test's leave: `begun` is given, `goOn` taken, for each message.
private final class Stepping: Sendable {
    let begun = Handshake()
    let goOn = FIFOSemaphore(permits: 0)
    let handled = Trace<Int>()

    func makeThread(
        _ name: String = "stepping",
        capacity: Int = 4,
        failingAt failure: Int? = nil
    ) throws -> WorkerThread<Int> {
        try WorkerThread(name: name, mailboxCapacity: capacity) { [self] number in
            begun.give()
            goOn.wait()
            if number == failure { throw Refusal(number: number) }
            handled.add(number)
        }
    }
}

/// Blocking forms, from a task.
func block(_ thread: WorkerThread<Int>, posting number: Int) -> PushResult<Int> { thread.post(number) }
func block(_ thread: WorkerThread<Int>, posting number: Int, timeout: Duration) -> PushResult<Int> {
    thread.post(number, timeout: timeout)
}
func block(_ thread: WorkerThread<Int>, joiningIn limit: Duration) throws -> Bool {
    try thread.join(timeout: limit)
}
func join(_ thread: WorkerThread<Int>) throws { try thread.join() }
// contract: WorkerThread, WorkerThreadState
@Suite(.timeLimit(.minutes(10))) struct WorkerThreadTests {
    @Test func messagesAreHandledInOrderOnOneThreadOfThatName() async throws {
        let (order, threads, names) = (Trace<Int>(), Trace<UInt>(), Trace<String>())
        let worker = try WorkerThread<Int>(name: "a name beyond fifteen bytes", mailboxCapacity: 8) {
            number in
            order.add(number)
            threads.add(UInt(pthread_self()))
            if number == 0 { names.add(threadName()) }
        }
        #expect(worker.state == .idle && worker.mailboxCapacity == 8 && !worker.isCurrent)
        #expect(worker.name == "a name beyond fifteen bytes")
        try worker.start()
        for number in 0..<100 { #expect(await worker.post(number) == .pushed) }
        worker.close()
        try await worker.join()
        #expect(worker.state == .ended)
        #expect(order.events == Array(0..<100))
        #expect(Set(threads.events).count == 1)
        #expect(names.events == ["a name beyond f"])
    }

    // Not Sendable, and changed by the handler without a lock.
    private final class Totals {
        var sum = 0
        let report: @Sendable (Int) -> Void
        init(_ report: @escaping @Sendable (Int) -> Void) { self.report = report }
        deinit { report(sum) }
    }

    @Test func theHandlerOwnsWhatIsNotSendableAndIsReleasedBeforeTheEnd() async throws {
        let sum = Counter()
        func make() throws -> WorkerThread<Int> {
            let totals = Totals { number in for _ in 0..<number { sum.increment() } }
            return try WorkerThread<Int>(name: "totals", mailboxCapacity: 2) { totals.sum += $0 }
        }
        let worker = try make()
        try worker.start()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { for _ in 0..<25 { _ = await worker.post(1) } } }
        }
        worker.close()
        try await worker.join()
        #expect(sum.value == 100)
    }

    // MARK: States

    // test                                  worker
    // posts 1, 2 to the idle thread; full
    // starts it                             handles 1: waits
    // posts 3; full; cancels                is cancelling
    // posts 4: closed
    // lets it go on                         handles 1, 2, 3; ends
    // posts 5: closed
    @Test func whatAPostAnswersInEachState() async throws {
        let steps = Stepping()
        let worker = try steps.makeThread(capacity: 2)
        #expect(worker.tryPost(1) == .pushed && worker.tryPost(2) == .pushed)
        #expect(worker.tryPost(9) == .full(9) && worker.waitingMessages == 2)
        #expect(await worker.post(9, timeout: .milliseconds(1)) == .full(9))
        try worker.start()
        await steps.begun.taken()
        #expect(worker.state == .running)
        #expect(worker.tryPost(3) == .pushed && worker.tryPost(9) == .full(9))
        worker.close()
        #expect(worker.state == .closing)
        #expect(worker.tryPost(4) == .closed(4))
        #expect(await worker.post(4) == .closed(4))
        #expect(await worker.post(4, until: .now) == .closed(4))
        #expect(block(worker, posting: 4) == .closed(4))
        steps.goOn.signal(3)
        try await worker.join()
        #expect(steps.handled.events == [1, 2, 3])
        #expect(worker.state == .ended && worker.tryPost(5) == .closed(5))
        #expect(worker.closeNow() == [])
    }

    // worker           three posters                      test
    // handles 1: waits wait for room: thread, task, task
    //                                                     cancels
    //                  have their messages back
    @Test func closingGivesWaitingPostersTheirMessagesBack() async throws {
        let steps = Stepping()
        let worker = try steps.makeThread(capacity: 1)
        try worker.start()
        #expect(worker.tryPost(1) == .pushed)
        await steps.begun.taken()
        #expect(worker.tryPost(2) == .pushed)
        let refused = Trace<PushResult<Int>>()
        let thread = TestThread { refused.add(worker.post(3)) }
        let task = Task { await worker.post(4) }
        let limited = Task { await worker.post(5, timeout: .seconds(1_000)) }
        let cancelled = Task { await worker.post(6) }
        cancelled.cancel()
        #expect(await cancelled.value == .cancelled(6))
        worker.close()
        thread.join()
        #expect(refused.events == [.closed(3)])
        #expect(await task.value == .closed(4))
        #expect(await limited.value == .closed(5))
        steps.goOn.signal(2)
        try await worker.join()
        #expect(steps.handled.events == [1, 2])
    }

    @Test func aPostWaitsForRoom() async throws {
        let steps = Stepping()
        let worker = try steps.makeThread(capacity: 1)
        #expect(worker.tryPost(0) == .pushed)
        let task = Task { await worker.post(1) }
        let answers = Trace<Bool>()
        let threads = [
            TestThread { answers.add(worker.post(2).isPushed) },
            TestThread { answers.add(worker.post(3, until: .now + .seconds(1_000)).isPushed) },
            TestThread { answers.add(worker.post(4, timeout: .seconds(1_000)).isPushed) },
        ]
        #expect(block(worker, posting: 9, timeout: .milliseconds(1)) == .full(9))
        steps.goOn.signal(5)
        try worker.start()
        #expect(await task.value == .pushed)
        for thread in threads { thread.join() }
        #expect(answers.events == [true, true, true])
        worker.close()
        try await worker.join()
        #expect(steps.handled.events.first == 0 && Set(steps.handled.events) == [0, 1, 2, 3, 4])
    }

    // MARK: Nothing is lost

    @Test func closingNowHandsBackWhatHasNotBegun() async throws {
        let steps = Stepping()
        let worker = try steps.makeThread()
        try worker.start()
        for number in 1...3 { #expect(worker.tryPost(number) == .pushed) }
        await steps.begun.taken()
        #expect(worker.closeNow() == [2, 3])
        #expect(worker.closeNow() == [])
        steps.goOn.signal(3)
        try await worker.join()
        #expect(steps.handled.events == [1])
    }

    // posters post until they are refused; one closes in between, and takes back
    @Test(arguments: 0..<20)
    func whatIsAcceptedBesideAClosingIsHandledOrHandedBackOnce(round: Int) throws {
        let handled = SafeArray<Int>()
        let worker = try WorkerThread<Int>(name: "race", mailboxCapacity: 3) { handled.append($0) }
        try worker.start()
        let (accepted, back) = (SafeArray<Int>(), SafeArray<Int>())
        onThreads(4) { thread in
            if thread == 3 {
                _ = eventually { handled.count >= round * 5 }
                back.append(contentsOf: worker.closeNow())
                return
            }
            var number = thread
            while worker.post(number).isPushed {
                accepted.append(number)
                number += 4
            }
        }
        try join(worker)
        #expect((handled.snapshot + back.snapshot).sorted() == accepted.snapshot.sorted())
    }

    @Test func aThreadThatIsClosedBeforeItsStartHandsBackEverything() async throws {
        let lifetimes = LifetimeCounter()
        var held: Counted? = Counted(1, lifetimes)
        let worker = try WorkerThread<Int>(name: "early", mailboxCapacity: 4) { [held] _ in
            Issue.record("it was not started: \(held?.id ?? 0)")
        }
        held = nil
        #expect(worker.tryPost(1) == .pushed && worker.tryPost(2) == .pushed)
        worker.close()
        #expect(worker.state == .ended && lifetimes.living == 0)
        #expect(throws: WorkerThreadError.closed(thread: "early")) { try worker.start() }
        try await worker.join()
        #expect(worker.closeNow() == [1, 2])
        #expect(worker.closeNow() == [])
    }

    @Test func anErrorOfTheHandlerEndsTheThread() async throws {
        let steps = Stepping()
        let worker = try steps.makeThread(failingAt: 2)
        for number in 1...4 { #expect(worker.tryPost(number) == .pushed) }
        steps.goOn.signal(2)
        try worker.start()
        await #expect(throws: Refusal(number: 2)) { try await worker.join() }
        await #expect(throws: Refusal(number: 2)) { try await worker.join(timeout: .zero) }
        #expect(throws: Refusal(number: 2)) { try join(worker) }
        #expect(worker.state == .ended && worker.tryPost(5) == .closed(5))
        #expect(steps.handled.events == [1])
        #expect(worker.closeNow() == [3, 4])
    }

    @Test func aReleasedThreadHandlesWhatItHasAccepted() async throws {
        let steps = Stepping()
        do {
            let worker = try steps.makeThread("released")
            try worker.start()
            #expect(threadNames().contains("released"))
            for number in 1...3 { #expect(worker.tryPost(number) == .pushed) }
        }
        steps.goOn.signal(3)
        #expect(await eventuallySuspending { steps.handled.events == [1, 2, 3] })
        #expect(await eventuallySuspending { !threadNames().contains("released") })
    }
}
