// SPDX-License-Identifier: Apache-2.0
//
// The recursive lock: further closures of the thread that holds it, beside other threads.

import Interlock
import Testing
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
