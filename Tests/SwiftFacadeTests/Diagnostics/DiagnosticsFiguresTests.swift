// SPDX-License-Identifier: Apache-2.0
//
// Figures and reports of threads through Swift. Each test has a process of its own.

import Foundation
import Testing

import Interlock
// contract: Diagnostics
@Suite("Diagnostics, figures and hangs")
struct DiagnosticsFiguresTests {
    @Test(.ownThreads) func figuresAreCounted() async {
        await #expect(processExitsWith: .success) {
            try synchronously {
                Diagnostics.enabled = .contention
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

    @Test(.ownThreads) func collectionsAndRingsAreWatchedByThemselves() async {
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

    @Test(.ownThreads) func aHoldIsInItsBucketAndItsStackHasAddressesOnly() async {
        await #expect(processExitsWith: .success) {
            Diagnostics.enabled = .contention
            let lock = ReadWriteLock(0, name: "lock")
            lock.withWriteLock { $0 += 1 }
            let figures = try #require(Diagnostics.figures().first { $0.name == "lock" })
            let hold = figures.hold
            let bucket = try #require(hold.histogram.first)
            #expect(hold.histogram.count == 1 && bucket.count == 1)
            // Four limits in each power of two.
            var limit: Int64 = 4
            while .nanoseconds(limit) <= hold.longest {
                limit += 1 << (limit.bitWidth - limit.leadingZeroBitCount - 3)
            }
            #expect(bucket.limit == .nanoseconds(limit))
            #expect(hold.total == hold.longest)
            #expect(!figures.longestStack.isEmpty && !figures.longestStack.contains(0))
        }
    }

    @Test(.ownThreads) func waitsForRoomAndForElementsAreToldApart() async {
        await #expect(processExitsWith: .success) {
            try synchronously {
                let ring = try MPMCRing<Int>(capacity: 1)
                try ring.diagnose(.contention)
                func pops() throws { _ = try ring.pop(timeout: .microseconds(1)) }
                for _ in 0..<3 { try pops() }
                let pushed = ring.tryPush(1).isPushed
                #expect(pushed)
                _ = ring.push(2, timeout: .microseconds(1))
                let figures = try #require(Diagnostics.figures().first?.ring)
                #expect(figures.emptyWaits == 3 && figures.fullWaits == 1)
            }
        }
    }

    /// More than the first copy has room for.
    @Test(.ownThreads) func theFiguresAreOfAllWatchedObjects() async {
        await #expect(processExitsWith: .success) {
            Diagnostics.enabled = .contention
            let arrays = (0..<200).map { SafeArray([$0]) }
            for array in arrays { array.append(0) }
            #expect(Diagnostics.figures().count == 200)
        }
    }

    @Test(.ownThreads) func theJSONIsWellFormedAndHasItsKeys() async {
        await #expect(processExitsWith: .success) {
            try synchronously {
                Diagnostics.enabled = .all
                let reports = keepReports()
                let one = ReadWriteLock(0, name: "one <\"&\u{7}ü>")
                let other = ReadWriteLock(0, name: "other")
                one.withWriteLock { _ in other.withWriteLock { _ in } }
                other.withWriteLock { _ in one.withWriteLock { _ in } }
                #expect(reports.count == 1)
                let ring = try MPMCRing<Int>(capacity: 3)
                #expect(ring.tryPush(1).isPushed)
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

    @Test(.ownThreads) func aQuantileIsOfAnyFraction() async {
        await #expect(processExitsWith: .success) {
            Diagnostics.enabled = .contention
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

    @Test(.ownThreads) func aWaitBeyondTheLimitIsReported() async {
        await #expect(processExitsWith: .success) {
            try synchronously {
                Diagnostics.enabled = .hang
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

    @Test(.ownThreads) func aLimitOfZeroIsNotNone() async {
        await #expect(processExitsWith: .success) {
            try synchronously {
                Diagnostics.enabled = .hang
                let reports = Counter()
                Diagnostics.onReport { _ in reports.increment() }
                try Diagnostics.reportWaits(longerThan: .zero)
                let latch = Latch(count: 1)
                Thread { latch.wait() }.start()
                #expect(eventually { reports.value > 0 })
                latch.countDown()
                try Diagnostics.reportWaits(longerThan: nil)
            }
        }
    }

    /// waiter    waits for the group    waits for the operation    has ended both
    /// report                shown                       shown              nothing
    @Test(.ownThreads) func waitsForGroupsAndOperationsAreShownUntilTheyEnd() async {
        await #expect(processExitsWith: .success) {
            synchronously {
                Diagnostics.enabled = .hang
                let (goOn, ended) = ([Handshake(), Handshake(), Handshake()], Handshake())
                let group = WorkerGroup(on: .blocking)
                let isAccepted = group.submit { goOn[0].take() }
                #expect(isAccepted)
                let operation = AsyncOperation<Void>(name: "awaited") { goOn[1].take() }
                Thread { operation.start() }.start()
                Thread {
                    group.wait()
                    _ = operation.wait()
                    ended.give()
                    goOn[2].take()
                }.start()
                func isShown(_ wait: String) -> Bool? {
                    (try? Diagnostics.report(as: .text))?.contains("  waits for \(wait)")
                }
                #expect(eventually { isShown("a group of jobs") == true })
                goOn[0].give()
                #expect(eventually { isShown("operation \"awaited\"") == true })
                #expect(isShown("a group of jobs") == false)
                goOn[1].give()
                ended.take()
                #expect(isShown("operation") == false)
                goOn[2].give()
            }
        }
    }

    @Test(.ownThreads) func operationsThatWaitForEachOtherAreNamedInTheirCycle() async {
        await #expect(processExitsWith: .success) {
            synchronously {
                Diagnostics.enabled = .hang
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
                        return text.contains("cycle 1: ")
                    }
                )
                #expect(text.contains(" waits for operation \"first\", held by "))
                #expect(text.contains(" waits for operation \"second\", held by "))
                #expect(text.contains("  works on operation \"first\"\n"))
                exit(EXIT_SUCCESS)  // they wait for ever
            }
        }
    }

    /// C would end the label at the zero, without the quote; what is too long ends between two characters.
    @Test(.ownThreads) func aNameOfAnyCharactersIsInTheReport() async {
        await #expect(processExitsWith: .success) {
            synchronously {
                Diagnostics.enabled = .hang
                for (name, shown) in [
                    ("a\0b", "operation \"a␀b\"\n"),
                    (String(repeating: "ä", count: 40), "\"" + String(repeating: "ä", count: 26) + "\n"),
                    (
                        "n" + String(repeating: "ä", count: 40),
                        "\"n" + String(repeating: "ä", count: 25) + "\n"
                    ),
                ] {
                    let report = SafeArray<String>()
                    let operation = AsyncOperation<Void> {
                        report.append((try? Diagnostics.report(as: .text)) ?? "")
                    }
                    operation.name = name
                    operation.start()
                    operation.waitUntilFinished()
                    #expect(report.first?.contains(shown) == true, "\(report.first ?? "none")")
                }
            }
        }
    }

    @Test(.ownThreads) func whatCannotBeHadIsThrown() async {
        await #expect(processExitsWith: .success) {
            synchronously {
                #expect(throws: Diagnostics.Failure.signal(9)) { try Diagnostics.reportOnSignal(9) }
                #expect(throws: Diagnostics.Failure.writing(9)) { try Diagnostics.write(to: -1, as: .text) }
                #expect("\(Diagnostics.Failure.signal(9))" == "signal 9 cannot be used for reports")
            }
        }
    }
}
