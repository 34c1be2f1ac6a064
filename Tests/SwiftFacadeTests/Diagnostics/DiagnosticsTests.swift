// SPDX-License-Identifier: Apache-2.0
//
// Diagnosis through Swift. It belongs to the whole process, so each test has one of its own.

import Foundation
import Testing

@testable import Interlock

/// The reports of this process, from here on.
private func keepReports() -> SafeArray<Diagnostics.Report> {
    let reports = SafeArray<Diagnostics.Report>()
    Diagnostics.onReport { reports.append($0) }
    return reports
}

/// A context that may block.
private func blocking(_ body: () throws -> Void) rethrows {
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
    @Test func twoLocksTakenInOppositeOrderAreReportedAtTheSecond() async {
        await #expect(processExitsWith: .success) {
            try blocking {
                Diagnostics.enable(.order)
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
                #expect(report.text.contains("Interlock.ReadWriteLock<"), "\(report.text)")
            }
        }
    }

    @Test func mutexesSemaphoresAndCollectionsAreSeen() async {
        await #expect(processExitsWith: .success) {
            blocking {
                Diagnostics.enable(.order)
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

    @Test func queuesTakenInOppositeOrderAreReported() async {
        await #expect(processExitsWith: .success) {
            blocking {
                Diagnostics.enable(.order)
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
                GCD.run(on: orders, deliverOn: GCD.utility, work) { (_: Int) in ended.happen() }
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

    @Test func aPermitThatWasHandedOverIsHeld() async {
        await #expect(processExitsWith: .success) {
            blocking {
                Diagnostics.enable(.order)
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
                semaphore.signal()
                #expect(eventually { other.isFinished })
                mutex.withLock { _ in
                    semaphore.wait()
                    semaphore.signal()
                }
                #expect(reports.count == 1)
            }
        }
    }

    @Test func correctProgramsAreSilent() async {
        await #expect(processExitsWith: .success) {
            Diagnostics.enable(.order)
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

    @Test func theFirstReportEndsTheProcessWhereThatIsAskedFor() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            blocking {
                Diagnostics.enable(.order)
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

    @Test func oneLockIsWatchedByItself() async {
        await #expect(processExitsWith: .success) {
            try blocking {
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

@Suite("Diagnostics, figures and hangs")
struct DiagnosticsFiguresTests {
    @Test func figuresAreCounted() async {
        await #expect(processExitsWith: .success) {
            try blocking {
                Diagnostics.enable(.contention)
                let array = SafeArray<Int>()
                for element in 0..<100 { array.append(element) }
                let lock = ReadWriteLock(0, name: "lock")
                for _ in 0..<10 { lock.withReadLock { _ in } }
                let figures = try #require(Diagnostics.figures().first { $0.name == "lock" })
                #expect(figures.kind == "rwlock")
                #expect(figures.acquisitions == 10)
                #expect(figures.hold.count == 10 && figures.wait.count == 0)
                #expect(figures.hold.histogram.reduce(0) { $0 + $1.count } == 10)
                #expect(figures.hold.quantile(1) <= figures.hold.longest)
                #expect(figures.hold.quantile(0.5) <= figures.hold.quantile(0.9))
                #expect(figures.ring == nil)
                #expect(Diagnostics.figures().contains { $0.acquisitions == 100 })
                Diagnostics.resetFigures()
                #expect(Diagnostics.figures().allSatisfy { $0.acquisitions == 0 })
            }
        }
    }

    @Test func collectionsAndRingsAreWatchedByThemselves() async {
        await #expect(processExitsWith: .success) {
            let array = SafeArray<Int>()
            let dictionary = SafeDictionary<Int, Int>()
            let set = SafeSet<Int>()
            let shared = try MPMCRing<Int>(capacity: 3, name: "shared")
            let split = try SPSCRing<Int>(capacity: 2, name: "split")
            #expect(shared.name == "shared" && split.name == "split")
            try array.diagnose(.contention)
            try dictionary.diagnose(.contention)
            try set.diagnose(.contention)
            try shared.diagnose(.contention)
            try split.diagnose(.contention)
            array.append(1)
            dictionary[1] = 1
            set.insert(1)
            let figures = Diagnostics.figures()
            #expect(figures.count == 5)
            #expect(figures.filter { $0.kind == "rwlock" && $0.acquisitions >= 1 }.count == 3)
            #expect(figures.first { $0.name == "shared" }?.ring?.capacity == 3)
            #expect(figures.first { $0.name == "split" }?.ring?.capacity == 2)
            try shared.diagnose([])
            #expect(Diagnostics.figures().count == 4)
        }
    }

    @Test func theJSONIsWellFormedAndHasItsKeys() async {
        await #expect(processExitsWith: .success) {
            try blocking {
                Diagnostics.enable(.all)
                let reports = keepReports()
                let one = ReadWriteLock(0, name: "one <\"&\u{7}ü>")
                let other = ReadWriteLock(0, name: "other")
                one.withWriteLock { _ in other.withWriteLock { _ in } }
                other.withWriteLock { _ in one.withWriteLock { _ in } }
                #expect(reports.count == 1)
                let ring = try MPMCRing<Int>(capacity: 3)
                #expect(ring.tryPush(1))
                let json = try one.withReadLock { _ throws(Diagnostics.Failure) in
                    try Diagnostics.report(as: .json)
                }
                let object = try JSONSerialization.jsonObject(with: Data(json.utf8))
                let report = try #require(object as? [String: Any])
                #expect(
                    Set(report.keys) == [
                        "interlock", "process", "watches", "threads", "objects", "cycles", "orders",
                        "timeline",
                        "objects_lost",
                    ]
                )
                #expect(report["watches"] as? [String] == ["order", "contention", "hang"])
                let objects = try #require(report["objects"] as? [[String: Any]])
                #expect(objects.contains { $0["name"] as? String == "one <\"&\u{7}ü>" })
                let ringFigures = objects.compactMap { $0["ring"] as? [String: Any] }
                #expect(ringFigures.first?["capacity"] as? Int == 3)
                let threads = try #require(report["threads"] as? [[String: Any]])
                let holds = threads.flatMap { $0["holds"] as? [[String: Any]] ?? [] }
                #expect(holds.first?["mode"] as? String == "read")
                #expect((report["orders"] as? [Any])?.count == 1)
            }
        }
    }

    @Test func aWaitBeyondTheLimitIsReported() async {
        await #expect(processExitsWith: .success) {
            try blocking {
                Diagnostics.enable(.hang)
                let reports = keepReports()
                try Diagnostics.reportWaits(longerThan: .milliseconds(50))
                let latch = Latch(count: 1)
                let waiter = Thread { latch.wait() }
                waiter.name = "waiter"
                waiter.start()
                #expect(eventually { !reports.isEmpty })
                #expect(reports[0].kind == .hang)
                #expect(reports[0].sentence == "a thread has waited for more than 50 ms")
                #expect(reports[0].text.contains("  waits for latch 0x"))
                latch.countDown()
                try Diagnostics.reportWaits(longerThan: nil)
            }
        }
    }

    @Test func operationsThatWaitForEachOtherAreNamedInTheirCircle() async {
        await #expect(processExitsWith: .success) {
            blocking {
                Diagnostics.enable(.hang)
                let started = Latch(count: 2)
                let second = SafeArray<AsyncOperation<Void>>()
                let first = AsyncOperation<Void> {
                    started.countDown()
                    started.wait()
                    _ = second[0].wait()
                }
                first.name = "first"
                second.append(
                    AsyncOperation<Void> {
                        started.countDown()
                        started.wait()
                        _ = first.wait()
                    }
                )
                second[0].name = "second"
                let threads = [Thread { first.start() }, Thread { second[0].start() }]
                threads.forEach { $0.start() }
                var text = ""
                #expect(
                    eventually {
                        text = (try? Diagnostics.report(as: .text)) ?? ""
                        return text.contains("circle 1: ")
                    }
                )
                #expect(text.contains(" waits for operation \"first\", held by "))
                #expect(text.contains(" waits for operation \"second\", held by "))
                #expect(text.contains("  works on operation \"first\"\n"))
                exit(EXIT_SUCCESS)  // they wait for ever
            }
        }
    }

    @Test func whatCannotBeHadIsThrown() async {
        await #expect(processExitsWith: .success) {
            blocking {
                #expect(throws: Diagnostics.Failure.signal(9)) { try Diagnostics.reportOnSignal(9) }
                #expect(throws: Diagnostics.Failure.writing(9)) { try Diagnostics.write(to: -1, as: .text) }
                #expect("\(Diagnostics.Failure.signal(9))" == "signal 9 cannot be used for reports")
            }
        }
    }
}
