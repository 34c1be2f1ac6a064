// SPDX-License-Identifier: Apache-2.0
//
// Where threads wait for a ring to change: an event count over a mutex and one semaphore per waiter.
//
// The protocol is Dekker's: two threads that each store, then load the other's variable, must not both miss
// the other's store.
//
//     the thread that waits                    the thread that changes the ring
//     enter()        count += 1   (seq_cst)    advance the index          (seq_cst)
//     recheck        load index   (seq_cst)    wakeOne()  load count      (seq_cst)
//     sleep
//
// In the one total order of the sequentially consistent operations, either the index was advanced before the
// recheck, which then sees it, or the count was raised before its load, and the waiter is woken. The thread
// that changes the ring pays: it advances the index by a sequentially consistent read-modify-write, a full
// fence on every push and pop although almost none of them has a waiter to wake. The C core moves that
// price to the waiting side with membarrier(2), which pure Swift cannot call.

import Synchronization

/// How often a thread probes before it sleeps. That takes a few microseconds, less than a sleep and a wake-up. With
/// few processors a longer spin would take time from the thread that is waited for.
let probesBeforeSleeping = 200

/// Threads that wait for one side of a ring to change.
@usableFromInline
struct WaitingRoom: ~Copyable, Sendable {
    /// How many are queued. The waiter raises it; the thread that takes a waiter out lowers it.
    @usableFromInline let count = Atomic<Int>(0)
    private let queue = SanitizerVisibleMutex(WaiterQueue())

    @usableFromInline
    init() {}

    /// Registers this thread as a waiter. It must then recheck what it waits for, and either sleep on the
    /// waiter or `leave`.
    func enter() -> Waiter {
        let waiter = Waiter()
        queue.withLock { queue in
            queue.join(waiter)
            // See the drawing above.
            count.add(1, ordering: .sequentiallyConsistent)
        }
        return waiter
    }

    /// Unregisters a waiter. It may have been woken meanwhile, and that wake-up is spent: the caller must
    /// recheck what it waited for.
    func leave(_ waiter: Waiter) {
        queue.withLock { queue in
            if queue.leave(waiter) { count.subtract(1, ordering: .relaxed) }  // relaxed: under the mutex
        }
    }

    /// Wakes the longest waiter, if there is one. Call it after the change, which must be sequentially
    /// consistent. Costs one load when no thread waits.
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
