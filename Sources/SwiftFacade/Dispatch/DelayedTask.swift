// SPDX-License-Identifier: Apache-2.0
//
// Work that starts after a delay and can be called off. `dispatch_after` cannot be cancelled, and a
// cancelled `DispatchWorkItem` keeps its captures until its deadline; here the timer and
// `cancel()` race to claim the work. What libdispatch keeps until the deadline is an empty box.

import Dispatch

/// Work scheduled by ``GCD/after(_:on:_:)``.
///
/// A handle only: dropping it neither cancels the work nor keeps it. All of it may be used from any
/// thread.
public final class DelayedTask: Sendable {
    private let work: PendingWork<@Sendable () -> Void>
    /// Whether the work ran, or was cancelled before.
    private let ran = Promise<Bool>()

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
        guard work.claim() != nil else { return false }
        ran.fulfil(false)
        return true
    }

    /// Waits until the work has run or was cancelled; answers whether it ran.
    ///
    /// Suspends instead of blocking. If the awaiting task is cancelled it throws at once; the delayed
    /// work itself is not touched.
    ///
    /// - Returns: true once the work has returned, false if it was cancelled before it began.
    public func finished() async throws(CancellationError) -> Bool {
        guard await ran.wait() == .granted, let ran = ran.value else { throw CancellationError() }
        return ran
    }

    /// The timer's side.
    func fire() {
        guard let work = work.claim() else { return }
        work()
        ran.fulfil(true)
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
