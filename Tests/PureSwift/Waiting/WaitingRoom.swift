// SPDX-License-Identifier: Apache-2.0
//
// An event count over a mutex and one semaphore per waiter, on which threads wait for a ring to change.
//
// The protocol is Dekker's: two threads that each store, then load the other's variable, must not both miss the other's
// store.
//
//     the thread that waits                    the thread that changes the ring
//     enter()        count += 1   (seq_cst)    advance the index          (seq_cst)
//     recheck        load index   (seq_cst)    wakeOne()  load count      (seq_cst)
//     sleep
//
// In the total order of the sequentially consistent operations, either the index was advanced before the recheck, which
// then sees it, or the count was raised before its load, and the waiter is woken. The price is a fence on every
// push and pop, which the C core moves to the waiting side with membarrier(2).

import Synchronization

/// Probes before sleeping: a few microseconds, less than a sleep and a wake-up. A longer spin would take time from the
/// thread that is waited for.
let probesBeforeSleeping = 200

/// Threads that wait for one side of a ring to change.
@usableFromInline
struct WaitingRoom: ~Copyable, Sendable {
    /// How many are queued. The waiter raises it; the thread that takes a waiter out lowers it.
    @usableFromInline let count = Atomic<Int>(0)
    private let queue = SanitizerVisibleMutex(WaiterQueue())

    @usableFromInline
    init() {}

    /// Registers this thread as a waiter. It must then recheck its condition, and sleep on the waiter or `leave`.
    func enter() -> Waiter {
        let waiter = Waiter()
        queue.withLock { queue in
            queue.join(waiter)
            // See the drawing above.
            count.add(1, ordering: .sequentiallyConsistent)
        }
        return waiter
    }

    /// Unregisters a waiter. A wake-up in between is spent: the caller must recheck its condition.
    func leave(_ waiter: Waiter) {
        queue.withLock { queue in
            if queue.leave(waiter) { count.subtract(1, ordering: .relaxed) }  // relaxed: under the mutex
        }
    }

    /// Wakes the longest waiter, if any. Call it after the change, which must be sequentially consistent. Costs one
    /// load when no thread waits.
    @inlinable
    func wakeOne() {
        if count.load(ordering: .sequentiallyConsistent) != 0 { wake(upTo: 1) }
    }

    /// Wakes every waiter.
    func wakeAll() {
        wake(upTo: .max)
    }

    @usableFromInline
    @inline(never)
    func wake(upTo limit: Int) {
        let woken = queue.withLock { queue in
            let taken = queue.take(upTo: limit)
            count.subtract(taken.count, ordering: .relaxed)
            return taken
        }
        for waiter in woken { waiter.wake() }
    }
}
