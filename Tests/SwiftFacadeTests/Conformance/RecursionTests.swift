// SPDX-License-Identifier: Apache-2.0
//
// What an optimised build reports of a thread that takes again the lock it holds; debug builds report more.

import Foundation
import Interlock
import Testing
// contract: ReadWriteLock
@Suite(.timeLimit(.minutes(10))) struct RecursionTests {
    // Each would wait for itself for ever.
    @Test func takingAgainWhatTheThreadHoldsForWritingIsReported() async {
        let writeInWrite = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let lock = ReadWriteLock(1)
            lock.withWriteLock { _ in lock.withWriteLock { $0 += 1 } }
        }
        let readInWrite = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let lock = ReadWriteLock(1)
            lock.withWriteLockIfAvailable { _ in lock.withReadLock { _ in } }
        }
        let writeInUpgradable = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let lock = ReadWriteLock(1)
            lock.withUpgradableLock(timeout: .seconds(1)) { _ in lock.withWriteLock { $0 += 1 } }
        }
        let upgradableInUpgraded = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) {
            let lock = ReadWriteLock(1)
            lock.withUpgradableLock { view in view.upgrade { _ in lock.withUpgradableLock { _ in } } }
        }
        let sharedWriteInWrite = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) {
            let lock = SharedReadWriteLock(1)
            lock.withWriteLock { _ in lock.withWriteLock { $0 += 1 } }
        }
        for result in [
            writeInWrite, readInWrite, writeInUpgradable, upgradableInUpgraded, sharedWriteInWrite,
        ] {
            let report = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            #expect(report.contains("interlock: ReadWriteLock"), "\(report)")
            #expect(report.contains("called from inside"), "\(report)")
        }
    }

    /// thread   reads by closure                 reads an element: would wait
    /// writer                      waits
    @Test func readingAnArrayAgainBehindAWriterIsReported() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            alarm(240)
            let array = SafeArray([1, 2, 3])
            array.withReadLock { _ in
                Thread { array.append(4) }.start()
                // The first reads need not wait.
                while true { _ = array.first }
            }
        }
        let report = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(report.contains("interlock: SafeArray<Int>.element(at:)("), "\(report)")
        #expect(report.contains("called from inside withReadLock of the same object"), "\(report)")
    }

    /// By the thread of the waiter.
    // contract: PriorityInheritingMutex, SafeArray
    @Test func aPredicateThatCallsItsObjectIsReported() async {
        let writing = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            alarm(60)
            func wait() {
                let lock = ReadWriteLock(1)
                lock.withWriteLock(when: { _ in lock.withReadLock { $0 > 1 } }) { _ in }
            }
            wait()
        }
        let ofAMutex = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            alarm(60)
            func wait() {
                let mutex = PriorityInheritingMutex(1)
                mutex.withLock(when: { _ in mutex.withLock { $0 > 1 } }) { _ in }
            }
            wait()
        }
        let ofAnArray = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            alarm(60)
            let array = SafeArray([1])
            try await array.withWriteLock(when: { _ in array.count > 1 }) { _ in }
        }
        let reports = [writing, ofAMutex, ofAnArray].map {
            String(decoding: $0?.standardErrorContent ?? [], as: UTF8.self)
        }
        #expect(reports[0].contains("interlock: ReadWriteLock"), "\(reports[0])")
        #expect(reports[0].contains("called from inside"), "\(reports[0])")
        #expect(reports[1].contains("locked again by its owner"), "\(reports[1])")
        #expect(reports[2].contains("interlock: SafeArray<Int>.count("), "\(reports[2])")
        #expect(reports[2].contains("called from inside withWriteLock of the same object"), "\(reports[2])")
    }

    // contract: SafeArray
    @Test func aWaitInAClosureOfItsObjectIsReported() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            alarm(60)
            func wait() {
                let array = SafeArray([1])
                array.withReadLock { _ in array.withWriteLock(when: { _ in true }, until: .now) { _ in } }
            }
            wait()
        }
        let report = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(report.contains("interlock: SafeArray<Int>.withWriteLock("), "\(report)")
        #expect(report.contains("called from inside withReadLock of the same object"), "\(report)")
    }

    /// waiter   judges, sleeps
    /// writer                    changes, judges: the predicate calls
    // contract: SafeArray
    @Test func aPredicateThatCallsItsObjectOnAnotherThreadIsReported() async {
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
        let reports = [ofALock, ofAnArray].map {
            String(decoding: $0?.standardErrorContent ?? [], as: UTF8.self)
        }
        #expect(reports[0].contains("called by the predicate") || reports[0].contains("called from inside"))
        #expect(reports[0].contains("interlock: "), "\(reports[0])")
        #expect(reports[1].contains("interlock: SafeArray<Int>.count("), "\(reports[1])")
        #expect(reports[1].contains("called from inside withWriteLock of the same object"), "\(reports[1])")
    }
}
