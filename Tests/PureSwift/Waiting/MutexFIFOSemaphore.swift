// SPDX-License-Identifier: Apache-2.0
//
// A counting semaphore that serves first come, first served, over a mutex and one condition per waiter.
//
// The algorithm is Birrell's hand-off: a signal gives its permit to the thread at the head of the queue and
// takes that thread out under the mutex, so a later thread cannot take the permit. The invariant under the
// mutex: there are no waiters while there are permits.
//
// What the C-backed `FIFOSemaphore` can do and this one cannot: take a free permit without a mutex (one
// compare-and-swap), wait without allocating, be signalled from a thread that must not enter the Swift
// runtime, let a task wait without blocking its thread.

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

    /// Takes one permit, waiting until `deadline` at most. True when taken; false leaves nothing behind. A
    /// deadline that has passed still takes a permit that is there.
    public func wait(until deadline: ContinuousClock.Instant?) -> Bool {
        let waiter: Waiter? = state.withLock { state in
            if state.takePermit() { return nil }
            let waiter = Waiter()
            state.queue.join(waiter)
            return waiter
        }
        guard let waiter else { return true }
        if waiter.sleep(until: deadline) { return true }
        // The time has run out, but a signal may have served this thread before it came here. That permit must
        // not be lost: a thread that is no longer queued has one.
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

    /// The counter as textbooks draw it: the permits there, or minus the number of threads waiting. May be
    /// out of date when read.
    public var value: Int {
        state.withLock { $0.queue.isEmpty ? $0.permits : -$0.queue.count }
    }
}
