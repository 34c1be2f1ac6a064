// SPDX-License-Identifier: Apache-2.0
//
// The bridge against the test kit's backend. Diagnosis belongs to the process: one test at a time.

import Interlock
import Metrics
import MetricsTestKit
import Testing

@testable import InterlockMetrics

@Suite(.serialized)
struct ContentionMetricsTests {
    private let backend = TestMetrics()

    init() {
        Diagnostics.enabled = .contention
        Diagnostics.resetFigures()
    }

    private func counted(_ label: String, _ name: String, kind: String = "rwlock") throws -> Int64 {
        try backend.expectCounter(label, [("object", name), ("kind", kind)]).totalValue
    }

    @Test func aReportCountsWhatIsNew() throws {
        let metrics = ContentionMetrics(factory: backend)
        let lock = ReadWriteLock(0, name: "orders")
        for _ in 0..<3 { lock.withReadLock { _ in } }
        metrics.report()
        #expect(try counted("interlock_acquisitions_total", "orders") == 3)
        #expect(try counted("interlock_waits_total", "orders") == 0)
        metrics.report()
        #expect(try counted("interlock_acquisitions_total", "orders") == 3)
        lock.withWriteLock { $0 += 1 }
        metrics.report()
        #expect(try counted("interlock_acquisitions_total", "orders") == 4)
        let gauge = try backend.expectGauge(
            "interlock_longest_hold_seconds",
            [("object", "orders"), ("kind", "rwlock")]
        )
        #expect(gauge.lastValue! > 0 && gauge.lastValue! < 60)
    }

    @Test func figuresThatWereResetBeginAnew() throws {
        let metrics = ContentionMetrics(factory: backend)
        let lock = ReadWriteLock(0, name: "reset")
        for _ in 0..<5 { lock.withReadLock { _ in } }
        metrics.report()
        Diagnostics.resetFigures()
        lock.withReadLock { _ in }
        metrics.report()
        #expect(try counted("interlock_acquisitions_total", "reset") == 6)
    }

    @Test func aRingsWaitsAreCounted() throws {
        let metrics = ContentionMetrics(factory: backend)
        let ring = try MPMCRing<Int>(capacity: 1)
        _ = try popWithinAMillisecond(ring)
        let figures = try #require(Diagnostics.figures().first { $0.ring != nil })
        metrics.report()
        let name = "0x" + String(figures.address, radix: 16)
        #expect(try counted("interlock_ring_empty_waits_total", name, kind: "mpmc") == 1)
        #expect(try counted("interlock_ring_full_waits_total", name, kind: "mpmc") == 0)
        #expect(!ring.isClosed)
    }

    private func popWithinAMillisecond(_ ring: MPMCRing<Int>) throws -> Bool {
        if case .empty = try ring.pop(timeout: .milliseconds(1)) { return true }
        return false
    }

    @Test func runningReportsUntilCancelled() async throws {
        let metrics = ContentionMetrics(factory: backend)
        let lock = ReadWriteLock(0, name: "running")
        lock.withReadLock { _ in }
        let task = Task { try await metrics.run(every: .seconds(3600)) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try counted("interlock_acquisitions_total", "running") == 1)
    }
}
