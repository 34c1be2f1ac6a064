// SPDX-License-Identifier: Apache-2.0
//
// A promise: a value that is assigned once, and the threads and tasks that wait for it in a WaitQueue. It is assigned
// under the queue's lock: the race in Waiter.swift with the value as its event.
//
// Work that may be given up until it begins is claimed first (PendingWork.swift); the claimant fulfils the promise.

// `state` changes under the queue's lock.
@usableFromInline
package final class Promise<Value: Sendable>: @unchecked Sendable {
    private enum State {
        case open
        case fulfilled(Value)
        case taken
    }

    private let queue = WaitQueue(isPacked: true)
    private var state = State.open

    @usableFromInline
    package init() {}

    /// Assigns the value, unless it is assigned. Returns whether it did.
    @discardableResult
    @usableFromInline
    package func fulfil(_ value: Value) -> Bool {
        let waiters: WaiterList? = queue.withWaiters { waiters in
            guard case .open = state else { return nil }
            state = .fulfilled(value)
            return waiters.takeAll()
        }
        guard let waiters else { return false }
        waiters.resumeAll()
        return true
    }

    @usableFromInline
    package var value: Value? {
        queue.withWaiters { _ in
            if case .fulfilled(let value) = state { value } else { nil }
        }
    }

    @usableFromInline
    package func wait(until deadline: ContinuousClock.Instant? = nil) async -> WaitOutcome {
        await queue.suspend(until: deadline, admit: { self.hasValue })
    }

    /// Suspends until there is a value; nil if `deadline` passed first.
    package func value(until deadline: ContinuousClock.Instant?) async throws(CancellationError) -> Value? {
        switch await wait(until: deadline) {
        case .granted: return value
        case .timedOut: return nil
        case .cancelled: throw CancellationError()
        }
    }

    /// Blocks the thread until there is a value; false if `deadline` passed first.
    @discardableResult
    @usableFromInline
    package func block(until deadline: UInt64 = forever) -> Bool {
        queue.block(until: deadline, admit: { hasValue })
    }

    /// Suspends until there is a value, cancelled or not, and moves it out. For one task, once.
    package func take() async -> Value {
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
