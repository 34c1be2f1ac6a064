// SPDX-License-Identifier: Apache-2.0
//
// The inheriting mutex with threads: exclusion, limits, misuse, and scenario 21: the holder runs at the priority of its
// waiters.

import CInterlock
import Foundation
import Interlock
import Synchronization
import Testing
// contract: PriorityInheritingMutex
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

    @Test(.ownThreads, .timeLimit(.minutes(10))) func lockingAgainIsReported() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let mutex = PriorityInheritingMutex(0)
            func lockTwice() { mutex.withLock { _ in mutex.withLock { _ in } } }
            lockTwice()
        }
        #expect(result?.report.contains("interlock: ilk_mutex_lock(") == true)
        let limited = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let mutex = PriorityInheritingMutex(0)
            func lockTwice() { mutex.withLock { _ in _ = mutex.withLock(timeout: .zero) { _ in } } }
            lockTwice()
        }
        #expect(limited?.report.contains("interlock: ilk_mutex_lock_until(") == true)
    }

    @Test func anAttemptOnTheThreadThatHoldsItRunsNothing() {
        let mutex = PriorityInheritingMutex(0)
        mutex.withLock { _ in
            #expect(mutex.withLockIfAvailable { _ in Issue.record("ran") } == nil)
        }
    }

    /// low:    [ locks ───────────── its own priority seen to be high's ── unlocks ]
    /// high:            waits ········································ [ locks ]
    ///
    /// The kernel lends the priority while high sleeps.
    @Test(.enabled(if: RealTime.isAllowed, "no privilege for SCHED_FIFO"))
    func theHolderRunsAtThePriorityOfItsWaiters() {
        let mutex = PriorityInheritingMutex(0)
        let held = Event()
        let inherited = Atomic<Bool>(false)
        let low = TestThread {
            mutex.withLock { _ in
                held.happen()
                let raised = eventually { RealTime.effective == 20 }
                inherited.store(raised, ordering: .releasing)
            }
        }
        held.wait()
        let waiting = TestThread {
            RealTime.become(20)
            mutex.withLock { _ in }
        }
        low.join()
        waiting.join()
        let raised = inherited.load(ordering: .acquiring)
        #expect(raised)
    }

    /// Scenario 21, on one processor. The ready thread of the highest priority runs, so the order is given:
    ///
    ///     low (10)     [ locks, lets high and medium begin      works, unlocks ]
    ///     high (30)              waits ······································· [ locks ]
    ///     medium (20)                          ready, and hogs the processor once it gets it
    ///
    /// With inheritance low works at high's priority, and high has the lock before medium has taken a step.
    @Test(.enabled(if: RealTime.isAllowed, "no privilege for SCHED_FIFO"), .timeLimit(.minutes(10)))
    func withInheritanceHighWaitsForLowsSectionOnly() {
        let mutex = PriorityInheritingMutex(0)
        let stepsOfMedium = Inversion().run { section in mutex.withLock { _ in section() } }
        #expect(stepsOfMedium == 0)
    }

    /// The same with inheritance switched off: medium keeps low and high from going on until main says so.
    @Test(.enabled(if: RealTime.isAllowed, "no privilege for SCHED_FIFO"), .timeLimit(.minutes(10)))
    func withoutInheritanceHighWaitsForMediumAsLongAsItHogsTheProcessor() {
        let mutex = PlainMutex()
        let stepsOfMedium = Inversion().run(mutex.withLock)
        #expect(stepsOfMedium >= Inversion.mostSteps)
    }
}

/// The C core's mutex without inheritance.
// A C object, made for any number of threads.
private final class PlainMutex: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<ilk_mutex>.allocate(capacity: 1)

    init() { ilk_mutex_init(mutex, false) }
    deinit { mutex.deallocate() }

    func withLock(_ section: () -> Void) {
        ilk_mutex_lock(mutex)
        section()
        ilk_mutex_unlock(mutex)
    }
}

private final class Inversion: Sendable {
    /// How many steps medium takes before main ends it.
    static let mostSteps = 2_000_000

    private let mediumSteps = Atomic<Int>(0)
    private let stepsWhenHighHadIt = Atomic<Int>(-1)
    private let mayEnd = Atomic<Bool>(false)
    private let ready = DispatchSemaphore(value: 0)
    private let (lowGoes, mediumGoes, highGoes) = (
        DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
    )

    /// How many steps medium had taken when high got the lock.
    func run(_ withLock: @escaping @Sendable (() -> Void) -> Void) -> Int {
        let low = start(10, lowGoes) { [self] in
            withLock {
                highGoes.signal()  // runs at once, until it waits for the lock
                mediumGoes.signal()
            }
        }
        let medium = start(20, mediumGoes) { [self] in
            while !mayEnd.load(ordering: .acquiring) { mediumSteps.add(1, ordering: .relaxed) }
        }
        let high = start(30, highGoes) { [self] in
            withLock { stepsWhenHighHadIt.store(mediumSteps.load(ordering: .relaxed), ordering: .relaxed) }
            mayEnd.store(true, ordering: .releasing)
        }
        for _ in 0..<3 { ready.wait() }
        lowGoes.signal()
        // From another processor; where there is none, from the system's share for ordinary threads.
        _ = eventually {
            mayEnd.load(ordering: .acquiring) || mediumSteps.load(ordering: .relaxed) >= Self.mostSteps
        }
        mayEnd.store(true, ordering: .releasing)
        for thread in [low, medium, high] { thread.join() }
        return stepsWhenHighHadIt.load(ordering: .relaxed)
    }

    private func start(
        _ priority: Int32,
        _ go: DispatchSemaphore,
        _ body: @escaping @Sendable () -> Void
    ) -> TestThread {
        TestThread { [self] in
            pinThread(0)
            RealTime.become(priority)
            ready.signal()
            go.wait()
            body()
        }
    }
}
