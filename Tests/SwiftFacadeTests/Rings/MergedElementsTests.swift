// SPDX-License-Identifier: Apache-2.0
//
// The elements of several rings in one loop.

import Foundation
import Testing

import Interlock

// contract: MergedElements
@Suite(.timeLimit(.minutes(10))) struct MergedElementsTests {
    @Test func everyElementOfEachRingComesInItsOrder() async throws {
        let each = 2_000
        let rings = try (0..<2).map { _ in try MPMCRing<Int>(capacity: 3) }
        let seen = try await SPSCRing<Int>(capacity: 5).split {
            (producer, consumer) async throws(any Error) -> [Int] in
            let from = Handoff(producer)
            let pushing = Task {
                var producer = from.take()
                for value in 0..<each { #expect(await producer.push(value).isPushed) }
            }
            let others = rings.enumerated().map { number, ring in
                Task {
                    for value in 0..<each { #expect(await ring.push((number + 1) * each + value).isPushed) }
                    ring.close()
                }
            }
            let merged = MergedElements<Int>()
            merged.add(consumer)
            for ring in rings { merged.add(ring) }
            var seen: [Int] = []
            for try await element in merged { seen.append(element) }
            await pushing.value
            for task in others { await task.value }
            return seen
        }
        #expect(seen.count == 3 * each)
        for ring in 0..<3 {
            let own = ring * each..<(ring + 1) * each
            #expect(seen.filter(own.contains) == Array(own))
        }
    }

    @Test func ringsThatStayFullHaveTheirTurns() async throws {
        let merged = MergedElements<Int>()
        for number in 0..<3 {
            let ring = try MPMCRing<Int>(capacity: 4)
            for _ in 0..<4 { #expect(ring.tryPush(number).isPushed) }
            ring.close()
            merged.add(ring)
        }
        var seen: [Int] = []
        for try await element in merged { seen.append(element) }
        for turn in 0..<4 { #expect(Set(seen[turn * 3..<turn * 3 + 3]).count == 3, "\(seen)") }
    }

    @Test func theErrorOfTheFirstRingThatEndedComesLast() async throws {
        let (one, other) = (try filled(0..<1), try filled(10..<12))
        let merged = MergedElements<Int>()
        merged.add(one)
        merged.add(other)
        one.close(throwing: JobFailure(why: "one"))
        other.close()
        var seen: [Int] = []
        var iterator = merged.makeAsyncIterator()
        do {
            while let element = try await iterator.next() { seen.append(element) }
            Issue.record("no error")
        } catch {
            #expect(error as? JobFailure == JobFailure(why: "one"))
        }
        #expect(seen.sorted() == [0, 10, 11])
        #expect(try await iterator.next() == nil)
        // What is added later comes.
        let added = try filled(5..<6)
        merged.add(added)
        added.close()
        var later = merged.makeAsyncIterator()
        #expect(try await later.next() == 5)
        #expect(try await later.next() == nil)
    }

    /// task        takes 0, is cancelled, gets nil     a later loop: takes 1 and 2
    @Test func aCancelledLoopLeavesTheElementsInTheRings() async throws {
        let rings = [try filled(0..<3), try MPMCRing<Int>(capacity: 1)]
        let begun = Promise<Void>()
        let task = Task { () async throws -> Int in
            let merged = MergedElements<Int>()
            for ring in rings { merged.add(ring) }
            var iterator = merged.makeAsyncIterator()
            #expect(try await iterator.next() == 0)
            begun.fulfil(())
            await untilCancelled()
            #expect(try await iterator.next() == nil)
            #expect(try await iterator.next() == nil)
            return rings[0].count
        }
        _ = await begun.wait()
        task.cancel()
        #expect(try await task.value == 2)
        let merged = MergedElements<Int>()
        for ring in rings {
            merged.add(ring)
            ring.close()
        }
        var seen: [Int] = []
        for try await element in merged { seen.append(element) }
        #expect(seen == [1, 2])
    }

    /// The element is with the loop or in a ring, whenever the cancellation comes.
    @Test func nothingIsLostBesideCancellations() async throws {
        let ring = try MPMCRing<Int>(capacity: 1), other = try MPMCRing<Int>(capacity: 1)
        for round in 0..<3_000 {
            let task = Task {
                let merged = MergedElements<Int>()
                merged.add(ring)
                merged.add(other)
                var iterator = merged.makeAsyncIterator()
                return try await iterator.next()
            }
            async let pushed = (round.isMultiple(of: 2) ? ring : other).tryPush(round).isPushed
            task.cancel()
            #expect(await pushed)
            let left = try await task.value ?? ring.tryPop() ?? other.tryPop()
            #expect(left == round)
        }
    }

    /// loop        takes 0, wakes the producer: is cancelled       is given 0      gets nil
    /// producer    waits for room                             pushes 1
    @Test func anElementTakenBeforeTheCancellationIsTheLoops() async throws {
        let (ring, executor) = (try filled(0..<1), CallingExecutor())
        let producer = Task(executorPreference: executor) { await ring.push(1).isPushed }
        #expect(await eventuallySuspending { executor.isIdle })
        let loop = Task {
            withUnsafeCurrentTask { task in
                nonisolated(unsafe) let task = task
                executor.callNext { task?.cancel() }
            }
            let merged = MergedElements<Int>()
            merged.add(ring)
            var iterator = merged.makeAsyncIterator()
            let element = try await iterator.next()
            #expect(Task.isCancelled, "by the producer's wake-up")
            #expect(element == 0)
            #expect(try await iterator.next() == nil)
        }
        try await loop.value
        #expect(await producer.value && ring.tryPop() == 1)
    }

    /// An element is the loop's alone, the rings and the consumer go with the sequence.
    @Test func whatItWasGivenIsReleased() async throws {
        let lives = LifetimeCounter()
        try await SPSCRing<Counted>(capacity: 1).split {
            (producer, consumer) async throws(any Error) -> Void in
            do {
                let merged = MergedElements<Counted>()
                merged.add(consumer)
                do {
                    let ring = try MPMCRing<Counted>(capacity: 2)
                    merged.add(ring)
                    for number in 0..<2 { #expect(ring.tryPush(Counted(number, lives)).isPushed) }
                }
                var iterator = merged.makeAsyncIterator()
                #expect(try await iterator.next()?.id == 0)
                #expect(lives.living == 1, "the other is in its ring")
                #expect(producer.isClosed == false)
            }
            let isClosed = producer.isClosed
            #expect(lives.living == 0 && isClosed)
        }
    }

    @Test(.ownThreads) func aSecondWaitIsReported() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            alarm(240)
            actor Server {
                let merged = MergedElements<Int>()
                var waits = 0
                func next() async throws -> Int? {
                    var iterator = merged.makeAsyncIterator()
                    waits += 1
                    return try await iterator.next(isolation: self)
                }
            }
            let server = Server()
            async let first = server.next()
            while await server.waits == 0 { await Task.yield() }
            _ = try await server.next()
            _ = try await first
        }
        #expect(result?.report.contains("another call is under way") == true)
    }
}
