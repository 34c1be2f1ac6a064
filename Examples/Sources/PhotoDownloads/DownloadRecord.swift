// SPDX-License-Identifier: Apache-2.0
//
// What a download took and how it ended, recorded while it runs.

import Interlock

/// How the download of a picture ended.
package enum DownloadEnding: Sendable, Equatable, CustomStringConvertible {
    case delivered
    case givenUp(String)
    case unwanted

    package var description: String {
        switch self {
        case .delivered: "delivered"
        case .givenUp(let reason): "given up: \(reason)"
        case .unwanted: "no longer wanted"
        }
    }
}

/// The download of a picture, after its end.
package struct DownloadRecord: Sendable, Equatable {
    package let name: String
    /// How often the picture was asked for.
    package let attempts: Int
    /// From the first request to the end; nil without a request.
    package let period: Range<ContinuousClock.Instant>?
    package let ending: DownloadEnding

    /// The time of all attempts, with the pauses between them.
    package var delay: Duration { period.map { $0.lowerBound.duration(to: $0.upperBound) } ?? .zero }
}

/// Records a download. Any thread may call it.
final class DownloadLog: Sendable {
    private struct Times {
        var attempts = 0
        var begin: ContinuousClock.Instant?
        var end: (time: ContinuousClock.Instant, ending: DownloadEnding)?
    }

    private let times = ReadWriteLock(Times())
    private let hasEnded = Latch(count: 1)

    /// An attempt that begins beside a cancellation may come after the end, and then does not count.
    func beginAttempt() {
        times.withWriteLock { times in
            guard times.end == nil else { return }
            times.attempts += 1
            if times.begin == nil { times.begin = .now }
        }
    }

    /// Called once.
    func end(_ ending: DownloadEnding) {
        times.withWriteLock { $0.end = (.now, ending) }
        hasEnded.countDown()
    }

    /// Suspends until the end: the pipeline may have gone on with the picture before `end` is called.
    func record(of name: String) async throws -> DownloadRecord? {
        try await hasEnded.wait()
        return times.withReadLock { times in
            times.end.map { end in
                DownloadRecord(
                    name: name,
                    attempts: times.attempts,
                    period: times.begin.map { $0..<end.time },
                    ending: end.ending
                )
            }
        }
    }
}
