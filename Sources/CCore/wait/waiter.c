/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a waiter's life: sleeping for the grant, and granting. See waiter.h.
 */
#include "wait/waiter.h"

#include <interlock/park.h>

ilk_status ilk__waiter_sleep(struct ilk__waiter *waiter, uint64_t deadline_ns) {
    ilk_status status = ILK_OK;
    /* WT1 acquire, pairs with WT2 (granting).
     * Carries: what the granter saw and wrote, and that it is done with this waiter.
     * If weaker: the new holder misses the last one's writes. */
    while (ilk_atomic_load(&waiter->granted, memory_order_acquire) == 0) {
        if (status == ILK_TIMEDOUT) {
            return ILK_TIMEDOUT;
        }
        status = ilk_park_wait(&waiter->granted, 0, deadline_ns);
    }
    return ILK_OK;
}

void ilk__waiter_grant(struct ilk__waiter *waiter) {
    /* WT2 release, pairs with WT1. The last touch: the waiter may be gone, and waking uses its address
     * only. */
    ilk_atomic_store(&waiter->granted, 1, memory_order_release);
    ilk_park_wake(&waiter->granted, 1);
}
