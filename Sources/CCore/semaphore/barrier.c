/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_barrier. Parties count themselves in; the last one starts the next round and wakes the others,
 * who sleep on the number of the round.
 *
 * Must not happen: a party of the next round is counted into this one. It cannot arrive before the
 * round has changed, and the last party sets `arrived` back to zero before it changes the round.
 */
#include "diagnostics/misuse.h"
#include <interlock/barrier.h>
#include <interlock/deadline.h>
#include <interlock/park.h>

/* Looks before sleeping: on as many cores as parties the others are nearly there. */
enum { SPIN_LIMIT = 64 };

void ilk_barrier_init(ilk_barrier *barrier, uint32_t parties) {
    if (parties == 0) {
        ilk__misuse("ilk_barrier_init", barrier, "0 parties; a barrier needs at least one");
    }
    /* BR1 relaxed: nobody else uses the barrier yet. */
    ilk_atomic_store(&barrier->arrived, 0, memory_order_relaxed);
    ilk_atomic_store(&barrier->round, 0, memory_order_relaxed); /* BR1 */
    barrier->parties = parties;
}

bool ilk_barrier_wait(ilk_barrier *barrier) {
    /* BR2 relaxed: the round cannot change before we arrive, and what earlier rounds carried came with
     * BR4 when our last wait returned. Before BR3, which it must not pass: the acquire and release there
     * keep it. */
    uint32_t round = ilk_atomic_load(&barrier->round, memory_order_relaxed);
    /* BR3 acq_rel, pairs with itself: the last party acquires what all others released.
     * If weaker: BR5 does not carry the others' work, or we read the round after it changed and sleep
     * for the next. */
    uint32_t arrived = ilk_atomic_fetch_add(&barrier->arrived, 1, memory_order_acq_rel) + 1;
    if (arrived > barrier->parties) {
        ilk__misuse("ilk_barrier_wait", barrier, "thread number %u in a round for %u parties",
                    (unsigned)arrived, (unsigned)barrier->parties);
    }
    if (arrived == barrier->parties) {
        ilk_atomic_store(&barrier->arrived, 0, memory_order_relaxed); /* BR1: published by BR5 */
        /* BR5 release, pairs with BR4.
         * Carries: everyone's work, and arrived back at zero.
         * If weaker: a party leaves without the others' work, or arrives anew on top of the old count. */
        ilk_atomic_fetch_add(&barrier->round, 1, memory_order_release);
        ilk_park_wake(&barrier->round, ILK_PARK_ALL);
        return true;
    }
    for (int turn = 0;;) {
        /* BR4 acquire, pairs with BR5. See there. */
        if (ilk_atomic_load(&barrier->round, memory_order_acquire) != round) {
            return false;
        }
        if (turn < SPIN_LIMIT) {
            ilk_cpu_relax();
            turn++;
        } else {
            (void)ilk_park_wait(&barrier->round, round, ILK_FOREVER);
        }
    }
}
