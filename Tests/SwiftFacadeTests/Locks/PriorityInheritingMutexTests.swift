// SPDX-License-Identifier: Apache-2.0
//
// The inheriting mutex: exclusion, limits, misuse, and scenario 21: that the holder runs at the priority of
// whoever waits.

import Foundation
import Interlock
import Synchronization
import Testing

@Suite struct PriorityInheritingMutexTests {
    @Test func closuresNeverOverlap() {
        let mutex = PriorityInheritingMutex(0)
        onThreads(4) { _ in
            for _ in 0..<5_000 { mutex.withLock { $0 += 1 } }
        }
        #expect(mutex.withLock { $0 } == 20_000)
    }

    @Test func limitsAreKept() {
        let mutex = PriorityInheritingMutex(0)
        mutex.withLock { _ in
            onThreads(1) { _ in
                let begin = ContinuousClock.now
                #expect(mutex.withLockIfAvailable { _ in Issue.record("ran") } == nil)
                #expect(mutex.withLock(timeout: .milliseconds(10)) { _ in Issue.record("ran") } == nil)
                #expect(ContinuousClock.now - begin >= .milliseconds(10))
                #expect(mutex.withLock(until: begin) { _ in Issue.record("ran") } == nil)
            }
        }
        #expect(mutex.withLock(timeout: .zero) { $0 } == 0)
        #expect(mutex.withLockIfAvailable { $0 } == 0)
    }

    @Test func whatIsNotSendableMayGoInAndStay() {
        final class Box { var value = 0 }
        let mutex = PriorityInheritingMutex(Box())
        onThreads(2) { _ in
            for _ in 0..<1_000 { mutex.withLock { $0.value += 1 } }
        }
        #expect(mutex.withLock { $0.value } == 2_000)
    }

    @Test(.timeLimit(.minutes(1))) func lockingAgainIsReported() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let mutex = PriorityInheritingMutex(0)
            mutex.withLock { _ in mutex.withLock { _ in } }
        }
        #expect(result?.report.contains("interlock: ilk_mutex_lock(") == true)
    }

    /// low:    [ locks ───────────── its own priority seen to be high's ── unlocks ]
    /// high:            waits ········································ [ locks ]
    ///
    /// The kernel lends the priority while high sleeps; the effective priority of low's thread is read from
    /// /proc. Real-time scheduling needs privilege.
    @Test func theHolderRunsAtThePriorityOfWhoeverWaits() throws {
        var high = sched_param()
        high.sched_priority = 20
        var before = sched_param()
        var policy: Int32 = 0
        pthread_getschedparam(pthread_self(), &policy, &before)
        guard pthread_setschedparam(pthread_self(), SCHED_FIFO, &high) == 0 else {
            print("skipped theHolderRunsAtThePriorityOfWhoeverWaits: no privilege for SCHED_FIFO")
            return
        }
        pthread_setschedparam(pthread_self(), policy, &before)

        let mutex = PriorityInheritingMutex(0)
        let held = Event()
        let inherited = Atomic<Bool>(false)
        let low = TestThread {
            mutex.withLock { _ in
                held.happen()
                let raised = eventually { effectivePriority() == -21 }
                inherited.store(raised, ordering: .releasing)
            }
        }
        held.wait()
        let waiting = TestThread {
            var high = sched_param()
            high.sched_priority = 20
            pthread_setschedparam(pthread_self(), SCHED_FIFO, &high)
            mutex.withLock { _ in }
        }
        low.join()
        waiting.join()
        let raised = inherited.load(ordering: .acquiring)
        #expect(raised)
    }
}

/// The kernel's priority of the calling thread: for a real-time thread, minus one minus its priority.
private func effectivePriority() -> Int? {
    guard let stat = try? String(contentsOfFile: "/proc/thread-self/stat", encoding: .utf8) else {
        return nil
    }
    // The name may hold spaces; it ends with the last parenthesis. The priority is the 18th field, the state
    // after the name the third.
    let fields = stat[stat.lastIndex(of: ")")!...].split(separator: " ").dropFirst()
    return Int(fields[fields.startIndex + 15])
}
