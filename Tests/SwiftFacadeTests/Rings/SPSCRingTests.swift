// SPDX-License-Identifier: Apache-2.0
//
// The SPSC ring through the facade: capacities, balanced lifetimes, batches in place, waits, closing. The conformance
// suite tests the order of elements, Support/WrongProgramTests has the programs that do not compile.

import Interlock
import Testing

@Suite struct SPSCRingTests {
    // contract: MPMCRing, RingError, SPSCRing
    /// By the count of both ends.
    @Test func capacitiesAreHonouredExactly() throws {
        for capacity in [1, 2, 3, 5, 8, 1_000] {
            try SPSCRing<UInt16>(capacity: capacity).split { producer, consumer in
                for _ in 0..<3 {
                    for value in 0..<capacity { #expect(producer.tryPush(UInt16(value)).isPushed == true) }
                    #expect(producer.tryPush(0).isPushed == false)
                    #expect(producer.count == capacity && consumer.count == capacity)
                    for value in 0..<capacity { #expect(consumer.tryPop() == UInt16(value)) }
                    #expect(consumer.tryPop() == nil)
                }
                #expect(producer.capacity == capacity)
            }
        }
    }
    // contract: MPMCRing, RingError, SPSCRing
    @Test func sizesThatCannotBeAreErrors() {
        #expect(throws: RingError.invalidCapacity(0)) { _ = try SPSCRing<Int>(capacity: 0) }
        #expect(throws: RingError.invalidCapacity(-3)) { _ = try SPSCRing<Int>(capacity: -3) }
        #expect(throws: RingError.invalidCapacity(.max)) { _ = try SPSCRing<Int>(capacity: .max) }
    }
    // contract: MPMCRing, SPSCRing
    /// Of no size, with padding at the end, of several words, and references.
    @Test func elementsOfAnyLayoutArriveWhole() throws {
        struct Padded: Equatable { var number: Int; var flag: Bool }
        try SPSCRing<Padded>(capacity: 2).split { producer, consumer in
            #expect(producer.tryPush(Padded(number: 1, flag: true)).isPushed == true)
            #expect(producer.tryPush(Padded(number: 2, flag: false)).isPushed == true)
            #expect(consumer.tryPop() == Padded(number: 1, flag: true))
            #expect(consumer.tryPop() == Padded(number: 2, flag: false))
        }
        try SPSCRing<Void>(capacity: 2).split { producer, consumer in
            #expect(
                producer.tryPush(()).isPushed && producer.tryPush(()).isPushed
                    && !producer.tryPush(()).isPushed
            )
            #expect(consumer.tryPop() != nil && consumer.tryPop() != nil && consumer.tryPop() == nil)
        }
        try SPSCRing<String>(capacity: 3).split { producer, consumer in
            #expect(
                producer.tryPush("small").isPushed
                    && producer.tryPush(String(repeating: "large", count: 100)).isPushed
            )
            #expect(consumer.tryPop() == "small")
            #expect(consumer.tryPop() == String(repeating: "large", count: 100))
        }
        try SPSCRing<SIMD16<Double>>(capacity: 3).split { producer, consumer in
            #expect(
                producer.tryPush(SIMD16(repeating: 1)).isPushed
                    && producer.tryPush(SIMD16(repeating: 2)).isPushed
            )
            #expect(consumer.tryPop() == SIMD16(repeating: 1))
            #expect(consumer.tryPop() == SIMD16(repeating: 2))
        }
    }

    // MARK: Lifetimes
    // contract: MPMCRing, SPSCRing
    @Test func everyLifetimeIsBalanced() throws {
        let counter = LifetimeCounter()
        try SPSCRing<CountedUnique>(capacity: 3).split { producer, consumer in
            for id in 0..<5 {
                let isPushed = producer.tryPush(CountedUnique(id, counter)).isPushed
                #expect(isPushed == (id < 3))
            }
            #expect(counter.living == 3)
            var popped = consumer.tryPop()
            #expect(id(popped) == 0 && counter.living == 3)
            popped = nil
            #expect(counter.living == 2)
        }
        #expect(counter.living == 0 && counter.total == 5, "what was left in the ring has been released")
    }
    // contract: MPMCRing, SPSCRing
    @Test func referencesAreReleasedOnce() throws {
        let counter = LifetimeCounter()
        try SPSCRing<Counted>(capacity: 4).split { producer, consumer in
            #expect(producer.tryPush(contentsOf: (0..<6).map { Counted($0, counter) }) == 4)
            #expect(counter.living == 4)
            #expect(consumer.tryPop(atMost: 2).map(\.id) == [0, 1])
            #expect(counter.living == 2)
        }
        #expect(counter.living == 0)
    }
    // contract: MPMCRing, SPSCRing
    @Test func aRingThatIsNeverSplitReleasesItsMemory() throws {
        _ = try SPSCRing<Counted>(capacity: 4)
    }
    // contract: PushResult
    @Test func refusedElementsComeBack() throws {
        let counter = LifetimeCounter()
        try SPSCRing<CountedUnique>(capacity: 1).split { producer, consumer in
            let pushed = producer.tryPush(CountedUnique(1, counter)).refused()
            #expect(id(pushed) == nil)
            let full = producer.tryPush(CountedUnique(2, counter)).refused()
            #expect(id(full) == 2)
            let late = producer.push(CountedUnique(3, counter), timeout: .milliseconds(1)).refused()
            #expect(id(late) == 3)
            producer.close()
            let closed = producer.push(CountedUnique(4, counter)).refused()
            #expect(id(closed) == 4 && counter.living == 4)
            let drained = try consumer.pop()
            #expect(id(drained) == 1)
            let after = try consumer.pop()
            #expect(id(after) == nil)
        }
        #expect(counter.living == 0)
    }

    // MARK: In place

    @Test(arguments: [1, 3, 4, 10]) func batchesInPlaceKeepOrderAcrossTheEnd(capacity: Int) throws {
        let counter = LifetimeCounter()
        try SPSCRing<CountedUnique>(capacity: capacity).split { producer, consumer in
            var producer = producer
            var consumer = consumer
            var next = 0
            var expected = 0
            for round in 0..<200 {
                producer.withSlots(atMost: 1 + round % 4) { slots in
                    while !slots.isFull {
                        slots.append(CountedUnique(next, counter))
                        next += 1
                    }
                }
                consumer.withElements(atMost: 1 + round % 3) { elements in
                    for index in elements.indices {
                        let isNext = elements[index].id == expected && elements[index].isWhole
                        #expect(isNext)
                        expected += 1
                    }
                }
                #expect(counter.living == next - expected)
            }
            #expect(expected > 150)
        }
        #expect(counter.living == 0)
    }

    @Test func aBatchIsMovedIntoASpanAcrossTheEnd() throws {
        let counter = LifetimeCounter()
        try SPSCRing<CountedUnique>(capacity: 5).split { (producer, consumer) throws(any Error) -> Void in
            let memory = UnsafeMutableBufferPointer<CountedUnique>.allocate(capacity: 4)
            defer { memory.deallocate() }
            var span = OutputSpan(buffer: memory, initializedCount: 0)
            var (next, expected) = (0, 0)
            for _ in 0..<20 {
                while true {
                    let left = producer.tryPush(CountedUnique(next, counter)).refused()
                    if id(left) != nil { break }
                    next += 1
                }
                let moved = consumer.tryPop(into: &span)
                let ids = (0..<span.count).map { span[$0].isWhole ? span[$0].id : -1 }
                #expect(moved == 4 && ids == Array(expected..<expected + 4))
                expected += moved
                span.removeAll()
            }
        }
        #expect(counter.living == 0)
    }

    @Test func slotsThatAreNotFilledAreNotPushed() throws {
        struct Refused: Error {}
        let counter = LifetimeCounter()
        try SPSCRing<CountedUnique>(capacity: 8).split { producer, consumer in
            var producer = producer
            var consumer = consumer
            let one = producer.withSlots(atMost: 8) { $0.append(CountedUnique(1, counter)) }
            #expect(one == 1)
            do {
                try producer.withSlots(atMost: 4) { (slots) throws(Refused) in
                    slots.append(CountedUnique(2, counter))
                    throw Refused()
                }
                Issue.record("did not throw")
            } catch {}
            #expect(consumer.count == 1 && counter.living == 1)
            let none = producer.withSlots(atMost: 0) { _ in Issue.record("ran") }
            let nothing = consumer.withElements(atMost: 0) { _ in Issue.record("ran") }
            #expect(none == 0 && nothing == 0)
            do {
                try consumer.withElements(atMost: 8) { (_) throws(Refused) in throw Refused() }
                Issue.record("did not throw")
            } catch {}
            #expect(
                consumer.count == 0 && counter.living == 0,
                "shown is taken out, also by a closure that throws"
            )
            let empty = consumer.withElements(atMost: 8) { _ in Issue.record("ran") }
            #expect(empty == 0)
        }
    }

    // MARK: Waiting
    // contract: PopResult
    @Test func waitsEndInTime() throws {
        try SPSCRing<Int>(capacity: 1).split { (producer, consumer) throws(any Error) -> Void in
            let limit = Duration.milliseconds(10)
            let begin = ContinuousClock.now
            #expect(try consumer.pop(timeout: limit) == .empty)
            #expect(ContinuousClock.now - begin >= limit)
            #expect(try consumer.pop(until: begin) == .empty)
            #expect(producer.tryPush(1).isPushed == true)
            #expect(producer.push(2, until: begin) == .full(2))
            #expect(
                try consumer.pop(until: begin) == .popped(1),
                "a passed deadline still pops what is there"
            )
            #expect(producer.push(3, timeout: .zero) == .pushed)
            producer.close()
            #expect(producer.push(4, timeout: .zero) == .closed(4) && !producer.tryPush(4).isPushed)
            #expect(try consumer.pop(timeout: limit) == .popped(3))
            #expect(try consumer.pop(timeout: limit) == .closed && consumer.isClosed)
        }
    }
    // contract: SPSCRing
    /// consumer: pop ··········· woken, nil
    /// producer:        goes out of existence
    @Test func anEndThatGoesWakesTheOther() throws {
        try SPSCRing<Int>(capacity: 1).split { producer, consumer in
            let handoff = Handoff(consumer)
            let waiting = TestThread { #expect((try? handoff.take().pop()) == nil) }
            _ = consume producer
            waiting.join()
        }
        try SPSCRing<Int>(capacity: 1).split { producer, consumer in
            #expect(producer.tryPush(1).isPushed == true)
            let handoff = Handoff(producer)
            let waiting = TestThread { #expect(handoff.take().push(2) == .closed(2)) }
            _ = consume consumer
            waiting.join()
        }
    }
    // contract: SPSCRing
    @Test func anEndMayMoveIntoATask() async throws {
        let ring = try SPSCRing<Int>(capacity: 16)
        let sum = await ring.split { producer, consumer in
            let task = Task {
                var sum = 0
                while !(consumer.isClosed && consumer.count == 0) {
                    while let value = consumer.tryPop() { sum += value }
                    await Task.yield()
                }
                return sum
            }
            for value in 1...100 {
                while !producer.tryPush(value).isPushed, !producer.isClosed { await Task.yield() }
            }
            producer.close()
            return await task.value
        }
        #expect(sum == 5_050)
    }
    // contract: Handoff
    @Test(.ownThreads) func aHandoffIsTakenOnce() async {
        let handoff = Handoff(7)
        #expect(handoff.take() == 7 && handoff.takeIfPresent() == nil)
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let handoff = Handoff("x")
            _ = handoff.take()
            _ = handoff.take()
        }
        #expect(result?.report.contains("Handoff<String>.take(): the value has been taken already") == true)
    }
}
