// SPDX-License-Identifier: Apache-2.0
//
// The lock as a reference, in closures that escape, and the lock itself for the other forms.

import Interlock
import Testing

@Suite struct SharedReadWriteLockTests {
    @Test func allWhoHoldTheReferenceHoldOneLock() {
        let counts = SharedReadWriteLock<[Int: Int]>([:])
        let copies = [counts, counts]
        onThreads(4) { thread in
            for _ in 0..<1_000 { copies[thread % 2].withWriteLock { $0[thread, default: 0] += 1 } }
        }
        #expect(counts.withReadLock { $0 } == [0: 1_000, 1: 1_000, 2: 1_000, 3: 1_000])
    }

    @Test func whileItIsHeldTheLimitedFormsAnswerNil() {
        let shared = SharedReadWriteLock(1)
        let writer = LockHolder { section in shared.withWriteLock { _ in section() } }
        #expect(shared.lock.withReadLockIfAvailable { $0 } == nil)
        #expect(shared.lock.withWriteLockIfAvailable { $0 } == nil)
        #expect(shared.lock.withReadLock(timeout: .milliseconds(1)) { $0 } == nil)
        #expect(shared.lock.withWriteLock(timeout: .milliseconds(1)) { $0 } == nil)
        #expect(shared.lock.withReadLock(until: .now) { $0 } == nil)
        #expect(shared.lock.withWriteLock(until: .now) { $0 } == nil)
        writer.letGo()
        #expect(shared.lock.withReadLockIfAvailable { $0 } == 1)
        #expect(shared.lock.withWriteLockIfAvailable { $0 } == 1)
        #expect(shared.lock.withReadLock(timeout: .seconds(30)) { $0 } == 1)
        #expect(shared.lock.withWriteLock(timeout: .seconds(30)) { $0 } == 1)
        #expect(shared.lock.withReadLock(until: .now + .seconds(30)) { $0 } == 1)
        #expect(shared.lock.withWriteLock(until: .now + .seconds(30)) { $0 } == 1)
    }

    @Test func readersRunBesideOneAnother() {
        let shared = SharedReadWriteLock(())
        let here = Event()
        let there = Event()
        let other = TestThread {
            shared.withReadLock { _ in
                here.happen()
                #expect(there.wait())
            }
        }
        shared.withReadLock { _ in
            #expect(here.wait())
            there.happen()
        }
        other.join()
    }

    @Test func theLockItselfIsThereForTheOtherForms() {
        let shared = SharedReadWriteLock([1])
        let count = shared.lock.withUpgradableLock { view in
            view.value.isEmpty
                ? 0
                : view.upgrade {
                    $0.append(2); return $0.count
                }
        }
        #expect(count == 2)
        #expect(shared.lock.withWriteLock({ $0.removeLast() }, downgrading: { $0 + [$1] }) == [1, 2])
    }

    @Test func theValueGoesWithTheLastReference() {
        let counter = LifetimeCounter()
        var one: SharedReadWriteLock<CountedUnique>? = SharedReadWriteLock(CountedUnique(7, counter))
        var other = one
        one = nil
        #expect(counter.living == 1)
        #expect(other?.withReadLock { $0.id } == 7)
        other = nil
        #expect(counter.living == 0)
    }

    @Test func errorsKeepTheirType() {
        struct Refusal: Error {}
        let shared = SharedReadWriteLock(1)
        func attempt() throws(Refusal) { try shared.withWriteLock { (_) throws(Refusal) in throw Refusal() } }
        #expect(throws: Refusal.self) { try attempt() }
        #expect(shared.lock.withWriteLockIfAvailable { $0 } == 1)
    }
}
