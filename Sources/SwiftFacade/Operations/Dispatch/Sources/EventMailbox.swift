// SPDX-License-Identifier: Apache-2.0
//
// What a source and the task that reads it have in common: the events that wait, merged so that there are never more
// than the source has kinds, and the end. The task's cancellation asks the source to end and waits until it has, so
// that `nil` means: nothing of the source runs any more.

import InterlockSync

// Everything changes under the queue's lock.
final class EventMailbox<Event: Sendable>: @unchecked Sendable {
    private let queue = WaitQueue()
    private var events: [Event] = []
    private var isClosed = false
    private var isEnded = false

    /// Merges what happened into the events that wait. Nothing, once it is closed.
    func put(_ merge: (inout [Event]) -> Void) {
        queue.withWaiters { waiters -> WaiterList in
            if !isClosed { merge(&events) }
            return waiters.takeAll()
        }.resumeAll()
    }

    /// Nothing runs any more. Events that wait may still be taken.
    func end() {
        queue.withWaiters { waiters -> WaiterList in
            (isClosed, isEnded) = (true, true)
            return waiters.takeAll()
        }.resumeAll()
    }

    /// Drops the events that wait and takes no more. The end is still to come.
    func close() {
        queue.withWaiters { _ in
            isClosed = true
            events = []
        }
    }

    /// Whether a task waits; for tests.
    var isAwaited: Bool { queue.withWaiters { $0.count > 0 } }

    /// The events that wait; for tests.
    var waiting: [Event] { queue.withWaiters { _ in events } }

    /// The next event; nil once the source has ended. Suspends the task.
    ///
    /// - Parameters:
    ///   - arm: called before each wait: an event may now come.
    ///   - stop: has the source end; called when the task is cancelled.
    func next<Failure: Error>(
        arm: @Sendable () throws(Failure) -> Void,
        stop: @Sendable () -> Void
    ) async throws(Failure) -> Event? {
        while !Task.isCancelled {
            let (event, isOver): (Event?, Bool) = queue.withWaiters { _ in
                (events.isEmpty ? nil : events.removeFirst(), isEnded)
            }
            if event != nil || isOver { return event }
            try arm()
            if await queue.suspend(admit: { self.hasSomething }) == .cancelled { break }
        }
        stop()
        await ended()
        return nil
    }

    /// Suspends the task, cancelled or not, until the source has ended.
    func ended() async {
        while !queue.withWaiters({ _ in isEnded }) { await queue.suspendUncancelled(admit: { isEnded }) }
    }

    /// Suspends the task until the source has ended, until `deadline` at most; throws at once if the task is cancelled.
    ///
    /// - Returns: whether the source had ended.
    func finished(until deadline: ContinuousClock.Instant?) async throws(CancellationError) -> Bool {
        while !queue.withWaiters({ _ in isEnded }) {
            let how = await queue.suspend(until: deadline, admit: { self.isEnded })
            if try !how.isGranted() { return false }
        }
        return true
    }

    /// Under the queue's lock.
    private var hasSomething: Bool { isEnded || !events.isEmpty }
}
