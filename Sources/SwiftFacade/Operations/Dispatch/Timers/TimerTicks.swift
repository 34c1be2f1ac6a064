// SPDX-License-Identifier: Apache-2.0
//
// The firings of a timer as a sequence. Each iterator has a timer of its own, which ends with it.

import Dispatch

/// The firings of a repeating timer, for `for await`; made by ``GCD/ticks(every:after:leeway:)``.
///
/// ```swift
/// for await tick in GCD.ticks(every: .seconds(1)) { crawl(url) }
/// ```
///
/// Each iterator starts a timer of its own when it is made. Moments that pass while the loop's body runs are counted by
/// the next ``TimerTick``, in its ``TimerTick/count``: no more than one waits. No thread is held by the wait. The loop
/// ends when its task is cancelled; the timer has ended then. It ends with the iterator, too.
public struct TimerTicks: AsyncSequence, Sendable {
    let interval: Duration
    let delay: Duration
    let leeway: Duration
    let port: any TimerPort

    /// Starts a timer.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// A running timer, for one task.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let mailbox: EventMailbox<TimerTick>
        /// Dropped with the iterator, which ends it.
        private let timer: QueueTimer

        fileprivate init(_ ticks: TimerTicks) {
            let mailbox = EventMailbox<TimerTick>()
            let (delay, interval, leeway) = (ticks.delay, ticks.interval, ticks.leeway)
            let schedule = TimerSchedule(now: ticks.port.now, delay: delay, every: interval, leeway: leeway)
            self.mailbox = mailbox
            let core = TimerCore(schedule, on: .global(), of: ticks.port, atEnd: mailbox.end) { tick in
                mailbox.put { waiting in
                    var merged = tick
                    if let earlier = waiting.popLast() { merged.count += earlier.count }
                    waiting.append(merged)
                }
            }
            timer = QueueTimer(core)
        }

        /// The next firing; nil once the task is cancelled. Suspends the task. Not before its moment.
        public func next() async -> TimerTick? { await next(isolation: nil) }

        /// The next firing; nil once the task is cancelled. Suspends the task. Not before its moment. Runs in the
        /// isolation of the caller.
        public func next(isolation actor: isolated (any Actor)?) async -> TimerTick? {
            await mailbox.next(arm: {}, stop: { [timer] in timer.cancel() })
        }
    }
}

extension GCD {
    /// The firings of a timer, as a sequence. The parameters, and misuse, are those of
    /// ``timer(every:after:leeway:on:_:)``.
    public static func ticks(
        every interval: Duration,
        after delay: Duration? = nil,
        leeway: Duration = .zero
    ) -> TimerTicks {
        checkTimer("GCD.ticks", every: interval, leeway: leeway)
        let (delay, port) = (delay ?? interval, DispatchTimers.shared)
        return TimerTicks(interval: interval, delay: delay, leeway: leeway, port: port)
    }
}
