// SPDX-License-Identifier: Apache-2.0
//
// A counting semaphore that serves first come, first served, over a mutex and one condition per waiter.
//
// The algorithm is Birrell's hand-off: a signal gives its permit to the head of the queue and takes that thread out
// under the mutex, so a later thread cannot take the permit. The invariant under the mutex: there are no waiters while
// there are permits.

/// A counting semaphore that serves first come, first served. All calls are thread-safe.
public final class MutexFIFOSemaphore: Sendable {
    private struct State {
        var permits: Int
        var queue = WaiterQueue()

        mutating func takePermit() -> Bool {
            guard permits > 0 else { return false }
            permits -= 1
            return true
        }
    }

    private let state: SanitizerVisibleMutex<State>

    /// A semaphore that holds `permits`, which must not be negative.
    public init(permits: Int) {
        precondition(permits >= 0, "MutexFIFOSemaphore: \(permits) permits; there must be none or more")
        state = SanitizerVisibleMutex(State(permits: permits))
    }

    /// Takes one permit; queues for it. Blocks; allocates when it has to wait. O(1).
    public func wait() {
        _ = wait(until: nil)
    }

    /// Takes one permit if one is free. Blocks for the mutex only. True when taken.
    public func tryWait() -> Bool {
        state.withLock { $0.takePermit() }
    }

    /// Waits like `wait()`, until `deadline`. True when taken. A free permit is taken after the deadline, too.
    public func wait(until deadline: ContinuousClock.Instant?) -> Bool {
        let waiter: Waiter? = state.withLock { state in
            if state.takePermit() { return nil }
            let waiter = Waiter()
            state.queue.join(waiter)
            return waiter
        }
        guard let waiter else { return true }
        if waiter.sleep(until: deadline) { return true }
        // A thread that is no longer queued has a permit: a signal has served it after its time ran out.
        return state.withLock { !$0.queue.leave(waiter) }
    }

    /// Adds `permits`: hands them to the longest waiters, keeps the rest. O(permits handed over).
    public func signal(_ permits: Int = 1) {
        precondition(
            permits >= 0,
            "MutexFIFOSemaphore.signal: \(permits) permits; there must be none or more"
        )
        let served = state.withLock { state in
            let served = state.queue.take(upTo: permits)
            state.permits += permits - served.count
            return served
        }
        for waiter in served { waiter.wake() }
    }

    /// The permits there, or minus the number of threads waiting. May be out of date when read.
    public var value: Int {
        state.withLock { $0.queue.isEmpty ? $0.permits : -$0.queue.count }
    }
}
