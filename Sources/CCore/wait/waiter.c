/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a waiter's life: sleeping for the grant, and granting. See waiter.h.
 */
#include "wait/waiter.h"

#include "platform/reaches.h"
#include <interlock/park.h>

bool ilk__waiter_is_granted(const struct ilk__waiter *waiter) {
    /* WT1 acquire, pairs with WT2 (granting).
     * Carries: what the granter saw and wrote, and that it is done with this waiter.
     * If weaker: the new holder misses the last one's writes. */
    return ilk_atomic_load(&waiter->granted, memory_order_acquire) == ILK__WAITER_GRANTED;
}

ilk_status ilk__waiter_await(struct ilk__waiter *waiter, struct ilk__spin_policy policy,
                             uint64_t deadline_ns) {
    for (int probe = 0; probe < policy.probes; probe++) {
        if (ilk__waiter_is_granted(waiter)) {
            return ILK_OK;
        }
        ilk__spin_pause(policy, probe);
    }
    return ilk__waiter_sleep(waiter, deadline_ns);
}

ilk_status ilk__waiter_sleep(struct ilk__waiter *waiter, uint64_t deadline_ns) {
    uint32_t before = ILK__WAITER_WAITS;
    /* WT3 relaxed: WT1 judges the grant. WT2 changes the same word: it finds SLEEPS, or this step fails. */
    (void)ilk_atomic_compare_exchange(&waiter->granted, &before, ILK__WAITER_SLEEPS, memory_order_relaxed,
                                      memory_order_relaxed);
    ilk_status status = ILK_OK;
    while (!ilk__waiter_is_granted(waiter)) {
        if (status == ILK_TIMEDOUT) {
            return ILK_TIMEDOUT;
        }
        ILK__REACHES(WAITER_SLEEPS, true);
        status = ilk_park_wait(&waiter->granted, ILK__WAITER_SLEEPS, deadline_ns);
    }
    return ILK_OK;
}

void ilk__waiter_grant(struct ilk__waiter *waiter) {
    if (waiter->resume != NULL) {
        waiter->resume(waiter);
    } else {
        ilk__waiter_wake(waiter);
    }
}

void ilk__waiter_wake(struct ilk__waiter *waiter) {
    /* WT2 release, pairs with WT1. The last touch: the waiter may be gone, and waking uses its address
     * only. */
    const uint32_t before = ilk_atomic_exchange(&waiter->granted, ILK__WAITER_GRANTED, memory_order_release);
    ILK__REACHES(WAITER_GRANTED_AWAKE, before == ILK__WAITER_WAITS);
    if (before == ILK__WAITER_SLEEPS) {
        ilk_park_wake(&waiter->granted, 1);
    }
}
