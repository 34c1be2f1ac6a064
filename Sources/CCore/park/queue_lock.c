/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue lock: a word-sized mutex that shares its word. See queue_lock.h for its states.
 */
#include "park/queue_lock.h"

#include <interlock/park.h>

/* Turns of the spin loop before sleeping. The section it waits for is some twenty instructions. */
enum { SPIN_LIMIT = 40 };

void ilk__queue_lock(ILK_ATOMIC(uint32_t) * word) {
    for (int turn = 0;; turn++) {
        /* QL1 relaxed: a hint; QL2 decides. */
        uint32_t seen = ilk_atomic_load(word, memory_order_relaxed);
        if ((seen & ILK__QUEUE_LOCKED) == 0) {
            /* QL2 acquire, pairs with QL3 (release, unlocking).
             * Carries: the queue as the last holder left it.
             * If weaker: we walk a list with links missing. */
            if (ilk_atomic_compare_exchange_weak(word, &seen, seen | ILK__QUEUE_LOCKED, memory_order_acquire,
                                                 memory_order_relaxed)) {
                return;
            }
        } else if (turn < SPIN_LIMIT) {
            ilk_cpu_relax();
        } else if ((seen & ILK__QUEUE_CONTENDED) != 0 ||
                   /* QL4 relaxed: publishes nothing but the wish to be woken; the holder's QL3 reads
                    * it because both are read-modify-writes of one word. */
                   ilk_atomic_compare_exchange_weak(word, &seen, seen | ILK__QUEUE_CONTENDED,
                                                    memory_order_relaxed, memory_order_relaxed)) {
            (void)ilk_park_wait(word, seen | ILK__QUEUE_CONTENDED, ILK_FOREVER);
        }
    }
}

bool ilk__queue_unlock(ILK_ATOMIC(uint32_t) * word, uint32_t *seen, uint32_t next) {
    /* QL3 acq_rel, pairs with QL2 (acquire, locking) and with a semaphore's entries, SE2, SE3 and SE4.
     * Release carries: the queue, and what the caller guarded if this step also gives the lock up.
     * Acquire: this step may be what takes the lock for a waiter, from a thread that gave it up on
     * its fast path since the caller last looked.
     * If weaker: the next holder of the queue, or of the primitive, misses what was written. */
    if (!ilk_atomic_compare_exchange_weak(word, seen, next, memory_order_acq_rel, memory_order_relaxed)) {
        return false;
    }
    if ((*seen & ILK__QUEUE_CONTENDED) != 0) {
        ilk_park_wake(word, ILK_PARK_ALL);
    }
    return true;
}

uint32_t ilk__queue_look(ILK_ATOMIC(uint32_t) * word) {
    /* QL5 relaxed: a basis for QL3, which fails if it is stale. */
    return ilk_atomic_load(word, memory_order_relaxed);
}
