// SPDX-License-Identifier: Apache-2.0
//
// A promise: a value that is assigned once, and the threads and tasks that wait for it. The waits are those of a
// WaitQueue, and the value is assigned under that queue's lock. So a waiter finds the value as it joins, is in the
// queue when the value comes, or has left it: the race in Waiter.swift with the value as its event.
//
// Where the event is work that may be given up until it begins, the work is claimed first (PendingWork.swift), and the
// claimant fulfils the promise.

// `state` changes under the queue's lock.
final class Promise<Value: Sendable>: @unchecked Sendable {
    private enum State {
        case open
        case fulfilled(Value)
        case taken
    }

    private let queue = WaitQueue()
    private var state = State.open

    /// Assigns the value, unless it is assigned. Returns whether this call assigned it.
    @discardableResult
    func fulfil(_ value: Value) -> Bool {
        let waiters: WaiterList? = queue.withWaiters { waiters in
            guard case .open = state else { return nil }
            state = .fulfilled(value)
            return waiters.takeAll()
        }
        guard let waiters else { return false }
        waiters.resumeAll()
        return true
    }

    /// Whether the value has been assigned.
    var isFulfilled: Bool {
        queue.withWaiters { _ in hasValue }
    }

    /// The value, if it has been assigned and not taken.
    var value: Value? {
        queue.withWaiters { _ in
            if case .fulfilled(let value) = state { value } else { nil }
        }
    }

    /// Suspends until there is a value, the task is cancelled, or `deadline` passes.
    func wait(until deadline: ContinuousClock.Instant? = nil) async -> WaitOutcome {
        await queue.suspend(until: deadline, admit: { self.hasValue })
    }

    /// Blocks the thread until there is a value.
    func block() {
        _ = queue.block(until: forever, admit: { hasValue })
    }

    /// Suspends until there is a value, whether the task is cancelled or not, and moves it out. One task may do so,
    /// once.
    func take() async -> Value {
        await queue.suspendUncancelled(admit: { hasValue })
        return queue.withWaiters { _ in
            guard case .fulfilled(let value) = state else {
                preconditionFailure("the value of a promise is taken once")
            }
            state = .taken
            return value
        }
    }

    /// Under the queue's lock.
    private var hasValue: Bool {
        if case .open = state { false } else { true }
    }
}
