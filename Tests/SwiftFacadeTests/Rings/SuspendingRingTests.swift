// SPDX-License-Identifier: Apache-2.0
//
// Tasks that wait on rings (scenarios 25 and 26): nothing lost or doubled, cancellation leaves an element in the ring
// or with its task, no thread of the cooperative pool is held, C threads feed tasks.

import CInterlock
import Foundation
import Synchronization
import Testing

import Interlock
@testable import InterlockSync

@Suite(.timeLimit(.minutes(10))) struct SuspendingRingTests {
    // contract: MPMCRing, SPSCRing
    @Test(arguments: [1, 3, 64], [false, true])
    func everyElementArrivesOnceAmongTasks(capacity: Int, onOwnThread: Bool) async throws {
        let ring = try MPMCRing<Int>(capacity: capacity, resumingOnOwnThread: onOwnThread)
        let received = try await withThrowingTaskGroup(of: [Int].self) { group in
            for producer in 0..<3 {
                group.addTask {
                    for value in 0..<500 {
                        let result = await ring.push(producer * 1_000 + value)
                        if !result.isPushed { Issue.record("refused") }
                    }
                    return []
                }
            }
            for _ in 0..<3 {
                group.addTask {
                    var mine: [Int] = []
                    for try await value in ring { mine.append(value) }
                    return mine
                }
            }
            var ended = 0
            var received: [Int] = []
            for try await part in group {
                received += part
                ended += 1
                // A consumer ends only when the ring is closed.
                if ended == 3 { ring.close() }
            }
            return received
        }
        let expected = (0..<3).flatMap { producer in (0..<500).map { producer * 1_000 + $0 } }
        #expect(received.sorted() == expected)
    }

    /// Many more tasks than the pool has threads.
    @Test func aThousandWaitingTasksHoldNoThread() async throws {
        let ring = try MPMCRing<Int>(capacity: 4)
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<1_000 { group.addTask { try await ring.pop() ?? 0 } }
            group.addTask {
                for value in 1...1_000 { _ = await ring.push(value) }
                return 0
            }
            return try await group.reduce(0, +)
        }
        #expect(sum == 500_500)
    }
    // contract: PushResult
    @Test func limitsAreKept() async throws {
        let ring = try MPMCRing<Int>(capacity: 1)
        let limit = Duration.milliseconds(10)
        let begin = ContinuousClock.now
        #expect(try await ring.pop(timeout: limit) == .empty)
        #expect(ContinuousClock.now - begin >= limit)
        #expect(try await ring.pop(until: begin) == .empty)
        #expect(await ring.push(1).isPushed)
        #expect(await ring.push(2, timeout: limit) == .full(2))
        #expect(await ring.push(2, until: begin) == .full(2))
        #expect(try await ring.pop(timeout: limit) == .popped(1))
        ring.close()
        #expect(await ring.push(3) == .closed(3))
        #expect(try await ring.pop() == nil)
        #expect(try await ring.pop(timeout: limit) == .closed)
    }

    @Test func limitsAreKeptAtBothEndsOfASplitRing() async throws {
        try await SPSCRing<Int>(capacity: 1).split { (producer, consumer) async throws(any Error) -> Void in
            var producer = producer
            var consumer = consumer
            let limit = Duration.milliseconds(10)
            let begin = ContinuousClock.now
            #expect(try await consumer.pop(timeout: limit) == .empty)
            #expect(ContinuousClock.now - begin >= limit)
            #expect(try await consumer.pop(until: begin) == .empty)
            #expect(await producer.push(1, timeout: limit) == .pushed)
            #expect(await producer.push(2, timeout: limit) == .full(2))
            #expect(await producer.push(2, until: begin) == .full(2))
            #expect(
                try await consumer.pop(until: begin) == .popped(1),
                "what is there is taken also after the limit"
            )
            #expect(await producer.push(3, until: .now.advanced(by: .seconds(30))) == .pushed)
            producer.close()
            #expect(await producer.push(4, timeout: limit) == .closed(4))
            #expect(try await consumer.pop(timeout: limit) == .popped(3))
            #expect(try await consumer.pop(until: begin) == .closed)
        }
    }

    /// consumer   finds nothing, suspends                          goes on: takes 1
    /// time-out                            ends the wait
    /// producer                                           pushes 1
    @Test func aTaskThatTimesOutTakesWhatHasComeSince() async throws {
        try await SPSCRing<Int>(capacity: 1).split { (producer, consumer) async throws(any Error) -> Void in
            let queue = consumer.waiters.consumers
            let handoff = Handoff(consumer)
            let popped = Task {
                var consumer = handoff.take()
                return try await consumer.pop(timeout: .seconds(1_000))
            }
            #expect(await eventuallySuspending { queue.withWaiters { $0.count } == 1 })
            // As the timer does, which resumes at once.
            let waiter = queue.withWaiters { waiters in
                let waiter = waiters.all[0]
                waiters.remove(waiter, .timedOut)
                return waiter
            }
            let isPushed = producer.tryPush(1).isPushed
            #expect(isPushed)
            waiter.resume()
            #expect(try await popped.value == .popped(1))
        }
    }

    @Test func closingWakesEveryTask() async throws {
        let empty = try MPMCRing<Int>(capacity: 1)
        let full = try MPMCRing<Int>(capacity: 1)
        #expect(full.tryPush(0).isPushed)
        let poppers = (0..<3).map { _ in Task { try await empty.pop() } }
        let pushers = (1...3).map { value in Task { await full.push(value) } }
        for _ in 0..<100 { await Task.yield() }
        empty.close()
        full.close()
        for popper in poppers { #expect(try await popper.value == nil) }
        for (value, pusher) in zip(1...3, pushers) { #expect(await pusher.value == .closed(value)) }
        #expect(full.tryPop() == 0)
    }

    /// A cancellation races against the element that would end the wait.
    @Test func cancellationLosesNoElement() async throws {
        let counter = LifetimeCounter()
        for _ in 0..<300 {
            let ring = try MPMCRing<Counted>(capacity: 1)
            let popper = Task { (try? await ring.pop()) != nil }
            let pusher = Task { ring.tryPush(Counted(1, counter)).isPushed }
            popper.cancel()
            let got = await popper.value
            #expect(await pusher.value)
            #expect(ring.count == (got ? 0 : 1))
        }
        for _ in 0..<300 {
            let ring = try MPMCRing<Counted>(capacity: 1)
            #expect(ring.tryPush(Counted(1, counter)).isPushed)
            let pusher = Task { await ring.push(Counted(2, counter)).isPushed }
            let popper = Task { ring.tryPop()?.id }
            pusher.cancel()
            let pushed = await pusher.value
            #expect(await popper.value == 1)
            #expect(ring.tryPop()?.id == (pushed ? 2 : nil))
        }
        #expect(counter.living == 0)
    }
    // contract: PushResult
    @Test func aCancelledPushGivesTheElementBack() async throws {
        let counter = LifetimeCounter()
        let ring = try MPMCRing<CountedUnique>(capacity: 1)
        let first = ring.tryPush(CountedUnique(1, counter)).refused()
        #expect(id(first) == nil)
        let task = Task {
            let left = await ring.push(CountedUnique(2, counter)).refused()
            return id(left)
        }
        task.cancel()
        #expect(await task.value == 2)
        let kept = try await ring.pop()
        #expect(id(kept) == 1)
    }

    /// The same at a split ring, against the element or the room.
    @Test func cancellationLosesNoElementOfASplitRing() async throws {
        let counter = LifetimeCounter()
        for _ in 0..<200 {
            try await SPSCRing<CountedUnique>(capacity: 1).split {
                (producer, consumer) async throws(any Error) -> Void in
                var consumer = consumer
                let popper = Task {
                    let popped = try? await consumer.pop()
                    let left = consumer.tryPop()
                    return (id(popped), id(left))
                }
                let isPushed = producer.tryPush(CountedUnique(1, counter)).isPushed
                popper.cancel()
                let (popped, left) = await popper.value
                #expect(isPushed && (popped == 1) != (left == 1))
            }
            try await SPSCRing<CountedUnique>(capacity: 1).split {
                (producer, consumer) async throws(any Error) -> Void in
                let isFull = producer.tryPush(CountedUnique(1, counter)).isPushed
                var producer = producer
                let pusher = Task {
                    let left = await producer.push(CountedUnique(2, counter)).refused()
                    return id(left)
                }
                let first = consumer.tryPop()
                pusher.cancel()
                let refused = await pusher.value
                let second = consumer.tryPop()
                let firstID = id(first)
                let secondID = id(second)
                #expect(isFull && firstID == 1 && (refused == 2) != (secondID == 2))
            }
        }
        #expect(counter.living == 0)
    }
    // contract: MPMCRing
    @Test func anIterationEndsWithItsTask() async throws {
        let ring = try MPMCRing<Int>(capacity: 1)
        let task = Task { for try await _ in ring {} }
        task.cancel()
        try await task.value
        #expect(ring.tryPush(1).isPushed && ring.tryPop() == 1)
    }
    // contract: MPMCRing, SPSCRing
    @Test(arguments: [1, 8], [false, true])
    func bothEndsOfAnSPSCRingMaySuspend(capacity: Int, onOwnThread: Bool) async throws {
        let counter = LifetimeCounter()
        let ring = try SPSCRing<CountedUnique>(capacity: capacity, resumingOnOwnThread: onOwnThread)
        let received = try await ring.split { (producer, consumer) async throws(any Error) -> Int in
            var producer = producer
            var consumer = consumer
            let sender = Task {
                for value in 0..<2_000 {
                    let left = await producer.push(CountedUnique(value, counter)).refused()
                    if id(left) != nil { Issue.record("refused") }
                }
                producer.close()
            }
            var expected = 0
            while let element = try await consumer.pop() {
                if element.id != expected || !element.isWhole {
                    Issue.record("\(element.id) for \(expected)")
                }
                expected += 1
            }
            await sender.value
            return expected
        }
        #expect(received == 2_000 && counter.living == 0)
    }
    // contract: SPSCRing
    @Test func aLoopTakesTheElementsOfASplitRingInOrderAndClosesIt() async throws {
        let (received, isRefused) = try await SPSCRing<Int>(capacity: 4).split {
            (producer, consumer) async throws(any Error) -> ([Int], Bool) in
            var producer = producer
            let sender = Task {
                for value in 0..<2_000 { _ = await producer.push(value) }
                // The loop leaves at 1,000; then its end of the ring goes.
                return producer.isClosed && producer.tryPush(0) == .closed(0)
            }
            var received: [Int] = []
            for try await element in consumer.elements() {
                received.append(element)
                if element == 1_000 { break }
            }
            return (received, await sender.value)
        }
        #expect(received == Array(0...1_000) && isRefused)
    }
    // contract: SPSCRing
    @Test func aLoopOverASplitRingEndsWithTheRingAndWithItsTask() async throws {
        let sum = try await SPSCRing<Int>(capacity: 4).split { producer, consumer in
            #expect(producer.tryPush(contentsOf: [1, 2, 3]) == 3)
            producer.close()
            return try await consumer.elements().reduce(0, +)
        }
        #expect(sum == 6)
        let isClosed = try await SPSCRing<Int>(capacity: 1).split { producer, consumer in
            let elements = consumer.elements()
            let task = Task { for try await _ in elements {} }
            task.cancel()
            try await task.value
            return await eventuallySuspending { producer.isClosed }
        }
        #expect(isClosed)
    }
    // contract: SPSCRing
    @Test(.ownThreads) func aSecondLoopOverASplitRingIsReported() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try SPSCRing<Int>(capacity: 1).split { _, consumer in
                let elements = consumer.elements()
                _ = elements.makeAsyncIterator()
                _ = elements.makeAsyncIterator()
            }
        }
        #expect(
            result?.report.contains(
                "interlock: SPSCRing<Int>.Elements.makeAsyncIterator(): a second loop over one consumer\n"
            ) == true
        )
    }

    /// A wait given up leaves the hook armed; the last close calls it, with no waiter.
    @Test(arguments: [false, true]) func aRingThatIsLeftArmedEndsInPeace(onOwnThread: Bool) async throws {
        let counter = LifetimeCounter()
        for _ in 0..<50 {
            let shared = try MPMCRing<Counted>(capacity: 1, resumingOnOwnThread: onOwnThread)
            let early = try await shared.pop(timeout: .microseconds(1)).element()
            #expect(early == nil && shared.tryPush(Counted(1, counter)).isPushed)
            let late = await shared.push(Counted(2, counter), timeout: .microseconds(1)).refused()
            #expect(late != nil)
            let split = try SPSCRing<Counted>(capacity: 1, resumingOnOwnThread: onOwnThread)
            try await split.split { (producer, consumer) async throws(any Error) -> Void in
                var producer = producer
                var consumer = consumer
                let early = try await consumer.pop(timeout: .microseconds(1)).element()
                #expect(early == nil)
                let pushed = await producer.push(Counted(3, counter)).isPushed
                let late = await producer.push(Counted(4, counter), timeout: .microseconds(1)).refused()
                #expect(pushed && late != nil)
            }
        }
        // The thread that resumes may hold the last ring for a moment.
        #expect(await eventuallySuspending { counter.living == 0 })
    }

    /// Limits that no clock reaches.
    @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.max) * 8, .seconds(Int64.min) * 8])
    func limitsBeyondEveryClockAreKept(limit: Duration) async throws {
        let ring = try MPMCRing<Int>(capacity: 1)
        let isPast = limit < .zero
        let task = Task { try await ring.pop(timeout: limit) }
        if isPast {
            #expect(try await task.value == .empty)
        } else {
            for _ in 0..<100 { await Task.yield() }
            #expect(await ring.push(1, timeout: limit) == .pushed)
            #expect(try await task.value == .popped(1))
            let far = Task { try await ring.pop(until: .now.advanced(by: .seconds(Int64.max))) }
            for _ in 0..<100 { await Task.yield() }
            #expect(ring.tryPush(2).isPushed)
            #expect(try await far.value == .popped(2))
        }
        let semaphore = FIFOSemaphore(permits: 0)
        onThreads(1) { _ in
            if isPast {
                #expect(!semaphore.wait(timeout: limit))
            } else {
                let helper = TestThread {
                    _ = eventually { semaphore.value == -1 }
                    semaphore.signal()
                }
                #expect(semaphore.wait(timeout: limit))
                helper.join()
            }
        }
    }
    // contract: MPMCRing, SPSCRing
    @Test func threadsAndTasksMeet() async throws {
        let ring = try MPMCRing<Int>(capacity: 2)
        let back = try MPMCRing<Int>(capacity: 2)
        let thread = TestThread {
            while let value = try? ring.pop(), back.push(value * 2).isPushed {}
            back.close()
        }
        async let pushed: Void = {
            for value in 1...500 { _ = await ring.push(value) }
            ring.close()
        }()
        var sum = 0
        do { for try await value in back { sum += value } } catch { Issue.record(error) }
        // Where the loop has ended early, the thread would wait for room.
        back.close()
        await pushed
        thread.join()
        #expect(sum == 250_500)
    }
    // contract: MPMCRing, SPSCRing
    /// task:    finds nothing ── arms ── suspends        the element may come before, between, after each
    /// thread:     ←──────── pushes, a little later each round ────────→
    ///
    /// One element is under way at a time: no other makes a missed wake-up good.
    @Test func noElementIsMissedOnTheWayToSleep() async throws {
        let ring = try MPMCRing<Int>(capacity: 1)
        let taken = Atomic<Int>(0)
        let thread = TestThread {
            for round in 1...20_000 {
                while taken.load(ordering: .acquiring) < round - 1 {
                    // A consumer that sleeps beside its element is let go, and seen.
                    if ring.isClosed { return }
                    sched_yield()
                }
                for _ in 0..<round % 400 { _ = taken.load(ordering: .relaxed) }
                _ = ring.tryPush(round)
            }
            while taken.load(ordering: .acquiring) < 20_000, !ring.isClosed { sched_yield() }
            ring.close()
        }
        // However the rounds end, the thread ends with the ring.
        defer {
            ring.close()
            thread.join()
        }
        for round in 1...20_000 {
            let popped = try await ring.pop(timeout: .seconds(20))
            guard popped == .popped(round) else {
                Issue.record("\(popped) in round \(round)")
                break
            }
            taken.store(round, ordering: .releasing)
        }
    }

    /// Scenario 26: the POSIX thread calls only the ring and one C semaphore.
    @Test func aCThreadFeedsATask() async throws {
        let ring = try MPMCRing<UInt64>(capacity: 64, resumingOnOwnThread: true)
        var thread = pthread_t()
        let created = pthread_create(
            &thread,
            nil,
            { context in
                let ring = context!.assumingMemoryBound(to: ilk_mpmc.self)
                var sample: UInt64 = 1
                while sample <= 5_000, !ilk_mpmc_is_closed(ring) {
                    if ilk_mpmc_try_push(ring, &sample, MemoryLayout<UInt64>.stride) {
                        sample += 1
                    } else {
                        sched_yield()
                    }
                }
                ilk_mpmc_close(ring)
                return nil
            },
            ring.unsafeHandle
        )
        try #require(created == 0)
        var sum: UInt64 = 0
        // It ends early where the suite's limit cancels it.
        do { for try await sample in ring { sum += sample } } catch { Issue.record(error) }
        ring.close()
        pthread_join(thread, nil)
        #expect(sum == 12_502_500)
    }
}
