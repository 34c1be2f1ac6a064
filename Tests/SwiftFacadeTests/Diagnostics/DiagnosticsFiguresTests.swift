// SPDX-License-Identifier: Apache-2.0
//
// Figures and reports of threads through Swift. Each test has a process of its own.

import Foundation
import Testing

@testable import Interlock

@Suite("Diagnostics, figures and hangs")
struct DiagnosticsFiguresTests {
    @Test func figuresAreCounted() async {
        await #expect(processExitsWith: .success) {
            try synchronously {
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
            try synchronously {
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
                        "objects_lost", "searches_ended",
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

    @Test func aQuantileIsOfAnyFraction() async {
        await #expect(processExitsWith: .success) {
            Diagnostics.enable(.contention)
            let lock = ReadWriteLock(0, name: "lock")
            lock.withReadLock { _ in }
            let figures = try #require(Diagnostics.figures().first { $0.name == "lock" })
            let hold = figures.hold
            #expect(hold.longest > .zero)
            for high: Double in [1, 1.5, .infinity] { #expect(hold.quantile(high) == hold.longest) }
            for low: Double in [0, -1, -Double.infinity, .nan] {
                #expect(hold.quantile(low) == hold.quantile(0))
                #expect(figures.wait.quantile(low) == .zero)
            }
        }
    }

    @Test func aWaitBeyondTheLimitIsReported() async {
        await #expect(processExitsWith: .success) {
            try synchronously {
                Diagnostics.enable(.hang)
                let reports = SafeArray<Diagnostics.Report>()
                let threads = SafeArray<String>()
                Diagnostics.onReport {
                    threads.append(threadName())
                    reports.append($0)
                }
                try Diagnostics.reportWaits(longerThan: .milliseconds(50))
                let latch = Latch(count: 1)
                let waiter = Thread { latch.wait() }
                waiter.name = "waiter"
                waiter.start()
                #expect(eventually { !reports.isEmpty })
                #expect(reports[0].kind == .hang)
                #expect(threads[0] == "interlock-watch", "the waiter cannot")
                #expect(reports[0].sentence == "a thread has waited for more than 50 ms")
                #expect(reports[0].text.contains("  waits for latch 0x"))
                latch.countDown()
                try Diagnostics.reportWaits(longerThan: nil)
            }
        }
    }

    @Test func operationsThatWaitForEachOtherAreNamedInTheirCircle() async {
        await #expect(processExitsWith: .success) {
            synchronously {
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
            synchronously {
                #expect(throws: Diagnostics.Failure.signal(9)) { try Diagnostics.reportOnSignal(9) }
                #expect(throws: Diagnostics.Failure.writing(9)) { try Diagnostics.write(to: -1, as: .text) }
                #expect("\(Diagnostics.Failure.signal(9))" == "signal 9 cannot be used for reports")
            }
        }
    }
}
