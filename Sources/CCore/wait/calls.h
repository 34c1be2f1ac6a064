/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls under way by other threads, counted in a word, so that the owner of what they use can wait for their end.
 *
 * Must not happen: the owner returns while a call will still touch what it owns. A call is counted by the step before
 * the one that lets the owner know of it, or under what the owner excludes; lowering the count is the last touch.
 */
#ifndef INTERLOCK_WAIT_CALLS_H
#define INTERLOCK_WAIT_CALLS_H

#include "platform/reaches.h"
#include <interlock/inline/atomic.h>
#include <interlock/park.h>

/* The number of calls, and this bit: the owner waits. It raises the bit before it sleeps, and takes it down once it
 * waits no more. */
#define ILK__CALLS_AWAITED UINT32_C(0x80000000)

static inline void ilk__calls_begin(ILK_ATOMIC(uint32_t) * calls) ILK_NONBLOCKING {
    /* HK1 relaxed: the step that follows releases, and the owner has read it (SP8, MP13, IB2, IB4). */
    ilk_atomic_fetch_add(calls, 1, memory_order_relaxed);
}

/* Once the count is lowered its memory may be freed: only its address is used then. */
static inline void ilk__calls_end(ILK_ATOMIC(uint32_t) * calls) ILK_NONBLOCKING {
    /* HK2 release, pairs with HK3.
     * Carries: what the call did and read.
     * If weaker: the owner replaces what the call uses, or frees it, under the call. */
    if ((ilk_atomic_fetch_sub(calls, 1, memory_order_release) & ILK__CALLS_AWAITED) != 0) {
        ilk_park_wake(calls, ILK_PARK_ALL);
    }
}

/* By one thread at a time, once no call begins any more: waits until no more than `own` are under way. */
static inline void ilk__calls_await(ILK_ATOMIC(uint32_t) * calls, uint32_t own) {
    /* HK3 acquire, pairs with HK2: the calls that have ended touch nothing more. */
    uint32_t now = ilk_atomic_load(calls, memory_order_acquire);
    while ((now & ~ILK__CALLS_AWAITED) > own) {
        /* HK4 relaxed: asks for a wake-up; HK3 reads what the value carries. */
        if (ilk_atomic_compare_exchange(calls, &now, now | ILK__CALLS_AWAITED, memory_order_relaxed,
                                        memory_order_relaxed)) {
            ILK__REACHES(CALLS_WAITED_FOR, true);
            (void)ilk_park_wait(calls, now | ILK__CALLS_AWAITED, ILK_FOREVER);
        }
        now = ilk_atomic_load(calls, memory_order_acquire); /* HK3 */
    }
    if ((now & ILK__CALLS_AWAITED) != 0) {
        /* HK5 relaxed: takes the request back, or each later call would wake no thread. One owner waits at a time: it
         * is this one's own. */
        ilk_atomic_fetch_and(calls, ~ILK__CALLS_AWAITED, memory_order_relaxed);
    }
}

#endif
