// SPDX-License-Identifier: Apache-2.0
//
// Diagnosis through Swift. It belongs to the whole process, so each test has one of its own.

import Foundation
import Testing

import Interlock

/// The reports of this process, from here on.
func keepReports() -> SafeArray<Diagnostics.Report> {
    let reports = SafeArray<Diagnostics.Report>()
    Diagnostics.onReport { reports.append($0) }
    return reports
}

/// A context that may block.
func synchronously(_ body: () throws -> Void) rethrows {
    try body()
}

private func runOperations(on queue: OperationQueue, reading array: SafeArray<Int>) {
    for _ in 0..<50 {
        let first = AsyncOperation { array.count }
        queue.addOperation(first.then { $0 + 1 })
        queue.addOperation(first)
    }
    queue.waitUntilAllOperationsAreFinished()
}

@Suite("Diagnostics, order")
struct DiagnosticsOrderTests {
    // contract: Diagnostics
    @Test(.ownThreads) func twoLocksTakenInOppositeOrderAreReportedAtTheSecond() async {
        await #expect(processExitsWith: .success) {
            try synchronously {
                Diagnostics.enabled = .order
                let reports = keepReports()
                let accounts = ReadWriteLock(1, name: "accounts")
                let orders = ReadWriteLock(2, name: "orders")
                accounts.withReadLock { _ in orders.withWriteLock { $0 += 1 } }
                #expect(reports.isEmpty)
                orders.withReadLock { _ in accounts.withWriteLock { $0 += 1 } }
                orders.withReadLock { _ in accounts.withWriteLock { $0 += 1 } }
                #expect(reports.count == 1)
                let report = try #require(reports.first)
                #expect(report.kind == .inversion)
                let sentence =
                    /lock-order inversion: thread ".*" \(\d+\) asks for rwlock 0x[0-9a-f]+ "accounts" while it holds rwlock 0x[0-9a-f]+ "orders"; the opposite order was seen before/
                #expect(report.sentence.wholeMatch(of: sentence) != nil, "\(report.sentence)")
                // Swift names are demangled.
                #expect(report.text.contains("InterlockSync.ReadWriteLock<"), "\(report.text)")
            }
        }
    }
    // contract: Diagnostics
    @Test(.ownThreads) func aThreadAboutToWaitForItselfIsReportedAndEndsTheProcess() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            synchronously {
                alarm(240)
                Diagnostics.enabled = .order
                Diagnostics.onReport { report in
                    FileHandle.standardError.write(Data("of kind \(report.kind): \(report)\n".utf8))
                }
                let lock = ReadWriteLock(0, name: "own")
                let view = lock.unsafeView
                view.lockForReading()
                view.lockForWriting()
            }
        }
        #expect(sentence(result).contains("of kind selfWait: "))
        #expect(sentence(result).contains("would wait for itself: it holds rwlock "))
    }
    // contract: Diagnostics, FIFOSemaphore, PriorityInheritingMutex, ReadWriteLock
    @Test(.ownThreads) func mutexesSemaphoresAndCollectionsAreSeen() async {
        await #expect(processExitsWith: .success) {
            synchronously {
                Diagnostics.enabled = .order
                let reports = keepReports()
                let mutex = PriorityInheritingMutex(0, name: "mutex")
                let semaphore = FIFOSemaphore(permits: 1, name: "permit")
                let array = SafeArray([1])
                func withPermit(_ body: () -> Void) {
                    semaphore.wait()
                    body()
                    semaphore.signal()
                }
                mutex.withLock { _ in withPermit {} }
                withPermit { mutex.withLock { _ in } }
                #expect(reports.count == 1)
                array.withWriteLock { _ in mutex.withLock { _ in } }
                mutex.withLock { _ in array.append(2) }
                #expect(reports.count == 2)
                #expect(reports[0].sentence.contains("asks for mutex "))
                #expect(reports[1].sentence.contains("asks for rwlock "))
            }
        }
    }
    // contract: Diagnostics, GCD
    @Test(.ownThreads) func queuesTakenInOppositeOrderAreReported() async {
        await #expect(processExitsWith: .success) {
            synchronously {
                Diagnostics.enabled = .order
                let reports = keepReports()
                let accounts = GCD.serialQueue(label: "accounts")
                let orders = GCD.serialQueue(label: "orders")
                let mutex = PriorityInheritingMutex(0, name: "mutex")
                GCD.sync(on: accounts) { GCD.sync(on: orders) {} }
                #expect(reports.isEmpty)
                GCD.sync(on: orders) { GCD.sync(on: accounts) {} }
                #expect(reports.count == 1)
                let sentence =
                    /lock-order inversion: thread ".*" \(\d+\) asks for queue 0x[0-9a-f]+ "accounts" while it holds queue 0x[0-9a-f]+ "orders"; the opposite order was seen before/
                #expect(reports[0].sentence.wholeMatch(of: sentence) != nil, "\(reports[0].sentence)")
                // Work that arrived by `run` holds its queue; a concurrent queue is no lock.
                let ended = Event()
                let work: @Sendable () -> Int = { mutex.withLock { _ in 1 } }
                GCD.run(on: orders, deliverOn: .global(qos: .utility), work) { (_: Int) in ended.happen() }
                ended.wait()
                mutex.withLock { _ in GCD.sync(on: orders) {} }
                #expect(reports.count == 2)
                let wide = GCD.concurrentQueue(label: "wide")
                GCD.sync(on: wide) { GCD.sync(on: orders) {} }
                GCD.sync(on: orders) { GCD.sync(on: wide) {} }
                #expect(reports.count == 2)
            }
        }
    }
    // contract: Diagnostics, GCD
    /// Each helper's work takes a mutex of its own on the queue; then the queue is asked for inside that mutex.
    @Test(.ownThreads) func whatTheHelpersRunOnAQueueHoldsIt() async {
        await #expect(processExitsWith: .success) {
            Diagnostics.enabled = .order
            let reports = keepReports()
            let queue = GCD.serialQueue(label: "held")
            let runner = BoundedRunner(limit: 1, on: queue)
            let helpers: [(name: String, run: (@escaping @Sendable () -> Void) async -> Void)] = [
                ("await run", { work in try! await GCD.run(on: queue, work) }),
                (
                    "sync with a limit",
                    { work in synchronously { _ = GCD.sync(on: queue, timeout: .seconds(600), work) } }
                ),
                ("after", { work in _ = try! await GCD.after(.zero, on: queue, work).value }),
                ("a runner", { work in try! await runner.run(work) }),
                (
                    "a timer",
                    { work in
                        let timer = GCD.timer(after: .zero, on: queue) { _ in work() }
                        _ = try! await timer.finished()
                    }
                ),
                (
                    "the elements of a ring",
                    { work in
                        let ring = try! MPMCRing<Int>(capacity: 1)
                        let events = GCD.elements(of: ring, on: queue) { _ in work() }
                        _ = ring.tryPush(1)
                        ring.close()
                        try! await events.finished()
                    }
                ),
                (
                    "a group",
                    { work in
                        let group = DispatchGroup()
                        group.run(on: queue, work)
                        _ = try! await group.collect(Void.self)
                    }
                ),
            ]
            for (count, helper) in helpers.enumerated() {
                let mutex = PriorityInheritingMutex(0, name: helper.name)
                let lock: @Sendable () -> Void = { mutex.withLock { $0 += 1 } }
                await helper.run(lock)
                synchronously { mutex.withLock { _ in GCD.sync(on: queue) {} } }
                #expect(reports.count == count + 1, "\(helper.name)")
            }
        }
    }
    // contract: Diagnostics, FIFOSemaphore, PriorityInheritingMutex, ReadWriteLock
    @Test(.ownThreads, arguments: [false, true]) func aPermitThatWasHandedOverIsHeld(trying: Bool) async {
        await #expect(processExitsWith: .success) { [trying] in
            synchronously {
                Diagnostics.enabled = .order
                let reports = keepReports()
                let semaphore = FIFOSemaphore(permits: 1, name: "permit")
                let mutex = PriorityInheritingMutex(0, name: "mutex")
                semaphore.wait()
                let other = Thread {
                    semaphore.wait()
                    mutex.withLock { _ in }
                    semaphore.signal()
                    semaphore.wait()
                    semaphore.signal()
                }
                other.start()
                #expect(eventually { semaphore.value == -1 })
                if trying {
                    #expect(semaphore.trySignal())
                } else {
                    semaphore.signal()
                }
                #expect(eventually { other.isFinished })
                mutex.withLock { _ in
                    semaphore.wait()
                    semaphore.signal()
                }
                #expect(reports.count == 1)
            }
        }
    }
    // contract: Diagnostics, FIFOSemaphore
    @Test(.ownThreads) func aPermitThatWasHandedOverWhileDiagnosisWasOffIsNotHeld() async {
        await #expect(processExitsWith: .success) {
            synchronously {
                Diagnostics.enabled = .order
                let reports = keepReports()
                let semaphore = FIFOSemaphore(permits: 1)
                semaphore.wait()
                semaphore.signal()
                semaphore.wait()
                let other = Thread {
                    semaphore.wait()
                    #expect(eventually { semaphore.value == -1 })
                    semaphore.signal()
                }
                other.start()
                #expect(eventually { semaphore.value == -1 })
                Diagnostics.enabled = []
                semaphore.signal()
                Diagnostics.enabled = .order
                semaphore.wait()
                #expect(reports.isEmpty, "\(reports.first?.text ?? "")")
            }
        }
    }
    // contract: Diagnostics
    @Test(.ownThreads) func aHandlerIsReleasedWithTheNextOneAndMayThenSetAnother() async {
        await #expect(processExitsWith: .success) {
            synchronously {
                final class Capture: Sendable {
                    let end: @Sendable () -> Void
                    init(_ end: @escaping @Sendable () -> Void) { self.end = end }
                    deinit { end() }
                }
                Diagnostics.enabled = .order
                let seen = SafeArray<String>()
                func set(_ end: @escaping @Sendable () -> Void) {
                    let capture = Capture(end)
                    Diagnostics.onReport { _ in withExtendedLifetime(capture) { seen.append("first") } }
                }
                set { Diagnostics.onReport { _ in seen.append("second") } }
                Diagnostics.onReport(nil)
                let one = PriorityInheritingMutex(0, name: "one")
                let other = PriorityInheritingMutex(0, name: "other")
                one.withLock { _ in other.withLock { _ in } }
                other.withLock { _ in one.withLock { _ in } }
                #expect(seen.snapshot == ["second"])
                set { seen.append("gone") }
                Diagnostics.onReport(nil)
                #expect(seen.snapshot == ["second", "gone"])
            }
        }
    }

    // one thread:  no handler, handler, no handler, ...
    // the other:   report, report, ...          each goes to the handler, or is printed
    // contract: Diagnostics
    @Test(.ownThreads) func noReportIsLostBesideAHandlerThatIsSetAndTakenAway() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            DiagnosticsOrderTests.reportBesideSettingHandlers(rounds: 100)
        }
        let report = try #require(result).report
        let printed = report.components(separatedBy: "interlock: lock-order inversion: ").count - 1
        #expect(report.hasSuffix("\n\(printed) are left\n"))
    }

    private static func reportBesideSettingHandlers(rounds: Int) {
        Diagnostics.enabled = .order
        let (seen, done) = (Counter(), Counter())
        let setter = TestThread {
            while done.value == 0 {
                Diagnostics.onReport(nil)
                Diagnostics.onReport { _ in seen.increment() }
            }
        }
        for _ in 0..<rounds {
            let one = PriorityInheritingMutex(0)
            let other = PriorityInheritingMutex(0)
            one.withLock { _ in other.withLock { _ in } }
            other.withLock { _ in one.withLock { _ in } }
        }
        done.increment()
        setter.join()
        FileHandle.standardError.write(Data("\n\(rounds - seen.value) are left\n".utf8))
    }
    // contract: Diagnostics, FIFOSemaphore, PriorityInheritingMutex, ReadWriteLock
    @Test(.ownThreads) func correctProgramsAreSilent() async {
        await #expect(processExitsWith: .success) {
            Diagnostics.enabled = .order
            let reports = keepReports()
            let array = SafeArray<Int>()
            let dictionary = SafeDictionary<Int, Int>()
            let cache = SingleFlightCache<Int, Int>()
            let ring = try MPMCRing<Int>(capacity: 8)
            let semaphore = FIFOSemaphore(permits: 3)
            await withTaskGroup(of: Void.self) { group in
                for task in 0..<8 {
                    group.addTask {
                        for round in 0..<200 {
                            array.append(round)
                            dictionary[task] = array.count
                            _ = try? await cache.value(forKey: round % 10, orCompute: { round })
                            try? await semaphore.withPermit {
                                array.withReadLock { _ in _ = dictionary[task] }
                            }
                            _ = await ring.push(round)
                            _ = ring.tryPop()
                        }
                    }
                }
            }
            runOperations(on: OperationQueue(), reading: array)
            #expect(reports.isEmpty, "\(reports.first?.text ?? "")")
        }
    }
    // contract: Diagnostics
    @Test(.ownThreads) func theFirstReportEndsTheProcessWhereThatIsAskedFor() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            synchronously {
                Diagnostics.enabled = .order
                Diagnostics.abortsOnInversion(true)
                let one = PriorityInheritingMutex(0, name: "one")
                let other = PriorityInheritingMutex(0, name: "other")
                one.withLock { _ in other.withLock { _ in } }
                other.withLock { _ in one.withLock { _ in } }
            }
        }
        let report = try #require(result).report
        #expect(report.contains("interlock: lock-order inversion: thread "))
        #expect(report.contains("  Threads that do so at the same time wait for each other for ever.\n"))
    }

    @Test(.ownThreads) func oneLockIsWatchedByItself() async {
        await #expect(processExitsWith: .success) {
            try synchronously {
                let reports = keepReports()
                let one = ReadWriteLock(0)
                let other = PriorityInheritingMutex(0)
                let third = FIFOSemaphore(permits: 1)
                try one.diagnose(.order)
                try other.diagnose(.order)
                try third.diagnose([])
                #expect(Diagnostics.enabled == [])
                one.withWriteLock { _ in other.withLock { _ in } }
                other.withLock { _ in one.withReadLock { _ in } }
                #expect(reports.count == 1)
            }
        }
    }
}
