// SPDX-License-Identifier: Apache-2.0
//
// What must not allocate does not: a read of an element, a lock taken, a push and a pop of a trivial element. A
// counting allocator counts, in optimised builds, since what is not specialised boxes values of unknown size:
//
//     INTERLOCK_COMPARE=1 swift test -c release --filter AllocationTests

import CountingAllocator
import Interlock
import Testing
// contract: MPMCRing, RingError, SPSCRing, SingleFlightCache
@Suite("allocations", .serialized)
struct AllocationTests {
    private final class Box {
        let number: Int
        init(_ number: Int) { self.number = number }
    }

    @Test(.whereAllocationsCount)
    func theAllocatorCounts() {
        var boxes: [Box] = []
        boxes.reserveCapacity(4_000)
        #expect(allocations { boxes.append(Box(boxes.count)) } == 1_000)
    }

    /// 2^62 bytes: allowed for a ring, more than any address space.
    @Test(.enabled(if: counting_allocator_counts(), "a sanitizer's allocator ends the process instead"))
    func memoryThatIsNotToBeHadIsAnError() {
        let capacity = 1 << 58
        #expect(throws: RingError.outOfMemory(capacity: capacity)) {
            _ = try SPSCRing<(Int, Int)>(capacity: capacity)
        }
        #expect(throws: RingError.outOfMemory(capacity: capacity)) {
            _ = try MPMCRing<Int>(capacity: capacity)
        }
    }

    // contract: ReadWriteLock
    @Test(.ownThreads, .enabled(if: counting_allocator_counts(), "a sanitizer brings its allocator"))
    func aTasksWaitForAPredicateLeavesNoMemoryBehind() async {
        await #expect(processExitsWith: .success) {
            let shared = SharedReadWriteLock(0)
            func wait(_ times: Int) async {
                for _ in 0..<times {
                    let task = Task { try await shared.lock.withReadLock(when: { $0 > 0 }) { _ in } }
                    task.cancel()
                    await #expect(throws: CancellationError.self) { try await task.value }
                }
            }
            await wait(1_000)
            let before = counting_allocator_bytes_in_use()
            await wait(10_000)
            let after = counting_allocator_bytes_in_use()
            #expect(after < before + 10_000 * 16, "\(before), \(after)")
        }
    }

    @Test(.whereAllocationsCount)
    func readsDoNotAllocate() {
        let array = SafeArray(Array(0..<100))
        let dictionary = SafeDictionary([1: 2, 3: 4])
        let set = SafeSet([1, 2, 3])
        let lock = ReadWriteLock(7)
        let cache = SingleFlightCache<Int, Int>(capacity: 4)
        cache.updateValue(2, forKey: 1)
        let aging = SingleFlightCache<Int, Int>(maximumAge: .seconds(100_000))
        aging.updateValue(2, forKey: 1)
        var sum = 0
        #expect(allocations { sum &+= array.element(at: 5) ?? 0 } == 0)
        #expect(allocations { sum &+= array[6] } == 0)
        #expect(allocations { sum &+= array.last ?? 0 } == 0)
        #expect(allocations { sum &+= array.count } == 0)
        #expect(allocations { sum &+= array.withReadLock { $0.count } } == 0)
        #expect(allocations { sum &+= array.snapshot.count } == 0)
        #expect(allocations { sum &+= dictionary[1] ?? 0 } == 0)
        #expect(allocations { sum &+= set.contains(2) ? 1 : 0 } == 0)
        #expect(allocations { sum &+= lock.withReadLock { $0 } } == 0)
        #expect(allocations { sum &+= cache.cachedValue(forKey: 1) ?? 0 } == 0)
        #expect(allocations { sum &+= (try? cache.value(forKey: 1) { -1 }) ?? 0 } == 0)
        #expect(allocations { sum &+= aging.cachedValue(forKey: 1) ?? 0 } == 0)
        #expect(sum != 0)
    }

    @Test(.whereAllocationsCount)
    func changesInPlaceDoNotAllocate() {
        let array = SafeArray(Array(0..<100))
        let lock = ReadWriteLock(7)
        let mutex = PriorityInheritingMutex(7)
        let semaphore = FIFOSemaphore(permits: 1)
        #expect(allocations { array[3] = 4 } == 0)
        #expect(allocations { array[3] += 1 } == 0)
        #expect(allocations { array.withWriteLock { $0[5] &+= 1 } } == 0)
        #expect(
            allocations {
                array.append(1)
                _ = array.popLast()
            } == 0
        )
        #expect(allocations { lock.withWriteLock { $0 &+= 1 } } == 0)
        #expect(allocations { mutex.withLock { $0 &+= 1 } } == 0)
        #expect(
            allocations {
                if semaphore.tryWait() { semaphore.signal() }
            } == 0
        )
    }

    @Test(.whereAllocationsCount)
    func pushesAndPopsDoNotAllocate() throws {
        let shared = try MPMCRing<Int>(capacity: 8)
        let four = [1, 2, 3, 4]
        #expect(
            allocations {
                _ = shared.tryPush(1)
                _ = shared.tryPop()
            } == 0
        )
        #expect(
            allocations {
                _ = shared.tryPush(contentsOf: four)
                for _ in four { _ = shared.tryPop() }
            } == 0
        )
        try SPSCRing<(Int, Int)>(capacity: 8).split { producer, consumer in
            let single = allocations {
                _ = producer.tryPush((1, 2))
                _ = consumer.tryPop()
            }
            #expect(single == 0)
        }
        let blocking = allocations {
            _ = shared.push(1)
            _ = try? shared.pop()
        }
        #expect(blocking == 0)
    }
}
