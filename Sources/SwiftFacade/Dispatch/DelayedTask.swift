// SPDX-License-Identifier: Apache-2.0
//
// Work that starts after a delay and can be cancelled. `dispatch_after` cannot; a cancelled `DispatchWorkItem` keeps
// its captures until its deadline. Here the timer and `cancel()` race to claim the work.

import Dispatch

/// Work scheduled by ``GCD/after(_:on:_:)``.
///
/// May be used from any thread. Dropping it does not cancel the work.
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

    /// Prevents the work if it has not begun, and frees it with its captures before returning. May be called any number
    /// of times; does not wait.
    ///
    /// - Returns: whether this call prevented the run.
    @discardableResult
    public func cancel() -> Bool {
        guard work.claim() != nil else { return false }
        ran.fulfil(false)
        return true
    }

    /// Suspends until the work has run or was cancelled. What the work did is visible.
    ///
    /// - Returns: true once the work has returned, false if it was cancelled before it began.
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the delayed work is not touched.
    public func finished() async throws(CancellationError) -> Bool {
        guard await ran.wait() == .granted, let ran = ran.value else { throw CancellationError() }
        return ran
    }

    func fire() {
        guard let work = work.claim() else { return }
        work()
        ran.fulfil(true)
    }
}

extension GCD {
    /// Runs `work` on `queue`, no earlier than `delay` from now.
    ///
    /// Returns at once. The delay is measured on the monotonic clock; zero or less means as soon as possible.
    ///
    /// - Parameters:
    ///   - queue: by default the main queue, which needs a program that drains it.
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

    /// A timer that fires early by the deadline's clock is armed again.
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
