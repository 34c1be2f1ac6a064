// SPDX-License-Identifier: Apache-2.0
//
// Sentences of the documentation of semaphore, latch, barrier and mutex that no other test holds.

import Interlock
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct LockContractTests {
    // contract: Barrier
    /// Only the barrier guards the cells: each party writes its own, and reads all after the meeting. The second wait
    /// keeps the next round's writes away from this round's reads.
    @Test func whatAPartyDidIsVisibleAfterTheMeeting() {
        let parties = 3
        let barrier = Barrier(parties: parties)
        nonisolated(unsafe) let cells = UnsafeMutableBufferPointer<Int>.allocate(capacity: parties)
        cells.initialize(repeating: 0)
        defer { cells.deallocate() }
        onThreads(parties) { party in
            for round in 1...500 {
                cells[party] = round
                barrier.wait()
                if cells.contains(where: { $0 != round }) {
                    Issue.record("round \(round) saw \(Array(cells))")
                }
                barrier.wait()
            }
        }
    }
    // contract: FIFOSemaphore
    @Test func whatWasDoneBeforeASignalIsVisibleWithThePermit() async throws {
        let semaphore = FIFOSemaphore(permits: 0)
        nonisolated(unsafe) var written = 0
        let thread = TestThread {
            written = 1
            semaphore.signal()
        }
        try await semaphore.wait()
        #expect(written == 1)
        thread.join()
        let task = Task {
            written = 2
            semaphore.signal()
        }
        let waiter = TestThread {
            semaphore.wait()
            #expect(written == 2)
        }
        await task.value
        waiter.join()
    }
    // contract: FIFOSemaphore, Latch
    @Test func aCancelledTaskTakesWhatNeedsNoWaiting() async throws {
        let task = Task {
            await untilCancelled()
            let semaphore = FIFOSemaphore(permits: 1)
            try await semaphore.wait()
            semaphore.signal()
            try await semaphore.withPermit {}
            try await Latch(count: 0).wait()
            return try await Barrier(parties: 1).wait()
        }
        task.cancel()
        #expect(try await task.value)
    }
    // contract: FIFOSemaphore, PriorityInheritingMutex, SharedReadWriteLock
    @Test func aPassedDeadlineTakesWhatIsThere() async throws {
        let past = ContinuousClock.now.advanced(by: .seconds(-1))
        onThreads(1) { _ in
            let semaphore = FIFOSemaphore(permits: 1)
            #expect(semaphore.wait(until: past) && !semaphore.wait(until: past))
            semaphore.signal()
            #expect(semaphore.withPermit(until: past) { 1 } == 1)
            #expect(semaphore.withPermit(timeout: .seconds(-1)) { 1 } == 1)
            #expect(Latch(count: 0).wait(until: past) && !Latch(count: 1).wait(until: past))
            let mutex = PriorityInheritingMutex(1)
            #expect(mutex.withLock(until: past) { $0 } == 1)
            let shared = SharedReadWriteLock(1)
            #expect(shared.lock.withReadLock(until: past) { $0 } == 1)
            #expect(shared.lock.withWriteLock(until: past) { $0 } == 1)
        }
        let semaphore = FIFOSemaphore(permits: 1)
        #expect(try await semaphore.wait(until: past))
        #expect(try await !semaphore.wait(until: past))
        #expect(try await Latch(count: 0).wait(until: past))
    }

    private actor Account {
        private(set) var count = 0

        func add(with semaphore: FIFOSemaphore) async throws {
            try await semaphore.withPermit {
                self.preconditionIsolated()
                count += 1
            }
        }
    }
    // contract: FIFOSemaphore
    /// Once at once, and once after waiting.
    @Test func aBodyWithAPermitRunsInTheIsolationOfItsCaller() async throws {
        let semaphore = FIFOSemaphore(permits: 1)
        let account = Account()
        try await account.add(with: semaphore)
        #expect(semaphore.tryWait())
        let task = Task { try await account.add(with: semaphore) }
        #expect(await eventuallySuspending { semaphore.value == -1 })
        semaphore.signal()
        try await task.value
        #expect(await account.count == 2)
    }
    // contract: PriorityInheritingMutex
    @Test func aMutexIsGivenUpAndKeepsItsValueWhenTheClosureThrows() throws {
        struct Refused: Error {}
        let mutex = PriorityInheritingMutex(1)
        #expect(throws: Refused.self) {
            try mutex.withLock { value throws(Refused) in
                value += 1
                throw Refused()
            }
        }
        #expect(throws: Refused.self) {
            try mutex.withLock(timeout: .seconds(30)) { _ throws(Refused) -> Int in throw Refused() }
        }
        #expect(mutex.withLockIfAvailable { $0 } == 2)
    }
}
