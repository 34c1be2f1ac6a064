// SPDX-License-Identifier: Apache-2.0
//
// Work that starts after a delay and can be called off. `dispatch_after` cannot be cancelled, and a
// cancelled `DispatchWorkItem` keeps its captures until its deadline; here the work sits in a box that
// whoever comes first empties, the timer or `cancel()`. What libdispatch keeps until the deadline is
// that empty box.

import Dispatch

/// Work scheduled by ``GCD/after(_:on:_:)``.
///
/// A handle only: dropping it neither cancels the work nor keeps it. All of it may be used from any
/// thread.
public final class DelayedTask: Sendable {
    private let work: PendingWork<Void>
    private let outcome = VisibleMutex(Outcome())

    private struct Outcome {
        var ran: Bool?
        /// Tasks in `finished()`; nil tells one of them that it was cancelled itself.
        var waiting: [Rendezvous<Bool?>] = []
    }

    /// The earliest moment the work starts, on the monotonic clock.
    public let deadline: DispatchTime

    init(deadline: DispatchTime, _ work: @escaping @Sendable () -> Void) {
        self.deadline = deadline
        self.work = PendingWork(work)
    }

    /// Prevents the work if it has not begun, and frees it with its captures before returning.
    ///
    /// May be called from any thread, any number of times; never waits for work that has begun.
    ///
    /// - Returns: whether this call prevented the run: false where the work has begun, has ended, or
    ///   had been cancelled before.
    @discardableResult
    public func cancel() -> Bool {
        guard work.take() != nil else { return false }
        settle(ran: false)
        return true
    }

    /// Waits until the work has run or was cancelled; answers whether it ran.
    ///
    /// Suspends instead of blocking. If the awaiting task is cancelled it throws at once; the delayed
    /// work itself is not touched.
    ///
    /// - Returns: true once the work has returned, false if it was cancelled before it began.
    public func finished() async throws(CancellationError) -> Bool {
        let arrival = Rendezvous<Bool?>()
        let ran: Bool? = outcome.withLock { outcome in
            if outcome.ran == nil { outcome.waiting.append(arrival) }
            return outcome.ran
        }
        if let ran { return ran }
        let settled = await withTaskCancellationHandler {
            await arrival.value()
        } onCancel: {
            arrival.settle(nil)
        }
        guard let settled else {
            outcome.withLock { $0.waiting.removeAll { $0 === arrival } }
            throw CancellationError()
        }
        return settled
    }

    /// The timer's side.
    func fire() {
        guard let work = work.take() else { return }
        try? work()
        settle(ran: true)
    }

    private func settle(ran: Bool) {
        let waiting = outcome.withLock { outcome in
            outcome.ran = ran
            defer { outcome.waiting = [] }
            return outcome.waiting
        }
        for arrival in waiting { arrival.settle(ran) }
    }
}

extension GCD {
    /// Runs `work` on `queue`, no earlier than `delay` from now.
    ///
    /// May be called from any thread; returns at once. The delay is measured on the monotonic clock, so
    /// setting the time of day changes nothing; a delay of zero or less means as soon as possible.
    ///
    /// - Parameters:
    ///   - delay: the time to wait at least.
    ///   - queue: where the work runs, by default the main queue, which needs a program that drains it.
    ///   - work: runs once, unless cancelled before.
    /// - Returns: the handle that cancels it.
    @discardableResult
    public static func after(
        _ delay: Duration,
        on queue: DispatchQueue = main,
        _ work: @escaping @Sendable () -> Void
    ) -> DelayedTask {
        _ = QueueTag.of(queue)
        let task = DelayedTask(deadline: .after(delay), work)
        arm(task, on: queue)
        return task
    }

    /// A timer that fires early is armed again: the clock that decides is the one the deadline is on.
    private static func arm(_ task: DelayedTask, on queue: DispatchQueue) {
        queue.asyncAfter(deadline: task.deadline) {
            if DispatchTime.now() < task.deadline {
                arm(task, on: queue)
            } else {
                task.fire()
            }
        }
    }
}
