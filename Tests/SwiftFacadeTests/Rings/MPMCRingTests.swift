// SPDX-License-Identifier: Apache-2.0
//
// The MPMC ring through the facade: capacities, balanced lifetimes, overwriting, batches, waits. The conformance suite
// tests the order of elements, also beside a close.

import Interlock
import Testing

@Suite struct MPMCRingTests {
    // contract: MPMCRing, RingError, SPSCRing
    /// Those that the conformance suite leaves out.
    @Test func capacitiesAreHonouredExactly() throws {
        for capacity in [5, 8, 1_024] {
            let ring = try MPMCRing<UInt16>(capacity: capacity)
            for _ in 0..<3 {
                for value in 0..<capacity { #expect(ring.tryPush(UInt16(value)).isPushed) }
                #expect(!ring.tryPush(0).isPushed && ring.count == capacity && ring.capacity == capacity)
                for value in 0..<capacity { #expect(ring.tryPop() == UInt16(value)) }
                #expect(ring.tryPop() == nil)
            }
        }
        #expect(throws: RingError.invalidCapacity(0)) { try MPMCRing<Int>(capacity: 0) }
        #expect(throws: RingError.invalidCapacity(-1)) { try MPMCRing<Int>(capacity: -1) }
        #expect(throws: RingError.invalidCapacity(.max)) { try MPMCRing<Int>(capacity: .max) }
    }
    // contract: MPMCRing, PushResult, SPSCRing
    // contract: PushResult
    @Test func everyLifetimeIsBalanced() throws {
        let counter = LifetimeCounter()
        do {
            let ring = try MPMCRing<CountedUnique>(capacity: 3)
            for id in 0..<5 {
                let isPushed = ring.tryPush(CountedUnique(id, counter)).isPushed
                #expect(isPushed == (id < 3))
            }
            #expect(counter.living == 3)
            let evicted = ring.pushOverwriting(CountedUnique(5, counter))
            #expect(id(evicted) == 0 && counter.living == 4)
            let popped = ring.tryPop()
            #expect(id(popped) == 1)
            let kept = ring.pushOverwriting(CountedUnique(6, counter))
            #expect(id(kept) == nil && counter.living == 5)
        }
        #expect(counter.living == 0 && counter.total == 7)
    }

    @Test func overwritingEvictsTheOldestAndDropsNothingOnAClosedRing() throws {
        let ring = try MPMCRing<Int>(capacity: 2)
        #expect((1...5).map { ring.pushOverwriting($0) } == [nil, nil, 1, 2, 3])
        ring.close()
        #expect(ring.pushOverwriting(6) == 6)
        #expect(try ring.pop() == 4)
        #expect(try ring.pop() == 5)
        #expect(try ring.pop() == nil)
    }

    @Test func batchesKeepTogetherAndBalance() throws {
        let counter = LifetimeCounter()
        do {
            let ring = try MPMCRing<Counted>(capacity: 5)
            for _ in 0..<20 {
                let all = (0..<7).map { Counted($0, counter) }
                #expect(ring.tryPush(contentsOf: all) == 5)
                #expect(ring.tryPop(atMost: 2).map(\.id) == [0, 1])
                #expect(ring.tryPush(contentsOf: Array(all[5...])) == 2)
                #expect(ring.tryPop(atMost: 9).map(\.id) == [2, 3, 4, 5, 6])
                #expect(ring.tryPop(atMost: 9).isEmpty && ring.tryPop(atMost: 0).isEmpty)
            }
            #expect(counter.living == 0)
            #expect(ring.tryPush(contentsOf: [Counted(1, counter)]) == 1)
        }
        #expect(counter.living == 0)
    }

    @Test func aBatchIsMovedIntoASpanAsFarAsItHasRoom() throws {
        let counter = LifetimeCounter()
        let ring = try MPMCRing<CountedUnique>(capacity: 8)
        for value in 0..<6 {
            let left = ring.tryPush(CountedUnique(value, counter)).refused()
            #expect(id(left) == nil)
        }
        let memory = UnsafeMutableBufferPointer<CountedUnique>.allocate(capacity: 4)
        defer { memory.deallocate() }
        var span = OutputSpan(buffer: memory, initializedCount: 0)
        span.append(CountedUnique(-1, counter))
        let first = ring.tryPop(into: &span)
        let again = ring.tryPop(into: &span)
        let ids = (0..<span.count).map { span[$0].isWhole ? span[$0].id : -2 }
        #expect(first == 3 && again == 0 && ids == [-1, 0, 1, 2] && ring.count == 3)
        span.removeAll()
        let rest = ring.tryPop(into: &span)
        let last = (0..<span.count).map { span[$0].id }
        #expect(rest == 3 && last == [3, 4, 5] && counter.living == 3)
        span.removeAll()
        #expect(counter.living == 0 && ring.tryPop(into: &span) == 0)
    }
    // contract: PushResult, PopResult
    @Test func waitsEndInTime() throws {
        let ring = try MPMCRing<Int>(capacity: 1)
        let limit = Duration.milliseconds(10)
        let begin = ContinuousClock.now
        #expect(try ring.pop(timeout: limit) == .empty)
        #expect(ContinuousClock.now - begin >= limit)
        #expect(ring.tryPush(1).isPushed)
        #expect(ring.push(2, until: begin) == .full(2))
        #expect(ring.tryPush(2) == .full(2))
        #expect(try ring.pop(until: begin) == .popped(1), "a passed deadline still pops what is there")
        ring.close()
        #expect(ring.tryPush(3) == .closed(3) && ring.push(3, timeout: .zero) == .closed(3) && ring.isClosed)
        #expect(try ring.pop(timeout: limit) == .closed)
    }

    @Test func closingWakesEveryWaiter() throws {
        let (empty, full) = (try MPMCRing<Int>(capacity: 1), try MPMCRing<Int>(capacity: 1))
        #expect(full.tryPush(0).isPushed)
        let threads = (0..<6).map { thread in
            TestThread {
                if thread < 3 {
                    #expect((try? empty.pop()) == nil)
                } else {
                    #expect(full.push(thread) == .closed(thread))
                }
            }
        }
        empty.close()
        full.close()
        threads.forEach { $0.join() }
    }
}
