// SPDX-License-Identifier: Apache-2.0
//
// What an optimised build reports of a thread that takes again the lock it holds; debug builds report more.

import Foundation
import Interlock
import Testing
// contract: ReadWriteLock
@Suite(.timeLimit(.minutes(10))) struct RecursionTests {
    /// A program that would wait for itself for ever.
    struct Program: Sendable {
        /// What its report must contain, each.
        let words: [String]
        let run: @Sendable () async throws -> Void
    }

    private static let inALock = ["interlock: ReadWriteLock", "called from inside"]

    static let programs: [Program] = [
        Program(inALock) {
            let lock = ReadWriteLock(1)
            lock.withWriteLock { _ in lock.withWriteLock { $0 += 1 } }
        },
        Program(inALock) {
            let lock = ReadWriteLock(1)
            lock.withWriteLockIfAvailable { _ in lock.withReadLock { _ in } }
        },
        Program(inALock) {
            let lock = ReadWriteLock(1)
            lock.withUpgradableLock(timeout: .seconds(1)) { _ in lock.withWriteLock { $0 += 1 } }
        },
        Program(inALock) {
            let lock = ReadWriteLock(1)
            lock.withUpgradableLock { view in view.upgrade { _ in lock.withUpgradableLock { _ in } } }
        },
        Program(inALock) {
            let lock = SharedReadWriteLock(1)
            lock.withWriteLock { _ in lock.withWriteLock { $0 += 1 } }
        },
        // thread   reads by closure                 reads an element: would wait
        // writer                      waits
        Program([
            "interlock: SafeArray<Int>.element(at:)(", "called from inside withReadLock of the same object",
        ]) {
            alarm(240)
            let array = SafeArray([1, 2, 3])
            array.withReadLock { _ in
                Thread { array.append(4) }.start()
                // The first reads need not wait.
                while true { _ = array.first }
            }
        },
        Program([
            "interlock: SafeArray<Int>.withWriteLock(", "called from inside withReadLock of the same object",
        ]) {
            alarm(60)
            let array = SafeArray([1])
            array.withReadLock { _ in array.withWriteLock(when: { _ in true }, until: .now) { _ in } }
        },
        // Predicates, by the thread of the waiter.
        Program(inALock) {
            alarm(60)
            let lock = ReadWriteLock(1)
            lock.withWriteLock(when: { _ in lock.withReadLock { $0 > 1 } }) { _ in }
        },
        Program(["locked again by its owner"]) {
            alarm(60)
            let mutex = PriorityInheritingMutex(1)
            mutex.withLock(when: { _ in mutex.withLock { $0 > 1 } }) { _ in }
        },
        Program(
            words: [
                "interlock: SafeArray<Int>.count(", "called from inside withWriteLock of the same object",
            ],
            run: {
                alarm(60)
                let array = SafeArray([1])
                try await array.withWriteLock(when: { _ in array.count > 1 }) { _ in }
            }
        ),
    ]

    // contract: PriorityInheritingMutex, SafeArray
    @Test(arguments: programs.indices) func aThreadThatWouldWaitForItselfIsReported(index: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [index] in
            try await RecursionTests.programs[index].run()
        }
        let report = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        for words in Self.programs[index].words { #expect(report.contains(words), "\(report)") }
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

extension RecursionTests.Program {
    /// One that suspends nowhere.
    init(_ words: [String], _ block: @escaping @Sendable () throws -> Void) {
        self.init(words: words, run: block)
    }
}
