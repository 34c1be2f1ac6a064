// SPDX-License-Identifier: Apache-2.0
//
// The race of event, time-out and cancellation, for every wait of the facade. A waiter is one wait of one thread or
// task; its race is decided once.
//
//                 append             takeFirst, remove                 resume
//     outside ──────────────▶ queued ──────────────────▶ decided(how) ───────────▶ the waiter goes on
//        │                                                    ▲
//        └────────────────────────────────────────────────────┘
//          granted as it joins, or given up before it has joined
//
//   state     what changes it                                                under
//   outside   the waiter, by joining; the timer or the canceller, by giving   the owner's lock
//             up before that
//   queued    the granter, by takeFirst; the timer or the canceller,          the owner's lock
//             by remove: the first of them decides
//   decided   nothing: the decision is final
//
// The owner is the WaitQueue of the waiter. Only the thread that takes a waiter out of the list resumes it, outside the
// lock, because resuming runs the scheduler.
//
// What must not happen, and what rules it out:
//   - a waiter that timed out or was cancelled has been given its event: one lock guards the list and what is given;
//   - a waiter is resumed twice, or never: `decided` is entered once, by one thread, which resumes;
//   - a cancellation before the task has joined is lost: it leaves `decided` behind, which joining finds;
//   - something is given to a waiter that has gone: only queued waiters are in the list.
//
// Lifetime: the list holds its waiters, a waiting thread or task its waiter. One taken out belongs to the thread that
// took it out until it is resumed.

import CInterlock

@usableFromInline
package enum WaitOutcome: Sendable {
    case granted
    /// Nothing was handed over.
    case timedOut
    /// Nothing was handed over.
    case cancelled

    /// Whether the event has come; false where the deadline passed first. Throws where the task was cancelled.
    package func isGranted() throws(CancellationError) -> Bool {
        if self == .cancelled { throw CancellationError() }
        return self == .granted
    }
}

// Touched under its owner's lock only, or by the one thread that took it out of the list.
package class Waiter: @unchecked Sendable {
    package enum State {
        case outside
        case queued
        case decided(WaitOutcome)
    }

    /// For ``WaiterList`` and ``decide(_:)`` only.
    package var state = State.outside
    /// For ``WaiterList`` only, which owns its waiters by `next`; so `previous` need not.
    package var next: Waiter?
    unowned(unsafe) var previous: Waiter?

    package init() {}

    /// Decides the race of a waiter in no list, unless it is decided. Under the owner's lock.
    package func decide(_ outcome: WaitOutcome) {
        guard case .outside = state else { return }
        state = .decided(outcome)
    }

    /// Once, outside the owner's lock, by the thread that took the waiter out.
    package func resume() {}
}

/// A thread that waits, on a semaphore of its own.
// Adds a C semaphore, which any number of threads may call.
package final class ThreadWaiter: Waiter, @unchecked Sendable {
    package override init() {}

    private let parker = CObject<ilk_semaphore> { ilk_semaphore_init($0, 0) }

    package override func resume() {
        ilk_semaphore_signal(parker.pointer, 1)
    }

    /// Sleeps until resumed; false if `deadline` passed first.
    package func park(until deadline: UInt64) -> Bool {
        ilk_semaphore_wait_until(parker.pointer, deadline) == ILK_OK
    }
}

/// Work without a thread or task that waits: what takes it out goes on with it.
// Sendable for Waiter's reasons.
package final class WorkWaiter<Work: AnyObject>: Waiter, @unchecked Sendable {
    /// Keeps the waiter.
    package unowned let work: Work

    package init(_ work: Work) { self.work = work }
}

/// A task that waits. A subclass may carry a value that is handed over.
// Adds a field under the rule of Waiter.
package class TaskWaiter: Waiter, @unchecked Sendable {
    private var continuation: CheckedContinuation<WaitOutcome, Never>?

    /// Asked before a time-out or a cancellation decides the race, outside the owner's lock: false if the event is on
    /// its way, and will decide it.
    package func givesUp() -> Bool { true }

    /// Keeps the continuation. Under the owner's lock, before the waiter is appended.
    package func suspend(_ continuation: CheckedContinuation<WaitOutcome, Never>) {
        self.continuation = continuation
    }

    package override func resume() {
        guard case .decided(let outcome) = state else {
            preconditionFailure("a waiter is resumed after its race has been decided")
        }
        continuation.take()?.resume(returning: outcome)
    }
}
