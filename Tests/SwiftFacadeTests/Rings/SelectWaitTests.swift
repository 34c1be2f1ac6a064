// SPDX-License-Identifier: Apache-2.0
//
// What happens while a select waits: nothing is lost, doubled or taken by a wait that ends without it, members leave,
// and no thread is held.

import CInterlock
import Synchronization
import Testing

import Interlock
@testable import InterlockSync

/// Runs `body` where its form of waiting may: the blocking one on a thread of the pool for that.
private func waiting(
    _ form: WaitForm,
    _ body: @escaping @Sendable (WaitForm) async throws -> Void
) -> Task<Void, any Error> {
    switch form {
    case .blocking: Task(executorPreference: WorkerPool.blocking) { try await body(form) }
    case .suspending: Task { try await body(form) }
    }
}

// contract: Select
@Suite(.timeLimit(.minutes(10))) struct SelectWaitTests {
    // MARK: A suspended task

    /// task        finds nothing, suspends                    runs the closure
    /// main                              pushes, signals, …
    @Test(arguments: 0..<5)
    func whatComesResumesTheTask(what: Int) async throws {
        let ring = try MPMCRing<Int>(capacity: 1)
        let (permits, latch) = (FIFOSemaphore(permits: 0), Latch(count: 1))
        let (cores, chosen) = (Promise<SelectCore>(), Trace<String>())
        let task = Task {
            let select = Select()
            select.add(ring) { _ in chosen.add("element") }
            select.add(permits) { chosen.add("permit") }
            select.add(latch) { chosen.add("latch") }
            cores.fulfil(select.core)
            return try await select.next()
        }
        let core = await cores.take()
        #expect(await eventuallySuspending { core.suspended == 1 })
        switch what {
        case 0: #expect(ring.tryPush(1).isPushed)
        case 1: permits.signal()
        case 2: latch.countDown()
        case 3: core.wake()
        default: ring.close()
        }
        let outcome = try await task.value
        #expect(outcome == [.served, .served, .served, .woken, .ended][what])
        #expect(chosen.events == [["element"], ["permit"], ["latch"], [], []][what])
    }

    /// task        suspends          throws, and has taken nothing
    /// main                 cancels                               pushes, signals: all is there
    @Test func aCancelledTaskTakesNothing() async throws {
        let ring = try MPMCRing<Int>(capacity: 1)
        let permits = FIFOSemaphore(permits: 0)
        let cores = Promise<SelectCore>()
        let task = Task {
            let select = Select()
            select.add(ring) { _ in Issue.record("cancelled") }
            select.add(permits) { Issue.record("cancelled") }
            cores.fulfil(select.core)
            await #expect(throws: CancellationError.self) { _ = try await select.next() }
            permits.signal()
            #expect(ring.tryPush(1).isPushed)
            await #expect(throws: CancellationError.self) { _ = try await select.next(timeout: .zero) }
        }
        let core = await cores.take()
        #expect(await eventuallySuspending { core.suspended == 1 })
        task.cancel()
        await task.value
        #expect(ring.count == 1 && permits.value == 1)
    }

    /// The element is the closure's by then.
    @Test func aCallWhoseClosureCancelsItsTaskHasServed() async throws {
        let ring = try filled(0..<2)
        try await Task {
            let (select, served) = (Select(), Served())
            select.add(ring) { element in
                served.numbers.append(element)
                withUnsafeCurrentTask { $0?.cancel() }
            }
            let outcome = try await select.next()
            #expect(outcome == .served && served.numbers == [0])
            await #expect(throws: CancellationError.self) { _ = try await select.next() }
        }.value
        #expect(ring.count == 1)
    }

    @Test func itStaysInTheIsolationOfItsCaller() async throws {
        actor Server {
            private(set) var sum = 0
            func serve(_ ring: MPMCRing<Int>) async throws {
                let select = Select()
                select.add(ring) { element in
                    self.preconditionIsolated()
                    self.sum += element
                }
                while try await select.next() != .ended {}
            }
        }
        let (server, ring) = (Server(), try MPMCRing<Int>(capacity: 4))
        let task = Task { try await server.serve(ring) }
        for element in 1...100 { #expect(await ring.push(element).isPushed) }
        ring.close()
        try await task.value
        #expect(await server.sum == 5_050)
    }

    /// Many more tasks than the pool has threads.
    @Test func aThousandWaitingTasksHoldNoThread() async throws {
        let ring = try MPMCRing<Int>(capacity: 4)
        let sum = Trace<Int>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<1_000 {
                group.addTask {
                    let select = Select()
                    select.add(ring) { sum.add($0) }
                    let outcome = try await select.next()
                    #expect(outcome == .served)
                }
            }
            for value in 1...1_000 { #expect(await ring.push(value).isPushed) }
            try await group.waitForAll()
        }
        #expect(sum.events.sorted() == Array(1...1_000))
    }

    /// One worker: the select blocks it, and the job that it waits for runs on another.
    @Test func aWaitOnAWorkerLetsAnotherTakeItsJobs() async throws {
        let (pool, ring) = (try WorkerPool(name: "select", threads: 1), try MPMCRing<Int>(capacity: 1))
        let outcomes = Promise<Select.Outcome?>()
        _ = pool.submit {
            let select = Select()
            select.add(ring) { #expect($0 == 1) }
            _ = pool.submit { #expect(ring.tryPush(1).isPushed) }
            outcomes.fulfil(try? select.next(until: .now + hangLimit))
        }
        #expect(await outcomes.take() == .served)
    }

    // MARK: Leaving while the select waits

    /// select      waits for a consumer and a ring                           serves the ring
    /// main                                          removes the consumer
    ///                                               pushes into the ring
    @Test(arguments: WaitForm.allCases)
    func anEndLeavesWhileTheSelectWaits(form: WaitForm) async throws {
        for _ in 0..<1_000 {
            let ring = try MPMCRing<Int>(capacity: 1)
            try await SPSCRing<Int>(capacity: 1).split {
                (producer, consumer) async throws(any Error) -> Void in
                let (handoff, members) = (Handoff(consumer), Promise<Select.Member>())
                let task = waiting(form) { form in
                    let select = Select()
                    members.fulfil(select.add(handoff.take()) { _ in Issue.record("it was removed") })
                    select.add(ring) { #expect($0 == 1) }
                    let outcome = try await form.next(select)
                    #expect(outcome == .served)
                }
                #expect(await members.take().remove())
                #expect(producer.isClosed && producer.tryPush(5) == .closed(5))
                #expect(ring.tryPush(1).isPushed)
                try await task.value
            }
        }
    }

    @Test(arguments: WaitForm.allCases)
    func removingTheLastRingEndsTheWait(form: WaitForm) async throws {
        for _ in 0..<1_000 {
            let ring = try MPMCRing<Int>(capacity: 1)
            let members = Promise<Select.Member>()
            let task = waiting(form) { form in
                let select = Select()
                members.fulfil(select.add(ring) { _ in })
                let outcome = try await form.next(select)
                #expect(outcome == .ended)
            }
            #expect(await members.take().remove())
            try await task.value
        }
    }

    /// The ring goes with the select, the consumer and the producer; the removal must not touch it afterwards.
    @Test func removingIsSafeBesideTheEndOfTheSelect() async throws {
        for _ in 0..<3_000 {
            let (members, permits) = (Promise<[Select.Member]>(), FIFOSemaphore(permits: 1))
            let task = Task {
                let select = Select()
                try SPSCRing<Int>(capacity: 1).split { producer, consumer in
                    let room = select.add(roomIn: producer) {}
                    let ring = select.add(consumer) { _ in }
                    members.fulfil([room, ring, select.add(permits) {}, select.add(Latch(count: 1)) {}])
                }
            }
            for member in await members.take() { member.remove() }
            try await task.value
            #expect(permits.value == 1)
        }
    }

    /// A permit is handed over beside the removal: it is with the closure or with the semaphore.
    @Test(arguments: WaitForm.allCases)
    func aPermitIsNotLostBesideARemoval(form: WaitForm) async throws {
        let permits = FIFOSemaphore(permits: 0)
        let kept = try MPMCRing<Int>(capacity: 1)
        let members = try MPMCRing<(Select.Member, Select.Waker)>(capacity: 1)
        let taken = Atomic<Int>(0)
        let rounds = 3_000
        let task = waiting(form) { form in
            let select = Select()
            select.add(kept) { _ in }
            for _ in 0..<rounds {
                let member = select.add(permits) { taken.add(1, ordering: .relaxed) }
                #expect(members.tryPush((member, select.waker)).isPushed)
                while try await form.next(select) != .woken {}
            }
        }
        for _ in 0..<rounds {
            let (member, waker) = try #require(try await members.pop())
            async let signalled: Void = permits.signal()
            #expect(member.remove())
            await signalled
            waker.wake()
        }
        try await task.value
        #expect(taken.load(ordering: .relaxed) + permits.value == rounds)
    }

    // MARK: Nothing lost or doubled

    /// One element at a time to one of three rings: a lost wake-up hangs it.
    @Test(arguments: WaitForm.allCases)
    func noWakeUpIsLost(form: WaitForm) async throws {
        let rings = try (0..<3).map { _ in try MPMCRing<Int>(capacity: 1) }
        let answers = try MPMCRing<Int>(capacity: 1)
        let task = waiting(form) { form in
            let select = Select()
            for ring in rings { select.add(ring) { #expect(answers.tryPush($0).isPushed) } }
            while try await form.next(select) != .ended {}
        }
        await blocking {
            for round in 0..<6_000 {
                #expect(rings[round % 3].tryPush(round).isPushed)
                #expect((try? answers.pop()) == round)
            }
            for ring in rings { ring.close() }
        }
        try await task.value
    }

    /// Producers of both kinds push by both forms; the waiter's waits end by limits, by wakes and by cancellation, and
    /// members leave and come back. Other consumers pop beside it.
    @Test(arguments: WaitForm.allCases, [UInt64(1), 2, 3])
    func everyElementIsServedOnce(form: WaitForm, seed: UInt64) async throws {
        let each = 3_000
        let shared = try (0..<2).map { _ in try MPMCRing<Int>(capacity: 3) }
        let received = Trace<Int>()
        try await SPSCRing<Int>(capacity: 2).split { (producer, consumer) async throws(any Error) -> Void in
            let (from, to) = (Handoff(producer), Handoff(consumer))
            // The ring's own hook goes on beside the set.
            let pushing = Task {
                var producer = from.take()
                for value in 0..<each { #expect(await producer.push(value).isPushed) }
                producer.close()
            }
            let thread = TestThread {
                for value in 0..<each { #expect(shared[0].push(each + value).isPushed) }
                shared[0].close()
            }
            let others = Task {
                for value in 0..<each { #expect(await shared[1].push(2 * each + value).isPushed) }
                shared[1].close()
            }
            let beside = Task { for try await value in shared[1] { received.add(value) } }
            try await waiting(form) { form in
                try await serve(form, seed, to.take(), shared, received)
            }.value
            await pushing.value
            await blocking { thread.join() }
            await others.value
            try await beside.value
        }
        let events = received.events
        #expect(events.count == 3 * each && Set(events) == Set(0..<3 * each), "seed \(seed)")
        #expect(events.filter { $0 < each } == Array(0..<each), "in order; seed \(seed)")
    }

    fileprivate func serve(
        _ form: WaitForm,
        _ seed: UInt64,
        _ consumer: consuming SPSCRing<Int>.Consumer,
        _ shared: [MPMCRing<Int>],
        _ received: Trace<Int>
    ) async throws {
        let select = Select()
        var random = SplitMix(state: seed)
        var failing = false
        select.add(consumer) { value in
            received.add(value)
            if failing { throw JobFailure() }
        }
        var members = shared.map { ring in select.add(ring) { received.add($0) } }
        while true {
            let choice = random.next() % 8
            failing = choice == 0
            if choice == 1 {
                let index = Int(random.next() % 2)
                members[index].remove()
                members[index] = select.add(shared[index]) { received.add($0) }
            }
            let waker = select.waker
            if choice == 2 { waker.wake() }
            do {
                var outcome: Select.Outcome?
                if choice == 3, form == .suspending {
                    outcome = await cancelledNext(select, random.next() % 200)
                } else if choice < 6 {
                    outcome = try await form.next(select, timeout: .microseconds(Int64(random.next() % 50)))
                } else {
                    outcome = try await form.next(select)
                }
                if outcome == .ended { return }
            } catch is JobFailure {}
        }
    }

    /// `next` in a task that is cancelled meanwhile; `nil` if it was before it took anything.
    private func cancelledNext(_ select: Select, _ pause: UInt64) async -> Select.Outcome? {
        nonisolated(unsafe) let select = select
        let task = Task {
            do { return try await select.next() as Select.Outcome? } catch is CancellationError {
                return nil
            } catch { return .served }
        }
        for _ in 0..<pause { ilk_cpu_relax() }
        task.cancel()
        return await task.value
    }
}
