// SPDX-License-Identifier: Apache-2.0
//
// What a source and the task that reads it have in common: the events that wait, merged so that there are never more
// than the source has kinds, and the end. The task's cancellation asks the source to end and waits until it has, so
// that `nil` means: nothing of the source runs any more.

import InterlockPool
import InterlockSync

// Everything changes under the queue's lock.
final class EventMailbox<Event: Sendable>: @unchecked Sendable {
    private let queue = WaitQueue()
    private var events: [Event] = []
    private var isClosed = false
    private var isEnded = false

    /// Merges what happened into the events that wait. Nothing, once it is closed.
    func put(_ merge: (inout [Event]) -> Void) {
        let waiters: WaiterList = queue.withWaiters { waiters in
            if !isClosed { merge(&events) }
            return waiters.takeAll()
        }
        waiters.resumeAll()
    }

    /// Nothing runs any more. Events that wait may still be taken.
    func end() {
        let waiters = queue.withWaiters { waiters in
            isClosed = true
            isEnded = true
            return waiters.takeAll()
        }
        waiters.resumeAll()
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
            switch take() {
            case .event(let event): return event
            case .end: return nil
            case .nothing: break
            }
            try arm()
            if await queue.suspend(admit: { self.hasSomething }) == .cancelled { break }
        }
        stop()
        await ended()
        return nil
    }

    /// Suspends the task, cancelled or not, until the source has ended.
    func ended() async {
        while !queue.withWaiters({ _ in isEnded }) {
            await queue.suspendUncancelled(admit: { isEnded })
        }
    }

    /// Suspends the task until the source has ended, until `deadline` at most; throws at once if the task is cancelled.
    ///
    /// - Returns: whether the source had ended.
    func finished(until deadline: ContinuousClock.Instant?) async throws(CancellationError) -> Bool {
        while !queue.withWaiters({ _ in isEnded }) {
            switch await queue.suspend(until: deadline, admit: { self.isEnded }) {
            case .granted: continue
            case .timedOut: return false
            case .cancelled: throw CancellationError()
            }
        }
        return true
    }

    private enum Taken {
        case event(Event)
        case end
        case nothing
    }

    private func take() -> Taken {
        queue.withWaiters { _ in
            if !events.isEmpty { return .event(events.removeFirst()) }
            return isEnded ? .end : .nothing
        }
    }

    /// Under the queue's lock.
    private var hasSomething: Bool { isEnded || !events.isEmpty }
}
