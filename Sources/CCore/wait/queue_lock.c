/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue lock: a word-sized mutex that shares its word. queue_lock.h draws its states.
 */
#include "wait/queue_lock.h"

#include "platform/reaches.h"
#include "wait/spin.h"
#include <interlock/park.h>

bool ilk__queue_try_lock(ILK_ATOMIC(uint32_t) * word, uint32_t *seen) ILK_NONBLOCKING {
    /* QL2 acquire, pairs with QL3 (unlocking).
     * Carries: the queue as the last holder left it.
     * If weaker: we walk a list with links missing. */
    if (ilk_atomic_compare_exchange_weak(word, seen, *seen | ILK__QUEUE_LOCKED, memory_order_acquire,
                                         memory_order_relaxed)) {
        *seen |= ILK__QUEUE_LOCKED;
        return true;
    }
    return false;
}

ilk_status ilk__queue_lock_until(ILK_ATOMIC(uint32_t) * word, uint64_t deadline_ns, uint32_t *seen) {
    ilk_status status = ILK_OK;
    for (int probe = 0;;) {
        /* QL1 relaxed: a hint; QL2 decides. */
        *seen = ilk_atomic_load(word, memory_order_relaxed);
        if ((*seen & ILK__QUEUE_LOCKED) == 0) {
            if (ilk__queue_try_lock(word, seen)) {
                return ILK_OK;
            }
        } else if (probe < ILK__SPIN_QUEUE_LOCK.probes) {
            ilk__spin_pause(ILK__SPIN_QUEUE_LOCK, probe);
            probe++; /* counts no wake-ups: they have no bound */
        } else if (status == ILK_TIMEDOUT) {
            return ILK_TIMEDOUT;
        } else if ((*seen & ILK__QUEUE_CONTENDED) != 0 ||
                   /* QL4 relaxed: publishes only the wake request; QL3 reads it, both being
                    * read-modify-writes of one word. */
                   ilk_atomic_compare_exchange_weak(word, seen, *seen | ILK__QUEUE_CONTENDED,
                                                    memory_order_relaxed, memory_order_relaxed)) {
            ILK__REACHES(QUEUE_LOCK_SLEEPS, true);
            status = ilk_park_wait(word, *seen | ILK__QUEUE_CONTENDED, deadline_ns);
        }
    }
}

void ilk__queue_lock(ILK_ATOMIC(uint32_t) * word, uint32_t *seen) {
    (void)ilk__queue_lock_until(word, ILK_FOREVER, seen);
}

bool ilk__queue_unlock(ILK_ATOMIC(uint32_t) * word, uint32_t *seen, uint32_t next) {
    uint32_t now = *seen;
    /* QL3 acq_rel, pairs with QL2 (locking), with RW8 (giving a lock up) and with a semaphore's permits, SE2,
     * SE3, SE4 and SE8.
     * Release carries: the queue, and what the caller guarded if this step also gives the lock up. Acquire:
     * this step may take the lock for a waiter, from a thread that gave it up since the last read of the
     * word.
     * If weaker: the next holder of the queue, or of the primitive, misses what was written. */
    if (!ilk_atomic_compare_exchange_weak(word, &now, next, memory_order_acq_rel, memory_order_relaxed)) {
        ILK__REACHES(QUEUE_OUTRUN, now != *seen); /* else it failed spuriously */
        *seen = now;
        return false;
    }
    if ((*seen & ILK__QUEUE_CONTENDED) != 0) {
        ilk_park_wake(word, ILK_PARK_ALL);
    }
    return true;
}
