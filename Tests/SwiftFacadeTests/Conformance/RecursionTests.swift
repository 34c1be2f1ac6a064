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
}
