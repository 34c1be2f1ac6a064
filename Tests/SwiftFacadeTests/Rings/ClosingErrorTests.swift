// SPDX-License-Identifier: Apache-2.0
//
// Rings closed with an error: the consumers drain them, then every waiting verb and the loops throw it.

import CInterlock
import Testing

import Interlock
@testable import InterlockSync
// contract: MPMCRing, SPSCRing
@Suite(.timeLimit(.minutes(10))) struct ClosingErrorTests {
    struct Broken: Error, Equatable { var number = 1 }

    // MARK: The shared ring

    @Test func aSharedRingIsDrainedBeforeItThrows() throws {
        let ring = try MPMCRing<Int>(capacity: 8)
        for element in 1...4 { #expect(ring.tryPush(element).isPushed) }
        ring.close(throwing: Broken())
        #expect(ring.isClosed && ring.tryPush(5) == .closed(5))
        #expect(try ring.pop() == 1)
        #expect(try ring.pop(timeout: .zero) == .popped(2))
        #expect(try ring.pop(until: .now) == .popped(3))
        #expect(ring.tryPop() == 4)
        for _ in 0..<2 {
            #expect(throws: Broken()) { try ring.pop() }
            #expect(throws: Broken()) { try ring.pop(timeout: .zero) }
            #expect(throws: Broken()) { try ring.pop(until: .now) }
            #expect(ring.tryPop() == nil)
        }
        #expect(ring.closingError as? Broken == Broken())
    }

    @Test func tasksDrainASharedRingBeforeTheyThrow() async throws {
        let ring = try MPMCRing<Int>(capacity: 8)
        for element in 1...4 { #expect(ring.tryPush(element).isPushed) }
        ring.close(throwing: Broken())
        #expect(try await ring.pop() == 1)
        #expect(try await ring.pop(timeout: .zero) == .popped(2))
        var rest: [Int] = []
        await #expect(throws: Broken()) { for try await element in ring { rest.append(element) } }
        #expect(rest == [3, 4])
        await #expect(throws: Broken()) { try await ring.pop() }
        await #expect(throws: Broken()) { try await ring.pop(timeout: .seconds(30)) }
        await #expect(throws: Broken()) { try await ring.pop(until: .now.advanced(by: .seconds(30))) }
    }

    /// Threads, tasks and loops.
    @Test(arguments: [false, true]) func everyWaiterAtASharedRingThrowsTheError(onOwnThread: Bool)
        async throws
    {
        let ring = try MPMCRing<Int>(capacity: 1, resumingOnOwnThread: onOwnThread)
        let threads = (0..<2).map { _ in
            TestThread {
                do { _ = try ring.pop(); Issue.record("ended without an error") } catch {
                    #expect(error is Broken)
                }
            }
        }
        let tasks = (0..<2).map { _ in Task { try await ring.pop() } }
        let loop = Task { for try await _ in ring {} }
        for _ in 0..<100 { await Task.yield() }
        ring.close(throwing: Broken())
        threads.forEach { $0.join() }
        for task in tasks { await #expect(throws: Broken()) { try await task.value } }
        await #expect(throws: Broken()) { try await loop.value }
    }

    @Test func theFirstCloseDecides() throws {
        let first = try MPMCRing<Int>(capacity: 1)
        first.close(throwing: Broken(number: 1))
        first.close(throwing: Broken(number: 2))
        first.close()
        #expect(throws: Broken(number: 1)) { try first.pop() }
        let plain = try MPMCRing<Int>(capacity: 1)
        plain.close()
        plain.close(throwing: Broken())
        #expect(try plain.pop() == nil)
        #expect(plain.closingError == nil)
        let byHandle = try MPMCRing<Int>(capacity: 1)
        ilk_mpmc_close(byHandle.unsafeHandle)
        byHandle.close(throwing: Broken())
        #expect(try byHandle.pop() == nil)
    }

    /// Also on a ring that is closed with an error later.
    @Test func aCancelledLoopEndsWithoutAnError() async throws {
        let ring = try MPMCRing<Int>(capacity: 1)
        let task = Task { for try await _ in ring {} }
        task.cancel()
        try await task.value
        ring.close(throwing: CancellationError())
        await #expect(throws: CancellationError.self) { for try await _ in ring {} }
    }

    /// An iterator that has ended stays so; a new one asks the ring.
    @Test func afterItsEndAnIteratorGivesNothing() async throws {
        let ring = try MPMCRing<Int>(capacity: 2)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            var iterator = ring.makeAsyncIterator()
            let first = try await iterator.next()
            #expect(ring.tryPush(7).isPushed)
            let second = try await iterator.next()
            return (first, second)
        }
        let (first, second) = try await task.value
        #expect(first == nil && second == nil)
        ring.close(throwing: Broken())
        var iterator = ring.makeAsyncIterator()
        #expect(try await iterator.next() == 7)
        await #expect(throws: Broken()) { try await iterator.next() }
        #expect(try await iterator.next() == nil)
        var other = ring.makeAsyncIterator()
        await #expect(throws: Broken()) { try await other.next() }
    }

    @Test func afterItsEndAnIteratorGivesNothingInAnotherIsolation() async throws {
        let ring = try MPMCRing<Int>(capacity: 2)
        #expect(ring.tryPush(7).isPushed)
        ring.close(throwing: Broken())
        var iterator = ring.makeAsyncIterator()
        #expect(try await iterator.next(isolation: nil) == 7)
        await #expect(throws: Broken()) { try await iterator.next(isolation: nil) }
        #expect(try await iterator.next(isolation: nil) == nil)
    }

    /// iterator:  suspends ──────────▶ has 1   suspends ──────────▶ has 2
    /// producer:            pushes 1                    pushes 2
    @Test(arguments: [false, true]) func anIteratorThatHadToWaitGoesOn(inIsolation: Bool) async throws {
        let ring = try MPMCRing<Int>(capacity: 2)
        let popping = Task {
            var iterator = ring.makeAsyncIterator()
            func next() async throws -> Int? {
                inIsolation ? try await iterator.next(isolation: nil) : try await iterator.next()
            }
            return [try await next(), try await next()]
        }
        for element in 1...2 {
            #expect(await eventuallySuspending { ring.waiters.consumers.withWaiters { $0.count } == 1 })
            #expect(ring.tryPush(element).isPushed)
        }
        ring.close()
        #expect(try await popping.value == [1, 2])
    }

    @Test func afterItsEndTheIteratorOfASplitRingGivesNothing() async throws {
        let ring = try SPSCRing<Int>(capacity: 2)
        try await ring.split { (producer, consumer) async throws(any Error) -> Void in
            producer.close(throwing: Broken())
            let iterator = consumer.elements().makeAsyncIterator()
            do {
                _ = try await iterator.next()
                Issue.record("ended without an error")
            } catch {
                #expect(error is Broken)
            }
            #expect(try await iterator.next() == nil)
        }
    }

    @Test func aCancelledIteratorOfASplitRingGivesNothingMore() async throws {
        let task = Task {
            let ring = try SPSCRing<Int>(capacity: 2)
            return try await ring.split { (producer, consumer) async throws(any Error) -> [Int?] in
                withUnsafeCurrentTask { $0?.cancel() }
                let iterator = consumer.elements().makeAsyncIterator()
                let first = try await iterator.next()
                let isPushed = producer.tryPush(7).isPushed
                #expect(isPushed)
                return [first, try await iterator.next()]
            }
        }
        #expect(try await task.value == [nil, nil])
    }

    @Test func aRaceOfClosingAndPushingLosesNothing() async throws {
        for round in 0..<300 {
            let ring = try MPMCRing<Int>(capacity: 2)
            async let pushed = {
                var pushed = 0
                while await ring.push(pushed).isPushed { pushed += 1 }
                return pushed
            }()
            async let popped = {
                var popped = 0
                do {
                    while let element = try await ring.pop() {
                        if element != popped { Issue.record("\(element) for \(popped)") }
                        popped += 1
                        if popped == round % 20 + 1 { ring.close(throwing: Broken()) }
                    }
                    Issue.record("ended without an error")
                } catch {
                    #expect(error is Broken)
                }
                return popped
            }()
            #expect(await pushed == popped)
        }
    }

    // MARK: The split ring

    @Test func aSplitRingIsDrainedBeforeItThrows() throws {
        try SPSCRing<Int>(capacity: 8).split { (producer, consumer) throws(any Error) -> Void in
            #expect(producer.tryPush(contentsOf: [1, 2, 3]) == 3)
            producer.close(throwing: Broken())
            #expect(producer.tryPush(4) == .closed(4))
            // The error stays when the producer goes, which closes the ring once more.
            _ = consume producer
            #expect(consumer.closingError is Broken)
            #expect(try consumer.pop() == 1)
            #expect(try consumer.pop(timeout: .zero) == .popped(2))
            #expect(try consumer.pop(until: .now) == .popped(3))
            for wait in 0..<3 {
                do {
                    switch wait {
                    case 0: _ = try consumer.pop()
                    case 1: _ = try consumer.pop(timeout: .zero)
                    default: _ = try consumer.pop(until: .now)
                    }
                    Issue.record("did not throw")
                } catch {
                    #expect(error is Broken)
                }
            }
            #expect(consumer.tryPop() == nil)
        }
    }

    @Test(arguments: [false, true])
    func aTaskDrainsASplitRingBeforeItThrows(onOwnThread: Bool) async throws {
        let ring = try SPSCRing<Int>(capacity: 2, resumingOnOwnThread: onOwnThread)
        try await ring.split { (producer, consumer) async throws(any Error) -> Void in
            var producer = producer
            var consumer = consumer
            let sender = Task {
                for element in 0..<100 where await !producer.push(element).isPushed {
                    Issue.record("refused")
                }
                producer.close(throwing: Broken())
            }
            var expected = 0
            do {
                while let element = try await consumer.pop() {
                    #expect(element == expected)
                    expected += 1
                }
                Issue.record("ended without an error")
            } catch {
                #expect(error is Broken && expected == 100)
            }
            do {
                _ = try await consumer.pop(timeout: .seconds(30))
                Issue.record("ended without an error")
            } catch {
                #expect(error is Broken)
            }
            await sender.value
        }
    }

    @Test func aLoopOverASplitRingThrowsAfterTheLastElement() async throws {
        let (received, error) = try await SPSCRing<Int>(capacity: 4).split { producer, consumer in
            #expect(producer.tryPush(contentsOf: [1, 2, 3]) == 3)
            producer.close(throwing: Broken())
            var received: [Int] = []
            do {
                for try await element in consumer.elements() { received.append(element) }
                return (received, Broken?.none)
            } catch {
                return (received, error as? Broken)
            }
        }
        #expect(received == [1, 2, 3] && error == Broken())
    }
}
