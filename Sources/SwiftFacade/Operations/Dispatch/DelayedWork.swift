// SPDX-License-Identifier: Apache-2.0
//
// Work that starts after a delay and can be cancelled. `dispatch_after` cannot; a cancelled `DispatchWorkItem` keeps
// its captures until its deadline. Here the timer and `cancel()` race to claim the work.

import Dispatch
import InterlockPool
import InterlockSync

/// Work scheduled by ``GCD/after(_:on:_:)``.
///
/// May be used from any thread. Dropping it does not cancel the work.
public final class DelayedWork: Sendable {
    private enum State {
        case pending(@Sendable () -> Void, Promise<Bool>?)
        case running(Promise<Bool>?)
        case ended(ran: Bool)
    }

    private let state: VisibleMutex<State>

    /// The earliest moment the work starts, on the monotonic clock.
    public let deadline: DispatchTime

    init(deadline: DispatchTime, _ work: @escaping @Sendable () -> Void) {
        self.deadline = deadline
        state = VisibleMutex(.pending(work, nil), isPacked: true)
    }

    /// Prevents the work if it has not begun, and frees it with its captures before returning. May be called any number
    /// of times; does not wait.
    ///
    /// - Returns: whether this call prevented the run.
    @discardableResult
    public func cancel() -> Bool {
        guard case .pending(_, let waiters) = claim(next: { _ in .ended(ran: false) }) else { return false }
        waiters?.fulfil(false)
        return true
    }

    /// Suspends until the work has run or was cancelled. What the work did is visible.
    ///
    /// - Returns: true once the work has returned, false if it was cancelled before it began.
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the delayed work is not touched.
    public func finished() async throws(CancellationError) -> Bool {
        try await ran(until: nil)!
    }

    /// As ``finished()``, until `moment` at most.
    ///
    /// - Returns: `nil` if the work had not returned in time; it goes on.
    public func finished(until moment: ContinuousClock.Instant) async throws(CancellationError) -> Bool? {
        try await ran(until: moment)
    }

    /// As ``finished(until:)``, for `timeout` at most.
    public func finished(timeout: Duration) async throws(CancellationError) -> Bool? {
        try await ran(until: moment(in: timeout))
    }

    func fire() {
        guard case .pending(let work, _) = claim(next: { .running($0) }) else { return }
        work()
        let waiters = state.withLock { state -> Promise<Bool>? in
            defer { state = .ended(ran: true) }
            if case .running(let waiters) = state { return waiters }
            return nil
        }
        waiters?.fulfil(true)
    }

    /// The state of work that has not begun, for the first caller.
    private func claim(next: (Promise<Bool>?) -> State) -> sending State? {
        state.withLock { state -> State? in
            guard case .pending(_, let waiters) = state else { return nil }
            defer { state = next(waiters) }
            return state
        }
    }

    private func ran(until moment: ContinuousClock.Instant?) async throws(CancellationError) -> Bool? {
        let (ran, waiters) = ending()
        guard let waiters else { return ran }
        return try await waiters.value(until: moment)
    }

    /// How the work ended, or a promise of it.
    private func ending() -> (ran: Bool?, waiters: Promise<Bool>?) {
        state.withLock { state in
            switch state {
            case .ended(let ran): return (ran, nil)
            case .pending(_, let waiters?), .running(let waiters?): return (nil, waiters)
            case .pending(let work, nil):
                let waiters = Promise<Bool>()
                state = .pending(work, waiters)
                return (nil, waiters)
            case .running(nil):
                let waiters = Promise<Bool>()
                state = .running(waiters)
                return (nil, waiters)
            }
        }
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
    ) -> DelayedWork {
        let task = DelayedWork(deadline: .after(delay), work)
        arm(task, on: queue)
        return task
    }

    /// A timer that fires early by the deadline's clock is armed again.
    private static func arm(_ task: DelayedWork, on queue: DispatchQueue) {
        queue.asyncAfter(deadline: task.deadline) {
            if DispatchTime.now() < task.deadline {
                arm(task, on: queue)
            } else {
                QueueTag.running(on: queue) { task.fire() }
            }
        }
    }
}
