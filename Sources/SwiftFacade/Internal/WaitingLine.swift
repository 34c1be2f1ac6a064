// SPDX-License-Identifier: Apache-2.0
//
// How to stand in a line: blocked, blocked with a limit, and suspended with cancellation and a
// limit. What the line is for is a closure: `admit` tries to take it without waiting, and is called
// under the line's lock, so that nothing can be handed out between "none is there" and taking a place. Who is let
// in may let others out of the line with it: those that `admit` answers are resumed outside the lock.

import CInterlock

/// A lock and the waiters behind it.
final class WaitingLine: Sendable {
    private let queue = ReadWriteLock(WaiterQueue())

    /// Runs `body` with the queue, under the line's lock.
    func withQueue<Result>(_ body: (inout WaiterQueue) -> sending Result) -> sending Result {
        queue.withWriteLock(body)
    }

    /// Blocks the thread until `admit` succeeds or what it tries for is handed over; false if `deadline`
    /// passed first.
    func block(until deadline: UInt64, admit: () -> Bool) -> Bool {
        block(until: deadline, admitWith: { _ in admit() ? WaiterQueue() : nil })
    }

    /// Blocks the thread as ``block(until:admit:)``; `admit` answers whom to resume, or `nil` to wait.
    func block(until deadline: UInt64, admitWith admit: (inout WaiterQueue) -> WaiterQueue?) -> Bool {
        let waiter = ThreadWaiter()
        let others = queue.withWriteLock { queue in
            let others = admit(&queue)
            if others == nil {
                queue.append(waiter)
            }
            return others
        }
        if let others {
            others.resumeAll()
            return true
        }
        if waiter.park(until: deadline) { return true }
        // Out of time; but whoever took us out of the line in the meantime has handed it over.
        return queue.withWriteLock { queue in !queue.remove(waiter) }
    }

    /// Suspends the task until `admit` succeeds or what it tries for is handed over, the task is
    /// cancelled, or `deadline` passes.
    ///
    /// Whatever comes first decides, under the lock: a task that was granted is never told otherwise, and
    /// one that was not has left the line, so that the next grant goes to the next in line.
    ///
    /// - Parameters:
    ///   - waiter: What stands in line for the task; it may carry what is handed over.
    ///   - section: Runs its argument, which takes the line's lock and calls `admit`, at once.
    func suspend(
        _ waiter: TaskWaiter = TaskWaiter(),
        until deadline: ContinuousClock.Instant? = nil,
        in section: @escaping @Sendable (() -> Void) -> Void = { $0() },
        admit: @escaping @Sendable () -> Bool
    ) async -> WaitOutcome {
        await suspend(
            waiter,
            until: deadline,
            in: section,
            admitWith: { _ in admit() ? WaiterQueue() : nil }
        )
    }

    /// Suspends the task as ``suspend(_:until:in:admit:)``; `admit` answers whom to resume, or `nil` to wait.
    func suspend(
        _ waiter: TaskWaiter,
        until deadline: ContinuousClock.Instant?,
        in section: @escaping @Sendable (() -> Void) -> Void = { $0() },
        admitWith admit: @escaping @Sendable (inout WaiterQueue) -> WaiterQueue?
    ) async -> WaitOutcome {
        let alarm = alarm(for: waiter, at: deadline)
        defer {
            alarm?.cancel()
            // What was handed over was so under the lock. The runtime orders a resumed task after whoever resumed it,
            // but of one that is resumed before it has quite suspended ThreadSanitizer does not hear.
            queue.withReadLock { _ in }
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                section {
                    let (outcome, others): (WaitOutcome?, WaiterQueue?) = queue.withWriteLock { queue in
                        if let others = admit(&queue) { return (.granted, others) }
                        if let abandoned = waiter.abandoned { return (abandoned, nil) }
                        waiter.suspend(continuation)
                        queue.append(waiter)
                        return (nil, nil)
                    }
                    others?.resumeAll()
                    if let outcome {
                        continuation.resume(returning: outcome)
                    }
                }
            }
        } onCancel: {
            giveUp(waiter, .cancelled)
        }
    }

    /// Suspends the task until it is taken out of the line and resumed, is cancelled, or `deadline` passes.
    ///
    /// In the isolation of the caller, throughout: other tasks of an actor run only while this one is suspended.
    ///
    /// - Parameter arm: Called at once, outside the line's lock, with the task in line: sees to it that somebody will
    ///   resume it. False if there is nothing to wait for.
    func suspend(
        isolation: isolated (any Actor)?,
        until deadline: ContinuousClock.Instant?,
        arm: () -> Bool
    ) async -> WaitOutcome {
        let waiter = TaskWaiter()
        let alarm = alarm(for: waiter, at: deadline)
        defer {
            alarm?.cancel()
            // As above.
            queue.withReadLock { _ in }
        }
        return await withTaskCancellationHandler(
            operation: {
                await withCheckedContinuation(isolation: isolation) { continuation in
                    let abandoned = queue.withWriteLock { queue -> WaitOutcome? in
                        if let abandoned = waiter.abandoned { return abandoned }
                        waiter.suspend(continuation)
                        queue.append(waiter)
                        return nil
                    }
                    if let abandoned {
                        continuation.resume(returning: abandoned)
                    } else if !arm(), queue.withWriteLock({ $0.remove(waiter) }) {
                        waiter.resume()
                    }
                }
            },
            onCancel: { giveUp(waiter, .cancelled) },
            isolation: isolation
        )
    }

    /// Ends the wait at `deadline`, unless it is cancelled first or the moment never comes.
    private func alarm(for waiter: TaskWaiter, at deadline: ContinuousClock.Instant?) -> Task<Void, Never>? {
        guard let deadline, isReached(deadline) else { return nil }
        return Task {
            // Cancelled, and thereby silent, when the wait is over.
            guard (try? await Task.sleep(until: deadline, clock: .continuous)) != nil else { return }
            self.giveUp(waiter, .timedOut)
        }
    }

    private func giveUp(_ waiter: TaskWaiter, _ outcome: WaitOutcome) {
        let wasInLine = queue.withWriteLock { queue in
            guard queue.remove(waiter) else {
                waiter.abandon(outcome)
                return false
            }
            return true
        }
        if wasInLine {
            waiter.end(outcome)
        }
    }
}
