// SPDX-License-Identifier: Apache-2.0
//
// Feeds swift-metrics with the contention figures. Figures are totals since the beginning, counters take what is new:
// so the last totals of each object are kept.

import Interlock
import Metrics

/// Reports the contention figures of all watched objects to a metrics backend.
///
/// ```swift
/// Diagnostics.enabled = .contention
/// let metrics = ContentionMetrics()
/// try await metrics.run(every: .seconds(10))
/// ```
///
/// Each object has two dimensions, `object` (its name, or else its address) and `kind`. Name your locks: objects of one
/// name and kind share a counter.
///
/// | label | what |
/// |---|---|
/// | `interlock_acquisitions_total` | counter: how often it was taken |
/// | `interlock_waits_total` | counter: how often a thread met a holder, or gave up |
/// | `interlock_wait_seconds_total`, `interlock_hold_seconds_total` | counters |
/// | `interlock_longest_wait_seconds`, `interlock_longest_hold_seconds` | gauges: since the figures began |
/// | `interlock_ring_full_waits_total`, `interlock_ring_empty_waits_total` | counters, of rings |
///
/// Thread-safe. The gauges of objects that have ended stay as they were last.
public final class ContentionMetrics: Sendable {
    fileprivate struct Totals {
        var acquisitions: UInt64 = 0
        var waits: UInt64 = 0
        var wait = Duration.zero
        var hold = Duration.zero
        var full: UInt64 = 0
        var empty: UInt64 = 0
    }

    private let factory: any MetricsFactory
    /// By address: an object keeps its own while it lives.
    private let last = ReadWriteLock<[UInt: Totals]>([:])

    /// Reports to `factory`, by default that of the process.
    public init(factory: any MetricsFactory = MetricsSystem.factory) {
        self.factory = factory
    }

    /// Reports once what is new. Blocks briefly.
    public func report() {
        let figures = Diagnostics.figures()
        last.withWriteLock { last in
            var next: [UInt: Totals] = [:]
            for object in figures {
                let now = Totals(object)
                report(object, since: last[object.address] ?? Totals(), now)
                next[object.address] = now
            }
            last = next
        }
    }

    /// Reports every `interval` until the task is cancelled, and a last time then.
    public func run(every interval: Duration) async throws {
        defer { report() }
        while true {
            report()
            try await Task.sleep(for: interval)
        }
    }

    private func report(_ object: Diagnostics.ObjectFigures, since last: Totals, _ now: Totals) {
        // Another object at the address, or figures that were reset, begin anew.
        let last = now.acquisitions >= last.acquisitions && now.waits >= last.waits ? last : Totals()
        let name = object.name.isEmpty ? "0x" + String(object.address, radix: 16) : object.name
        let dimensions = [("object", name), ("kind", object.kind)]
        func count(_ label: String, _ amount: UInt64) {
            Counter(label: label, dimensions: dimensions, factory: factory)
                .increment(by: Int64(clamping: amount))
        }
        func add(_ label: String, _ duration: Duration) {
            FloatingPointCounter(label: label, dimensions: dimensions, factory: factory)
                .increment(by: seconds(max(duration, .zero)))
        }
        func set(_ label: String, _ duration: Duration) {
            Gauge(label: label, dimensions: dimensions, factory: factory).record(seconds(duration))
        }
        count("interlock_acquisitions_total", now.acquisitions - last.acquisitions)
        count("interlock_waits_total", now.waits - last.waits)
        add("interlock_wait_seconds_total", now.wait - last.wait)
        add("interlock_hold_seconds_total", now.hold - last.hold)
        set("interlock_longest_wait_seconds", object.wait.longest)
        set("interlock_longest_hold_seconds", object.hold.longest)
        guard object.ring != nil else { return }
        count("interlock_ring_full_waits_total", now.full - min(last.full, now.full))
        count("interlock_ring_empty_waits_total", now.empty - min(last.empty, now.empty))
    }
}

extension ContentionMetrics.Totals {
    fileprivate init(_ object: Diagnostics.ObjectFigures) {
        acquisitions = object.acquisitions
        waits = object.wait.count
        wait = object.wait.total
        hold = object.hold.total
        full = object.ring?.fullWaits ?? 0
        empty = object.ring?.emptyWaits ?? 0
    }
}

private func seconds(_ duration: Duration) -> Double {
    duration / .seconds(1)
}
