// SPDX-License-Identifier: Apache-2.0
//
// The recursive lock: further closures of the thread that holds it, beside other threads; limits, inheritance.

import CInterlock
import Interlock
import Testing

@testable import InterlockSync

// contract: RecursiveLock
@Suite struct RecursiveLockTests {
    /// Whether another thread may take it, by every call.
    private func isFree(_ lock: RecursiveLock) -> Bool {
        let answers = VisibleMutex<[Bool]>([])
        onThreads(1) { _ in
            let tried = lock.withLockIfAvailable { true } ?? false
            let late = lock.withLock(until: .now) { true } ?? false
            let waited = lock.withLock(timeout: .milliseconds(2)) { true } ?? false
            answers.withLock { $0 += [tried, late, waited] }
        }
        let all = answers.withLock { $0 }
        #expect(Set(all).count == 1, "\(all)")
        return all[0]
    }

    @Test(arguments: [false, true]) func theEndOfTheFirstClosureGivesItUp(inheritsPriority: Bool) {
        let lock = RecursiveLock(inheritsPriority: inheritsPriority)
        let depth = lock.withLock {
            lock.withLockIfAvailable {
                lock.withLock(until: .now) {
                    lock.withLock(timeout: .zero) {
                        #expect(!isFree(lock))
                        return 4
                    }
                }
            }
        }
        #expect(depth == 4)
        lock.withLock {
            lock.withLock {}
            #expect(!isFree(lock))
        }
        #expect(isFree(lock))
    }

    @Test func anErrorGivesItUpOncePerClosure() {
        struct Stop: Error {}
        let lock = RecursiveLock()
        lock.withLock {
            #expect(throws: Stop.self) { try lock.withLock { () throws(Stop) in throw Stop() } }
            #expect(!isFree(lock))
        }
        #expect(throws: Stop.self) {
            try lock.withLock { () throws(Stop) in try lock.withLock { () throws(Stop) in throw Stop() } }
        }
        #expect(isFree(lock))
    }

    @Test func limitsAreKept() {
        let lock = RecursiveLock()
        lock.withLock {
            onThreads(1) { _ in
                let limit = Duration.milliseconds(10)
                let begin = ContinuousClock.now
                #expect(lock.withLock(timeout: limit) { Issue.record("ran") } == nil)
                let middle = ContinuousClock.now
                #expect(middle - begin >= limit)
                #expect(lock.withLock(until: middle + limit) { Issue.record("ran") } == nil)
                #expect(ContinuousClock.now - middle >= limit)
            }
        }
    }

    @Test func theClockIsReadOnlyIfAnotherThreadHoldsIt() {
        let lock = RecursiveLock()
        var reads = 0
        func deadline() -> UInt64 {
            reads += 1
            return 0
        }
        for _ in 0..<2 {
            let isTaken = lock.lock(until: deadline())  // the macro would evaluate the argument
            #expect(isTaken)
        }
        #expect(reads == 0)
        for _ in 0..<2 { lock.unlockAfter {} }
        #expect(isFree(lock))
    }

    /// As in C: not where the system has no inheritance.
    @Test func itInheritsPrioritiesIfAskedFor() {
        func state(_ mutex: UnsafeRawPointer) -> UInt64 { mutex.load(as: UInt64.self) }
        for (lock, inherits) in [
            (RecursiveLock(), false), (RecursiveLock(inheritsPriority: false), false),
            (RecursiveLock(inheritsPriority: true), true),
        ] {
            let same = CObject<ilk_mutex> { ilk_mutex_init($0, inherits) }
            #expect(state(lock.mutex.pointer) == state(same.pointer))
        }
    }

    @Test func closuresOfDifferentThreadsNeverOverlap() {
        let lock = RecursiveLock()
        nonisolated(unsafe) var sum = 0
        @Sendable func add(_ depth: Int) {
            lock.withLock {
                sum += 1
                if depth > 1 { add(depth - 1) }
            }
        }
        onThreads(4) { _ in
            for round in 0..<2_000 { add(1 + round % 4) }
        }
        let total = lock.withLock { sum }
        #expect(total == 20_000)  // 2,000 rounds of 1 to 4, four times
    }
}
