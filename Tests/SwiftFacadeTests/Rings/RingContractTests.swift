// SPDX-License-Identifier: Apache-2.0
//
// Sentences of the rings' documentation that no other test holds.

import CInterlock
import Synchronization
import Testing

import Interlock
@testable import InterlockSync
// contract: Handoff, MPMCRing, SPSCRing
@Suite(.timeLimit(.minutes(10))) struct RingContractTests {
    /// tasks:    0 joins   1 joins   2 joins   …
    /// pushes:                                   0, 1, 2, …: each goes to the first in the queue
    @Test(arguments: [false, true])
    func waitingTasksGetElementsInTheOrderOfTheirArrival(onOwnThread: Bool) async throws {
        let ring = try MPMCRing<Int>(capacity: 8, resumingOnOwnThread: onOwnThread)
        var tasks: [Task<Int?, any Error>] = []
        for task in 0..<5 {
            tasks.append(Task { try await ring.pop() })
            #expect(
                await eventuallySuspending { ring.waiters.consumers.withWaiters { $0.count } == task + 1 }
            )
        }
        for element in 0..<5 { #expect(ring.tryPush(element).isPushed) }
        for (number, task) in tasks.enumerated() { #expect(try await task.value == number) }
        #expect(ring.count == 0)
    }

    @Test func waitingTasksPushInTheOrderOfTheirArrival() async throws {
        let ring = try MPMCRing<Int>(capacity: 1)
        #expect(ring.tryPush(-1).isPushed)
        var tasks: [Task<Bool, Never>] = []
        for task in 0..<5 {
            tasks.append(Task { await ring.push(task).isPushed })
            #expect(
                await eventuallySuspending { ring.waiters.producers.withWaiters { $0.count } == task + 1 }
            )
        }
        for element in -1..<5 { #expect(try await ring.pop() == element) }
        for task in tasks { #expect(await task.value) }
    }

    /// Each end relies on its count: room for the producer, elements for the consumer.
    @Test func theCountOfAnEndIsABoundForItsOwnCalls() throws {
        let total = 4_000
        try SPSCRing<Int>(capacity: 7).split { producer, consumer in
            let handoff = Handoff(consumer)
            let thread = TestThread {
                let consumer = handoff.take()
                var expected = 0
                while expected < total, !(consumer.isClosed && consumer.count == 0) {
                    for _ in 0..<consumer.count {
                        guard consumer.tryPop() == expected else {
                            Issue.record("the count promised element \(expected)")
                            return
                        }
                        expected += 1
                    }
                }
            }
            var next = 0
            while next < total, !producer.isClosed {
                for _ in 0..<min(producer.capacity - producer.count, total - next) {
                    guard producer.tryPush(next).isPushed else {
                        if !producer.isClosed { Issue.record("the count promised room for \(next)") }
                        next = total
                        break
                    }
                    next += 1
                }
            }
            producer.close()
            thread.join()
        }
    }

    @Test func anElementThatIsBeingPushedIsCounted() throws {
        let ring = try MPMCRing<Int>(capacity: 2)
        var slots = 1
        let memory = try #require(unsafe ilk_mpmc_reserve(ring.unsafeHandle, &slots))
        #expect(ring.count == 1 && ring.tryPop() == nil)
        memory.storeBytes(of: 5, as: Int.self)
        unsafe ilk_mpmc_commit(ring.unsafeHandle, 1)
        #expect(ring.count == 1 && ring.tryPop() == 5 && ring.count == 0)
    }

    @Test func aCancelledTaskStillPopsAndPushesWhatNeedsNoWaiting() async throws {
        let shared = try MPMCRing<Int>(capacity: 1)
        let task = Task {
            await untilCancelled()
            let isPushed = await shared.push(1).isPushed
            return (isPushed, try await shared.pop())
        }
        task.cancel()
        #expect(try await task.value == (true, 1))

        let ends = Task {
            await untilCancelled()
            return try await SPSCRing<Int>(capacity: 1).split { producer, consumer in
                var producer = producer
                var consumer = consumer
                let isPushed = await producer.push(1).isPushed
                return (isPushed, try await consumer.pop())
            }
        }
        ends.cancel()
        #expect(try await ends.value == (true, 1))
    }

    /// Batches of two producers fall into runs, because they do not fit at once.
    @Test func batchesKeepTheirOrderBesideEachOther() throws {
        let each = 3_000
        let ring = try MPMCRing<Int>(capacity: 5)
        let running = Atomic<Int>(2)
        onThreads(3) { thread in
            if thread < 2 {
                var next = 0
                while next < each {
                    let batch = (next..<min(next + 4, each)).map { thread * each + $0 }
                    next += ring.tryPush(contentsOf: batch)
                }
                if running.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { ring.close() }
            } else {
                var expected = [0, each]
                while let element = try? ring.pop() {
                    let producer = element / each
                    if element != expected[producer] {
                        Issue.record("\(element) in place of \(expected[producer])")
                    }
                    expected[producer] = element + 1
                }
                #expect(expected == [each, 2 * each])
            }
        }
    }

    /// Memory that only the ring guards, for ThreadSanitizer.
    private final class Message {
        var words: [Int]
        init(_ number: Int) { words = Array(repeating: number, count: 3) }
    }

    @Test func whatAProducerDidIsVisibleToTheConsumer() throws {
        let shared = try MPMCRing<Message>(capacity: 4)
        onThreads(2) { thread in
            if thread == 0 {
                for number in 0..<2_000 {
                    let message = Message(number)
                    message.words[1] += 1
                    if !shared.push(message).isPushed { Issue.record("refused") }
                }
                shared.close()
            } else {
                var number = 0
                while let message = try? shared.pop() {
                    if message.words != [number, number + 1, number] { Issue.record("saw \(message.words)") }
                    number += 1
                }
                #expect(number == 2_000)
            }
        }
        try SPSCRing<Message>(capacity: 4).split { producer, consumer in
            let handoff = Handoff(consumer)
            let thread = TestThread {
                let consumer = handoff.take()
                var number = 0
                while let message = try? consumer.pop() {
                    if message.words != [number, number + 1, number] { Issue.record("saw \(message.words)") }
                    number += 1
                }
                #expect(number == 2_000)
            }
            for number in 0..<2_000 {
                let message = Message(number)
                message.words[1] += 1
                if !producer.push(message).isPushed { Issue.record("refused") }
            }
            producer.close()
            thread.join()
        }
    }

    @Test func closingAgainAtEitherEndDoesNothing() throws {
        try SPSCRing<Int>(capacity: 2).split { producer, consumer in
            let isPushed = producer.tryPush(1).isPushed
            producer.close()
            consumer.close()
            producer.close()
            let isClosed = producer.isClosed && consumer.isClosed
            let counts = [producer.count, consumer.count]
            let popped = [try consumer.pop(), try consumer.pop()]
            #expect(isPushed && isClosed && counts == [1, 1] && popped == [1, nil])
        }
    }
}
