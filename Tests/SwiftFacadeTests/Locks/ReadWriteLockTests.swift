// SPDX-License-Identifier: Apache-2.0
//
// Scenario 3 through the facade: limits, changes of mode, and what goes in and out of the closures. The conformance
// suite tests which closures run beside each other; the algorithm is tested in C.

import Foundation
import Interlock
import Synchronization
import Testing
// contract: ReadWriteLock
@Suite struct ReadWriteLockTests {
    @Test func whileHeldNothingRunsAndLimitsAreKeptAndLeaveNothingBehind() {
        let lock = ReadWriteLock(0)
        lock.withReadLock { _ in
            onThreads(1) { _ in
                let limit = Duration.milliseconds(20)
                let begin = ContinuousClock.now
                #expect(lock.withWriteLock(timeout: limit) { _ in Issue.record("ran") } == nil)
                #expect(ContinuousClock.now - begin >= limit)
                #expect(lock.withWriteLock(until: begin + limit) { _ in Issue.record("ran") } == nil)
                #expect(lock.withWriteLock(timeout: .seconds(-1)) { _ in Issue.record("ran") } == nil)
                #expect(
                    lock.withReadLockIfAvailable { $0 } == 0,
                    "a writer that gave up must not hold readers back"
                )
            }
        }
        lock.withWriteLock { _ in
            // On another thread: on this one it would be misuse.
            onThreads(1) { _ in
                #expect(lock.withReadLockIfAvailable { _ in Issue.record("ran") } == nil)
                #expect(lock.withWriteLockIfAvailable { _ in Issue.record("ran") } == nil)
                #expect(lock.withReadLock(timeout: .milliseconds(1)) { _ in Issue.record("ran") } == nil)
                #expect(lock.withReadLock(until: .now) { _ in Issue.record("ran") } == nil)
                #expect(lock.withUpgradableLock(until: .now) { _ in Issue.record("ran") } == nil)
                #expect(
                    lock.withUpgradableLock(timeout: .milliseconds(1)) { _ in Issue.record("ran") } == nil
                )
            }
        }
        #expect(lock.withWriteLockIfAvailable { $0 } == 0)
    }

    @Test func aPassedDeadlineStillTakesAFreeLock() {
        let lock = ReadWriteLock(7)
        let past = ContinuousClock.now - .seconds(1)
        #expect(lock.withReadLock(until: past) { $0 } == 7)
        #expect(lock.withWriteLock(until: past) { $0 } == 7)
        #expect(lock.withReadLock(timeout: .zero) { $0 } == 7)
        #expect(lock.withWriteLock(timeout: .seconds(Int64.max)) { $0 } == 7)
        #expect(lock.withUpgradableLock(until: past) { view in view.upgrade { $0 } } == 7)
        #expect(lock.withUpgradableLock(timeout: .zero) { view in view.value } == 7)
        #expect(lock.withWriteLockIfAvailable { $0 } == 7, "each was given up")
    }

    /// upgradable: [ reads ── reader beside it ── upgrade ── writes ]
    /// writer:        kept out from the beginning to the end
    @Test func upgradableAccessAdmitsReadersAndNoWriter() {
        let lock = ReadWriteLock([1])
        let sum = lock.withUpgradableLock { view in
            onThreads(1) { _ in
                #expect(lock.withReadLockIfAvailable { $0 } == [1])
                #expect(lock.withWriteLockIfAvailable { _ in Issue.record("ran") } == nil)
            }
            let seen = view.value.count
            view.upgrade { $0.append(2) }
            onThreads(1) { _ in #expect(lock.withReadLockIfAvailable { $0 } == nil) }
            view.upgrade { $0.append(3) }
            return seen + view.value.reduce(0, +)
        }
        #expect(sum == 7)
        #expect(lock.withWriteLockIfAvailable { $0 } == [1, 2, 3], "given up in the mode it was held in")
    }

    @Test func decidingAndInsertingInOneAccessInsertsOnce() {
        let lock = ReadWriteLock([Int: Int]())
        let insertions = Atomic<Int>(0)
        onThreads(4) { _ in
            for key in 0..<500 {
                lock.withUpgradableLock { view in
                    if view.value[key] == nil {
                        view.upgrade { $0[key] = key }
                        insertions.add(1, ordering: .relaxed)
                    }
                }
            }
        }
        #expect(insertions.load(ordering: .relaxed) == 500)
    }

    /// writer 1: [ writes n ─ downgrade ─ reads n ]     no write comes between the two
    /// writer 2:       queues ···················· [ writes ]
    @Test func downgradingLeavesNoGap() {
        let lock = ReadWriteLock(0)
        let overtaken = Atomic<Int>(0)
        onThreads(4) { _ in
            for _ in 0..<2_000 {
                let same = lock.withWriteLock { value in
                    value += 1
                    let mine = value
                    // Lets the others queue.
                    sched_yield()
                    return mine
                } downgrading: { value, mine in
                    value == mine
                }
                if !same { overtaken.add(1, ordering: .relaxed) }
            }
        }
        #expect(overtaken.load(ordering: .relaxed) == 0)
        #expect(lock.withReadLock { $0 } == 8_000)
    }

    @Test func downgradingAdmitsReaders() {
        let lock = ReadWriteLock(0)
        lock.withWriteLock { value in
            value = 1
        } downgrading: { _, _ in
            onThreads(1) { _ in #expect(lock.withReadLockIfAvailable { $0 } == 1) }
        }
        #expect(lock.withWriteLockIfAvailable { $0 } == 1)
    }

    enum Refusal: Error { case refused }

    @Test func errorsKeepTheirTypeAndTheLockIsGivenUp() {
        let lock = ReadWriteLock(0)
        func refuse() throws(Refusal) { throw .refused }
        do throws(Refusal) {
            try lock.withReadLock { (_) throws(Refusal) in try refuse() }
            Issue.record("did not throw")
        } catch {
            #expect(error == .refused)
        }
        #expect(throws: Refusal.refused) { try lock.withWriteLock { _ in try refuse() } }
        #expect(throws: Refusal.refused) { try lock.withUpgradableLock { _ in try refuse() } }
        #expect(throws: Refusal.refused) {
            try lock.withWriteLock { _ in
                try refuse()
            } downgrading: { _, _ in
                Issue.record("ran")
            }
        }
        #expect(throws: Refusal.refused) {
            try lock.withWriteLock { _ in
            } downgrading: { _, _ in
                try refuse()
            }
        }
        #expect(lock.withWriteLockIfAvailable { _ in true } == true)
    }

    @Test func changingAndReadingMayThrowErrorsOfDifferentTypes() throws {
        struct Late: Error {}
        struct Wrong: Error {}
        let lock = ReadWriteLock(1)
        func change(_ fails: Bool, read readFails: Bool) throws -> Int? {
            if fails {
                return try lock.withWriteLock(
                    { (_) throws(Late) -> Int in throw Late() },
                    downgrading: { (value, _) throws(Wrong) in value }
                )
            }
            return try lock.withWriteLock(
                { (value) throws(Late) in value += 1 },
                downgrading: { (value, _) throws(Wrong) in
                    if readFails { throw Wrong() } else { return value }
                }
            )
        }
        #expect(throws: Late.self) { try change(true, read: false) }
        #expect(throws: Wrong.self) { try change(false, read: true) }
        #expect(try change(false, read: false) == 3)
        #expect(
            lock.withWriteLock({ $0 }, downgrading: { $0 + $1 }) == 6,
            "closures that throw nothing need no try"
        )
        #expect(lock.withWriteLockIfAvailable { $0 } == 3, "the lock has been given up each time")
    }

    @Test func noncopyableValuesGoInAndOutAndLiveOnce() {
        let counter = LifetimeCounter()
        do {
            let lock = ReadWriteLock(CountedUnique(1, counter))
            #expect(lock.withReadLock { $0.id } == 1)
            let old = lock.withWriteLock { value in
                let old = exchange(&value, with: CountedUnique(2, counter))
                return old
            }
            #expect(old.id == 1 && counter.living == 2)
            _ = consume old
            #expect(counter.living == 1)
        }
        #expect(counter.living == 0 && counter.total == 2)
    }

    @Test func aLockOverNothingGuardsWhatLivesElsewhere() {
        let lock = ReadWriteLock()
        #expect(lock.withReadLock { _ in 1 } + lock.withWriteLock { _ in 2 } == 3)
    }

    @Test func theUnsafeViewIsTheSameLock() {
        let lock = ReadWriteLock(1)
        let view = lock.unsafeView
        view.lockForWriting()
        view.value.pointee = 2
        onThreads(1) { _ in #expect(lock.withReadLockIfAvailable { $0 } == nil) }
        view.unlockForWriting()
        view.lockForReading()
        onThreads(1) { _ in #expect(lock.withReadLockIfAvailable { $0 } == 2) }
        view.unlockForReading()
        #expect(lock.withWriteLockIfAvailable { $0 } == 2)
    }

    static let misuses = [
        Misuse("interlock: ilk_rwlock_write_unlock(") {
            let lock = ReadWriteLock(1)
            lock.unsafeView.unlockForWriting()
        },
        Misuse("interlock: ilk_rwlock_destroy(") {
            let lock = ReadWriteLock(1)
            lock.unsafeView.lockForReading()
        },
        // Neither view may outlive its lock: the inner closure ends first.
        Misuse(
            "interlock: ReadWriteLock<Int>.withUpgradableLock(0x",
            " \"inner\"): the closure ends with the view of another lock"
        ) {
            let outer = ReadWriteLock(1)
            outer.withUpgradableLock { outerView in
                let inner = ReadWriteLock(2, name: "inner")
                inner.withUpgradableLock { innerView in swap(&outerView, &innerView) }
                print("read", outerView.value)
            }
        },
    ]

    /// Giving up what is not held, freeing a held lock, and a view swapped out of its closure.
    @Test(.serialized, .ownThreads, arguments: misuses.indices)
    func misuseIsReported(index: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [index] in
            try await ReadWriteLockTests.misuses[index].program()
        }
        Self.misuses[index].expectReport(result)
    }

    private static func within(_ call: String, _ inside: String, _ program: @escaping @Sendable () -> Void)
        -> Misuse
    {
        Misuse(
            "interlock: ReadWriteLock<Int>.\(call)(",
            "called from inside \(inside) of the same object",
            program: program
        )
    }

    static let recursions = [
        within("withReadLock", "withReadLock") {
            let lock = ReadWriteLock(1)
            lock.withReadLock { _ in lock.withReadLock { _ in } }
        },
        within("withWriteLock", "withReadLockIfAvailable") {
            let lock = ReadWriteLock(1)
            lock.withReadLockIfAvailable { _ in lock.withWriteLock { _ in } }
        },
        within("withReadLock", "withWriteLock") {
            let lock = ReadWriteLock(1)
            lock.withWriteLock(timeout: .seconds(1)) { _ in lock.withReadLock { _ in } }
        },
        within("withWriteLock", "withUpgradableLock") {
            let lock = ReadWriteLock(1)
            lock.withUpgradableLock { _ in lock.withWriteLock { _ in } }
        },
        within("withUpgradableLock", "withWriteLock") {
            let lock = ReadWriteLock(1)
            lock.withWriteLock({ $0 += 1 }, downgrading: { _, _ in lock.withUpgradableLock { _ in } })
        },
        // A predicate that takes its lock, in a thread and in a task.
        within("withReadLock", "withReadLock") {
            alarm(60)
            let shared = SharedReadWriteLock(1)
            shared.lock.withReadLock(when: { _ in shared.withReadLock { $0 > 1 } }) { _ in }
        },
        within("withReadLock", "withWriteLock") {
            alarm(60)
            let shared = SharedReadWriteLock(1)
            shared.lock.withWriteLock(when: { _ in shared.withReadLock { $0 > 1 } }) { _ in }
        },
        Misuse.inTask(
            "interlock: ReadWriteLock<Int>.withReadLock(",
            "called from inside withReadLock of the same object"
        ) {
            alarm(60)
            let shared = SharedReadWriteLock(1)
            try await shared.lock.withReadLock(when: { _ in shared.withReadLock { $0 > 1 } }) { _ in }
        },
        Misuse.inTask(
            "interlock: ReadWriteLock<Int>.withReadLock(",
            "called from inside withWriteLock of the same object"
        ) {
            alarm(60)
            let shared = SharedReadWriteLock(1)
            try await shared.lock.withWriteLock(when: { _ in shared.withReadLock { $0 > 1 } }) { _ in }
        },
    ]

    @Test(
        .enabled(if: isDebugBuild, "only debug builds note whose closures a thread is in"),
        .serialized,
        .ownThreads,
        arguments: recursions.indices
    )
    func takingWhatTheThreadHoldsIsReported(index: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [index] in
            try await ReadWriteLockTests.recursions[index].program()
        }
        Self.recursions[index].expectReport(result)
    }

    @Test func anUpgradeThatGivesUpInTimeIsStillUpgradable() {
        let lock = ReadWriteLock(1)
        let isReading = DispatchSemaphore(value: 0)
        let mayLeave = DispatchSemaphore(value: 0)
        let reader = Thread {
            lock.withReadLock { _ in
                isReading.signal()
                mayLeave.wait()
            }
            mayLeave.signal()
        }
        reader.start()
        isReading.wait()
        lock.withUpgradableLock { view in
            let limit = ContinuousClock.now + .milliseconds(20)
            #expect(view.upgrade(until: limit) { $0 += 1 } == nil)
            #expect(ContinuousClock.now >= limit)
            let kept = view.value
            #expect(kept == 1)
            #expect(view.upgrade(timeout: .zero) { $0 += 1 } == nil)
            onThreads(1) { _ in
                #expect(lock.withReadLockIfAvailable { $0 } == 1)
                #expect(lock.withWriteLockIfAvailable { $0 } == nil)
            }
            mayLeave.signal()
            #expect(
                view.upgrade(timeout: .seconds(60)) {
                    $0 += 1; return $0
                } == 2
            )
            onThreads(1) { _ in #expect(lock.withReadLockIfAvailable { $0 } == nil) }
            #expect(view.upgrade(timeout: .zero) { $0 } == 2)
        }
        mayLeave.wait()
        #expect(lock.withReadLock { $0 } == 2)
    }

    @Test func locksInsideOneAnotherAreNotReported() {
        let outer = ReadWriteLock(1)
        let inner = ReadWriteLock(2)
        for _ in 0..<2 {
            let sum = outer.withReadLock { first in
                inner.withWriteLock { second in
                    second += 1
                    return first + second
                }
            }
            #expect(sum >= 4)
        }
        // Limits end the wait for oneself: no report.
        #expect(outer.withWriteLock { _ in outer.withReadLock(timeout: .zero) { $0 } } == nil)
        #expect(outer.withWriteLock { _ in outer.withWriteLockIfAvailable { $0 } } == nil)
    }
}

/// Whether `assert` does anything here.
private let isDebugBuild: Bool = {
    var does = false
    assert(
        {
            does = true; return true
        }()
    )
    return does
}()

func exchange<Value: ~Copyable>(_ value: inout Value, with new: consuming Value) -> Value {
    let old = value
    value = new
    return old
}
