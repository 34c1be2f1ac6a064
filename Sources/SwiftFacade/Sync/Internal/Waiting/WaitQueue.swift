// SPDX-License-Identifier: Apache-2.0
//
// A first-come-first-served queue in which threads block and tasks suspend, with a limit and with cancellation: the
// owner of the race in Waiter.swift. The closure `admit` tries to take what the queue is for, under its lock: nothing
// is handed out between "there is none" and joining. The waiters that `admit` answers are resumed outside the lock: the
// last of a group takes the others along.

import CInterlock

package final class WaitQueue: Sendable {
    /// A reader–writer lock that is only written: an uncontended section takes two thirds of what `ilk_mutex` takes.
    private let list: GuardedStorage<ilk_rwlock, WaiterList>

    package init(isPacked: Bool = false) { list = GuardedStorage(WaiterList(), isPacked: isPacked) }

    deinit { ilk_rwlock_destroy(list.lock) }

    private func withList<Result>(_ body: (inout WaiterList) -> sending Result) -> sending Result {
        ilk_rwlock_write_lock(list.lock)
        defer { ilk_rwlock_write_unlock(list.lock) }
        let waiters = list.value
        return body(&waiters.pointee)
    }

    /// Under the queue's lock.
    package func withWaiters<Result>(_ body: (inout WaiterList) -> sending Result) -> sending Result {
        withList(body)
    }

    /// Resumes all: their event has happened.
    package func resumeAll() {
        withList { $0.takeAll() }.resumeAll()
    }

    // MARK: Threads

    /// Blocks the thread until `admit` succeeds or its event is handed over; false if `deadline` passed first.
    package func block(until deadline: UInt64, admit: () -> Bool) -> Bool {
        block(until: deadline, admitWith: { _ in admit() ? WaiterList() : nil })
    }

    /// Blocks until this waiter is admitted. `admit` returns the waiters to resume, or `nil` to wait.
    package func block(until deadline: UInt64, admitWith admit: (inout WaiterList) -> WaiterList?) -> Bool {
        let waiter = ThreadWaiter()
        let others = withList { list in
            let others = admit(&list)
            if others == nil {
                list.append(waiter)
            }
            return others
        }
        if let others {
            others.resumeAll()
            return true
        }
        // What the waiter waits for may need the worker that it blocks.
        ilk_pool_will_block()
        let isServed = waiter.park(until: deadline)
        ilk_pool_did_block()
        if isServed { return true }
        // Timed out, unless a granter was first.
        return withList { list in !list.remove(waiter, .timedOut) }
    }

    // MARK: Tasks

    /// Suspends the task until `admit` succeeds or its event is handed over, it is cancelled, or `deadline` passes.
    ///
    /// - Parameters:
    ///   - waiter: May carry the value that is handed over.
    ///   - section: Runs its argument, which takes the queue's lock and calls `admit`, at once.
    package func suspend(
        _ waiter: TaskWaiter = TaskWaiter(),
        until deadline: ContinuousClock.Instant? = nil,
        in section: @escaping @Sendable (() -> Void) -> Void = { $0() },
        admit: @escaping @Sendable () -> Bool
    ) async -> WaitOutcome {
        await suspend(
            waiter,
            until: deadline,
            in: section,
            admitWith: { _ in admit() ? WaiterList() : nil }
        )
    }

    /// Suspends until this waiter is admitted. `admit` returns the waiters to resume, or `nil` to wait.
    package func suspend(
        _ waiter: TaskWaiter,
        until deadline: ContinuousClock.Instant?,
        in section: @escaping @Sendable (() -> Void) -> Void = { $0() },
        admitWith admit: @escaping @Sendable (inout WaiterList) -> WaiterList?
    ) async -> WaitOutcome {
        await race(waiter, isolation: nil, until: deadline) { continuation in
            section { _ = self.join(waiter, continuation, admit) }
        }
    }

    /// Suspends the task until it is resumed, is cancelled, or `deadline` passes. In the isolation of the caller
    /// throughout: other tasks of an actor run only while this one is suspended.
    ///
    /// - Parameter arm: Called at once, outside the queue's lock, with the task in the queue; ensures that a thread
    ///   will resume it. False if there is nothing to wait for.
    package func suspend(
        _ waiter: TaskWaiter = TaskWaiter(),
        isolation: isolated (any Actor)?,
        until deadline: ContinuousClock.Instant?,
        arm: () -> Bool
    ) async -> WaitOutcome {
        await race(waiter, isolation: isolation, until: deadline) { continuation in
            if join(waiter, continuation, { _ in nil }), !arm() {
                decide(waiter, .granted)
            }
        }
    }

    /// Suspends the task until `admit` succeeds or its event is handed over, cancelled or not.
    package func suspendUncancelled(admit: () -> Bool) async {
        let waiter = TaskWaiter()
        _ = await withCheckedContinuation { continuation in
            _ = join(waiter, continuation) { _ in admit() ? WaiterList() : nil }
        }
        seeWhatWasHandedOver()
    }

    // MARK: The race

    /// Suspends the task while the race of `waiter` is open; `begin` joins the queue.
    private func race(
        _ waiter: TaskWaiter,
        isolation: isolated (any Actor)?,
        until deadline: ContinuousClock.Instant?,
        begin: (CheckedContinuation<WaitOutcome, Never>) -> Void
    ) async -> WaitOutcome {
        let alarm = alarm(for: waiter, at: deadline)
        defer {
            alarm?.cancel()
            seeWhatWasHandedOver()
        }
        return await withTaskCancellationHandler(
            operation: { await withCheckedContinuation(isolation: isolation, begin) },
            onCancel: { giveUp(waiter, .cancelled) },
            isolation: isolation
        )
    }

    /// Appends the waiter, and returns true, unless it is admitted or its race is decided: then the task goes on at
    /// once.
    private func join(
        _ waiter: TaskWaiter,
        _ continuation: CheckedContinuation<WaitOutcome, Never>,
        _ admit: (inout WaiterList) -> WaiterList?
    ) -> Bool {
        let (outcome, others): (WaitOutcome?, WaiterList?) = withList { list in
            if let others = admit(&list) {
                waiter.decide(.granted)
                return (.granted, others)
            }
            if case .decided(let outcome) = waiter.state { return (outcome, nil) }
            waiter.suspend(continuation)
            list.append(waiter)
            return (nil, nil)
        }
        others?.resumeAll()
        if let outcome {
            continuation.resume(returning: outcome)
        }
        return outcome == nil
    }

    private func giveUp(_ waiter: TaskWaiter, _ outcome: WaitOutcome) {
        if waiter.givesUp() { decide(waiter, outcome) }
    }

    /// Decides the race of `waiter`, unless it is decided, and resumes it if it is in the queue.
    private func decide(_ waiter: TaskWaiter, _ outcome: WaitOutcome) {
        let wasQueued = withList { list in
            let wasQueued = list.remove(waiter, outcome)
            waiter.decide(outcome)
            return wasQueued
        }
        if wasQueued {
            waiter.resume()
        }
    }

    /// Ends the wait at `moment`, unless it is cancelled first or the moment never comes.
    private func alarm(for waiter: TaskWaiter, at moment: ContinuousClock.Instant?) -> Alarm? {
        guard let moment, isReached(moment) else { return nil }
        return Alarm(at: deadline(at: moment)) { self.giveUp(waiter, .timedOut) }
    }

    /// The value was handed over under the lock. The runtime orders a resumed task after the thread that resumed it,
    /// but ThreadSanitizer does not see that of a task resumed before it has fully suspended.
    private func seeWhatWasHandedOver() {
        withList { _ in }
    }
}
