// SPDX-License-Identifier: Apache-2.0
//
// Where threads wait for a ring to change: an event count over a mutex and one semaphore per waiter.
//
// The protocol is Dekker's: two threads that each store and then look at the other's variable must not
// both miss the other's store.
//
//     the thread that waits                    the thread that changes the ring
//     enter()        count += 1   (seq_cst)    advance the index          (seq_cst)
//     look again     load index   (seq_cst)    wakeOne()  load count      (seq_cst)
//     sleep
//
// In the one total order of the sequentially consistent operations either the index was advanced before
// the second look, which then sees it, or the count was raised before it was loaded, and the waiter is
// woken. The price falls on whoever changes the ring: its index must be advanced by a sequentially
// consistent read-modify-write, a full fence on every push and pop although almost none
// of them has anybody to wake. The C core moves that price to the waiting side with membarrier(2), which
// cannot be reached without C.

import Synchronization

/// How often a thread tries before it sleeps. What comes within that time (a few microseconds) is cheaper
/// to wait out than a sleep and a wake-up; more is taken from the thread it waits for when processors are
/// few.
let looksBeforeSleeping = 200

/// Threads that wait for one side of a ring to change.
@usableFromInline
struct WaitingRoom: ~Copyable, Sendable {
    /// How many stand in the line. Raised by the waiter, lowered by whoever takes it out.
    @usableFromInline let count = Atomic<Int>(0)
    private let line = SanitizerVisibleMutex(WaiterLine())

    @usableFromInline
    init() {}

    /// Announces that this thread is about to wait. It must then look once more at what it waits for,
    /// and either sleep on the waiter or `leave`.
    func enter() -> Waiter {
        let waiter = Waiter()
        line.withLock { line in
            line.join(waiter)
            // See the drawing above.
            count.add(1, ordering: .sequentiallyConsistent)
        }
        return waiter
    }

    /// Withdraws a waiter that need not or may not wait any longer. It may have been woken meanwhile; the
    /// wake-up is then spent, so the caller must look once more at what it waited for.
    func leave(_ waiter: Waiter) {
        line.withLock { line in
            if line.leave(waiter) { count.subtract(1, ordering: .relaxed) }  // relaxed: under the mutex
        }
    }

    /// Wakes the one that has waited longest, if anybody waits. To be called after the change, which must
    /// have been sequentially consistent. Costs one load when nobody waits.
    @inlinable
    func wakeOne() {
        if count.load(ordering: .sequentiallyConsistent) != 0 { wake(upTo: 1) }
    }

    /// Wakes everybody.
    func wakeAll() {
        wake(upTo: .max)
    }

    @usableFromInline
    @inline(never)
    func wake(upTo limit: Int) {
        let woken = line.withLock { line in
            let taken = line.take(upTo: limit)
            count.subtract(taken.count, ordering: .relaxed)
            return taken
        }
        for waiter in woken { waiter.wake() }
    }
}
