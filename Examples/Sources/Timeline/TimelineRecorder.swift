// SPDX-License-Identifier: Apache-2.0
//
// Records the steps of each thread with their times. It measures both pipelines, so it uses neither: an array under a
// lock. An NSLock: ThreadSanitizer does not see the hand-over of a contended Mutex.

import Foundation

/// Collects the steps of threads. Any thread may measure at any time.
// Unchecked: `log` is touched only while `lock` is held.
package final class TimelineRecorder: @unchecked Sendable {
    private struct Log {
        var spans: [Timeline.Span] = []
        var threads: [ThreadIdentity] = []
    }

    private let start = ContinuousClock.now
    private let lock = NSLock()
    private var log = Log()

    package init() {}

    /// Runs `body` on the calling thread and records its begin and end, also when it throws.
    package func measure<Output, Failure: Error>(
        _ step: String,
        of item: String,
        _ body: () throws(Failure) -> Output
    ) throws(Failure) -> Output {
        let begin = start.duration(to: .now)
        defer { note(step, of: item, begin: begin, end: start.duration(to: .now)) }
        return try body()
    }

    private func note(_ step: String, of item: String, begin: Duration, end: Duration) {
        let identity = ThreadIdentity.current
        lock.withLock {
            let thread = log.threads.firstIndex(of: identity) ?? log.threads.count
            if thread == log.threads.count { log.threads.append(identity) }
            log.spans.append(.init(step: step, item: item, thread: thread, begin: begin, end: end))
        }
    }

    /// Everything measured so far.
    package func timeline() -> Timeline {
        lock.withLock { Timeline(spans: log.spans) }
    }
}

/// What was recorded: a value.
package struct Timeline: Sendable {
    /// One step of one thread; times count from the recorder's start.
    package struct Span: Equatable, Sendable {
        package let step: String
        package let item: String
        /// Threads are numbered from 0 in the order in which they finished their first step.
        package let thread: Int
        package let begin: Duration
        package let end: Duration

        package init(step: String, item: String, thread: Int, begin: Duration, end: Duration) {
            self.step = step
            self.item = item
            self.thread = thread
            self.begin = begin
            self.end = end
        }
    }

    package let spans: [Span]

    package init(spans: [Span]) {
        self.spans = spans
    }

    package var threadCount: Int {
        (spans.map(\.thread).max() ?? -1) + 1
    }

    /// The end of the last step.
    package var end: Duration {
        spans.map(\.end).max() ?? .zero
    }

    /// The most steps of this name in progress together.
    package func peak(of step: String) -> Int {
        let changes = spans.filter { $0.step == step }.flatMap { [($0.begin, 1), ($0.end, -1)] }
        // At the same instant an end comes before a begin.
        let ordered = changes.sorted { $0 < $1 }
        var now = 0
        return ordered.reduce(0) { peak, change in
            now += change.1
            return max(peak, now)
        }
    }

    /// The time that a thread spent in steps.
    package func busy(thread: Int) -> Duration {
        spans.filter { $0.thread == thread }.reduce(.zero) { $0 + ($1.end - $1.begin) }
    }
}
