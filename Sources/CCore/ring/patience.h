/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a thread looks at a ring before it sleeps. The other side is often halfway through, and sleeping
 * and waking cost microseconds on both sides, so looking for a while pays; a ring that is fed slowly would
 * burn that while for every element. So each side of a ring counts the waits in a row that looked in vain:
 * after a few of them its threads sleep at once, but for one wait in sixteen, which finds out whether looking
 * has come to pay again.
 *
 * And how long a side lets the other get ahead when it finds nothing, sleeping or not: a lull.
 */
#ifndef INTERLOCK_RING_PATIENCE_H
#define INTERLOCK_RING_PATIENCE_H

#include "threads/yield.h"
#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Looks before sleeping: the last ones give the core away instead of pausing, because the other side may be
 * waiting for this very core. Chosen by bench rings, blocking. */
enum { SPIN_LIMIT = 80 };
enum { PAUSES = 64 };
enum { TRIES_IN_VAIN = 4, WAITS_BETWEEN_TRIES = 16 };

/* Once in how many elements FENCED is tried to be without: a heavy fence, which may cost ten microseconds, is
 * then some nanoseconds an element. */
enum { FENCED_STEPS = 1024 };

static inline int looks_before_sleep(uint32_t waits_in_vain) {
    return waits_in_vain < TRIES_IN_VAIN || waits_in_vain % WAITS_BETWEEN_TRIES == 0 ? SPIN_LIMIT : 0;
}

/* The count after a wait that looking has ended. One that was a try may have been a stroke of luck: it earns
 * one more. */
static inline uint32_t after_success(uint32_t waits_in_vain) {
    return waits_in_vain < TRIES_IN_VAIN ? 0 : TRIES_IN_VAIN - 1;
}

static inline void pause_for(uint32_t pauses) ILK_NONBLOCKING {
    for (; pauses > 0; pauses--) {
        ilk_cpu_relax();
    }
}

/* In ilk_mpmc. The lull, in pauses, of a side that finds nothing `run` elements after it last found nothing.
 * None where the run was no longer than the pauses before it: who waits for single elements, or beside a side
 * slower than a pause an element, never pauses. A lull that finds nothing at all is the last, which its
 * caller sees to. */
static inline uint32_t lull_before_look(uint32_t lull, size_t run) {
    if (run <= (size_t)lull + 1) {
        return 0;
    }
    return lull == 0 ? 1 : lull;
}

/* In ilk_mpmc. How far ahead is far enough: a quarter of the ring or 256 elements. And the lull that follows
 * one which has not let the other side get so far. Chosen by bench rings, try. */
enum { LONGEST_LULL = 16, MUCH = 256, SLOTS_PER_PAUSE = 16 };
/* In a smaller ring nobody can get ahead. */
enum { SMALLEST_WITH_LULLS = SLOTS_PER_PAUSE };

static inline size_t far_enough(size_t capacity) {
    return capacity / 4 < MUCH ? capacity / 4 : MUCH;
}

static inline uint32_t longer_lull(uint32_t lull, size_t capacity) {
    return lull < LONGEST_LULL && lull < capacity / SLOTS_PER_PAUSE ? lull * 2 + 1 : lull;
}

static inline void ring_pause_before_look(int turn) {
    if (turn < PAUSES) {
        ilk_cpu_relax();
    } else {
        ilk__thread_yield();
    }
}

#endif
