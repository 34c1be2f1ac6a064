// SPDX-License-Identifier: Apache-2.0
//
// Contention figures as Swift values.

import CInterlock

extension Diagnostics {
    /// How long waits, or holds, took.
    public struct Times: Sendable {
        /// How many there were.
        public let count: UInt64
        /// All together.
        public let total: Duration
        /// The longest.
        public let longest: Duration
        /// Log-linear buckets that are not empty: times below `limit` and not below the limit before, four limits in
        /// each power of two nanoseconds.
        public let histogram: [(limit: Duration, count: UInt32)]

        /// A time that `fraction` of all do not exceed, as far as the buckets tell; zero where there is none. A
        /// fraction above 1 counts as 1; one below 0, or that is no number, as 0.
        ///
        /// - Complexity: O(buckets).
        public func quantile(_ fraction: Double) -> Duration {
            let share = fraction > 0 ? min(fraction, 1) : 0
            let rank = UInt64((Double(count) * share).rounded(.up))
            var seen: UInt64 = 0
            for (limit, count) in histogram {
                seen += UInt64(count)
                if seen >= rank { return min(limit, longest) }
            }
            return longest
        }
    }

    /// What a ring's waits and samples say.
    public struct RingFigures: Sendable {
        /// The ring's capacity.
        public let capacity: Int
        /// Waits that found it full, and empty.
        public let fullWaits: UInt64, emptyWaits: UInt64
        /// Samples of its depth, ten a second; those that found it full, and empty; and the deepest.
        public let samples: UInt64, fullSamples: UInt64, emptySamples: UInt64, deepest: UInt64
    }

    /// The figures of one watched object.
    public struct ObjectFigures: Sendable {
        /// "rwlock", "mutex", "semaphore" …
        public let kind: String
        /// Its name, or empty.
        public let name: String
        /// Its address in reports.
        public let address: UInt
        /// How often it was taken.
        public let acquisitions: UInt64
        /// The waits of threads that met a holder, and of those that gave up.
        public let wait: Times
        /// The holds.
        public let hold: Times
        /// The name of the thread that held it longest, and its id; empty and 0 where there is none.
        public let longestHolder: (name: String, id: UInt32)
        /// The stack at the end of that hold: return addresses, innermost first.
        public let longestStack: [UInt]
        /// What is known of a ring; `nil` for other objects.
        public let ring: RingFigures?
    }

    /// The figures of all watched objects, those with the longest waits first. Blocks briefly.
    ///
    /// - Complexity: O(*n* log *n*) in the watched objects.
    public static func figures() -> [ObjectFigures] {
        var capacity = 64
        while true {
            let copies = [ilk_figures](unsafeUninitializedCapacity: capacity) { buffer, count in
                let watched = ilk_figures_snapshot(buffer.baseAddress, buffer.count)
                count = min(watched, buffer.count)
                capacity = watched
            }
            if copies.count >= capacity { return copies.map(ObjectFigures.init) }
            capacity += 16
        }
    }

    /// Sets all figures to zero. Blocks briefly.
    public static func resetFigures() {
        ilk_figures_reset()
    }
}

extension Diagnostics.Times {
    fileprivate init(_ times: ilk_times) {
        count = times.count
        total = .nanoseconds(Int64(clamping: times.total_ns))
        longest = .nanoseconds(Int64(clamping: times.longest_ns))
        histogram = withUnsafeBytes(of: times.buckets) { bytes in
            bytes.bindMemory(to: UInt32.self).enumerated().compactMap { bucket, count in
                guard count > 0 else { return nil }
                return (.nanoseconds(Int64(clamping: ilk_histogram_limit_ns(UInt32(bucket)))), count)
            }
        }
    }
}

extension Diagnostics.ObjectFigures {
    fileprivate init(_ figures: ilk_figures) {
        kind = String(cString: ilk_object_kind_name(figures.kind))
        name = text(of: figures.name)
        address = UInt(bitPattern: figures.object)
        acquisitions = figures.acquisitions
        wait = Diagnostics.Times(figures.wait)
        hold = Diagnostics.Times(figures.hold)
        longestHolder = (text(of: figures.longest_name), figures.longest_holder)
        longestStack = withUnsafeBytes(of: figures.longest_stack) { bytes in
            Array(bytes.bindMemory(to: UInt.self).prefix(Int(figures.longest_depth)))
        }
        ring =
            figures.capacity == 0
            ? nil
            : Diagnostics.RingFigures(
                capacity: Int(figures.capacity),
                fullWaits: figures.full_waits,
                emptyWaits: figures.empty_waits,
                samples: figures.samples,
                fullSamples: figures.full_samples,
                emptySamples: figures.empty_samples,
                deepest: figures.deepest
            )
    }
}

/// The text in an array of C characters, which ends in a zero.
private func text<Characters>(of characters: Characters) -> String {
    withUnsafeBytes(of: characters) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
}
