// SPDX-License-Identifier: Apache-2.0
//
// What an optimised build reports of a thread that takes again the lock it holds; debug builds report more.

import Foundation
import Interlock
import Testing
// contract: ReadWriteLock
@Suite(.timeLimit(.minutes(10))) struct RecursionTests {
    private static func inALock(_ program: @escaping @Sendable () throws -> Void) -> Misuse {
        Misuse("interlock: ReadWriteLock", "called from inside", program: program)
    }

    /// Each would wait for itself for ever.
    static let misuses: [Misuse] = [
        inALock {
            let lock = ReadWriteLock(1)
            lock.withWriteLock { _ in lock.withWriteLock { $0 += 1 } }
        },
        inALock {
            let lock = ReadWriteLock(1)
            lock.withWriteLockIfAvailable { _ in lock.withReadLock { _ in } }
        },
        inALock {
            let lock = ReadWriteLock(1)
            lock.withUpgradableLock(timeout: .seconds(1)) { _ in lock.withWriteLock { $0 += 1 } }
        },
        inALock {
            let lock = ReadWriteLock(1)
            lock.withUpgradableLock { view in view.upgrade { _ in lock.withUpgradableLock { _ in } } }
        },
        inALock {
            let lock = SharedReadWriteLock(1)
            lock.withWriteLock { _ in lock.withWriteLock { $0 += 1 } }
        },
        // thread   reads by closure                 reads an element: would wait
        // writer                      waits
        Misuse(
            "interlock: SafeArray<Int>.element(at:)(",
            "called from inside withReadLock of the same object"
        ) {
            alarm(240)
            let array = SafeArray([1, 2, 3])
            array.withReadLock { _ in
                Thread { array.append(4) }.start()
                // The first reads need not wait.
                while true { _ = array.first }
            }
        },
        Misuse(
            "interlock: SafeArray<Int>.withWriteLock(",
            "called from inside withReadLock of the same object"
        ) {
            alarm(60)
            let array = SafeArray([1])
            array.withReadLock { _ in array.withWriteLock(when: { _ in true }, until: .now) { _ in } }
        },
        // Predicates, by the thread of the waiter.
        inALock {
            alarm(60)
            let lock = ReadWriteLock(1)
            lock.withWriteLock(when: { _ in lock.withReadLock { $0 > 1 } }) { _ in }
        },
        Misuse("locked again by its owner") {
            alarm(60)
            let mutex = PriorityInheritingMutex(1)
            mutex.withLock(when: { _ in mutex.withLock { $0 > 1 } }) { _ in }
        },
        Misuse.inTask(
            "interlock: SafeArray<Int>.count(",
            "called from inside withWriteLock of the same object"
        ) {
            alarm(60)
            let array = SafeArray([1])
            try await array.withWriteLock(when: { _ in array.count > 1 }) { _ in }
        },
    ]

    // contract: PriorityInheritingMutex, SafeArray
    @Test(.serialized, .ownThreads, arguments: misuses.indices)
    func aThreadThatWouldWaitForItselfIsReported(index: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [index] in
            try await RecursionTests.misuses[index].program()
        }
        Self.misuses[index].expectReport(result)
    }

    /// waiter   judges, sleeps
    /// writer                    changes, judges: the predicate calls
    // contract: SafeArray
    @Test(.ownThreads) func aPredicateThatCallsItsObjectOnAnotherThreadIsReported() async {
        let ofALock = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            alarm(60)
            let shared = SharedReadWriteLock(0)
            Thread {
                shared.lock.withWriteLock(when: { $0 > 0 && shared.withReadLock { $0 > 0 } }) { _ in }
            }.start()
            while true { shared.withWriteLock { $0 += 1 } }
        }
        let ofAnArray = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            alarm(60)
            let array = SafeArray([Int]())
            Thread { array.withWriteLock(when: { !$0.isEmpty && array.count > 1 }) { _ in } }.start()
            while true { array.append(1) }
        }
        let reports = [ofALock, ofAnArray].map { $0?.report ?? "no report" }
        #expect(reports[0].contains("called by the predicate") || reports[0].contains("called from inside"))
        #expect(reports[0].contains("interlock: "), "\(reports[0])")
        #expect(reports[1].contains("interlock: SafeArray<Int>.count("), "\(reports[1])")
        #expect(reports[1].contains("called from inside withWriteLock of the same object"), "\(reports[1])")
    }
}
