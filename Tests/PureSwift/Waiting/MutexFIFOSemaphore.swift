// SPDX-License-Identifier: Apache-2.0
//
// A counting semaphore that serves first come, first served, over a mutex and one condition per waiter.
//
// The algorithm is Birrell's hand-off: a signal gives its permit to the thread at the head of the line
// and takes that thread out under the mutex, so a thread that comes later cannot take it. The invariant
// under the mutex: permits and waiters are never both there.
//
// What it cannot do that the C-backed `FIFOSemaphore` can: take a free permit without a mutex (the C core
// does it with one compare-and-swap), wait without allocating, be signalled from a thread that must not
// enter the Swift runtime, and be waited for by a task without blocking its thread.

/// A counting semaphore that serves first come, first served. All calls are thread-safe.
public final class MutexFIFOSemaphore: Sendable {
    private struct State {
        var permits: Int
        var line = WaiterLine()

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

    /// Takes one permit; waits in line for it. Blocks; allocates when it has to wait. O(1).
    public func wait() {
        _ = wait(until: nil)
    }

    /// Takes one permit if one is there that nobody waits for. Blocks for the mutex only. True when taken.
    public func tryWait() -> Bool {
        state.withLock { $0.takePermit() }
    }

    /// Takes one permit, waiting until `deadline` at most. True when taken; false leaves nothing behind. A
    /// deadline that has passed still takes a permit that is there.
    public func wait(until deadline: ContinuousClock.Instant?) -> Bool {
        let waiter: Waiter? = state.withLock { state in
            if state.takePermit() { return nil }
            let waiter = Waiter()
            state.line.join(waiter)
            return waiter
        }
        guard let waiter else { return true }
        if waiter.sleep(until: deadline) { return true }
        // Out of time; but a signal may have served this thread between its waking and here, and that
        // permit must not be lost: whoever is no longer in the line has one.
        return state.withLock { !$0.line.leave(waiter) }
    }

    /// Adds `permits`: hands them to those who have waited longest, keeps the rest. O(permits handed over).
    public func signal(_ permits: Int = 1) {
        precondition(
            permits >= 0,
            "MutexFIFOSemaphore.signal: \(permits) permits; there must be none or more"
        )
        let served = state.withLock { state in
            let served = state.line.take(upTo: permits)
            state.permits += permits - served.count
            return served
        }
        for waiter in served { waiter.wake() }
    }

    /// The counter as textbooks draw it: the permits there, or minus the number of threads waiting. May be
    /// old when read.
    public var value: Int {
        state.withLock { $0.line.isEmpty ? $0.permits : -$0.line.count }
    }
}
