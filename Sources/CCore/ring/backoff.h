/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a thread looks at a ring before it sleeps. The other side is often halfway through, and sleeping
 * and waking cost microseconds on both sides, so looking for a while pays; a ring that is fed slowly would
 * burn that while for every element. So each side of a ring counts the waits in a row that looked in vain:
 * after a few of them its threads sleep at once, but for one wait in sixteen, which finds out whether looking
 * has come to pay again.
 *
 * And how long a side lets the other get ahead when it finds nothing, sleeping or not: a back-off.
 */
#ifndef INTERLOCK_RING_BACKOFF_H
#define INTERLOCK_RING_BACKOFF_H

#include "platform/yield.h"
#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Looks before sleeping: the last ones give the core away instead of pausing, because the other side may be
 * waiting for this very core. Chosen by bench rings, blocking. */
enum { SPIN_LIMIT = 80 };
enum { PAUSES = 64 };
enum { MOST_FAILED_SPINS = 4, WAITS_BETWEEN_SPINS = 16 };

/* Once in how many elements FENCED is tried to be without: a heavy fence, which may cost ten microseconds, is
 * then some nanoseconds an element. */
enum { FENCED_STEPS = 1024 };

static inline int probes_before_park(uint32_t failed_spins) {
    return failed_spins < MOST_FAILED_SPINS || failed_spins % WAITS_BETWEEN_SPINS == 0 ? SPIN_LIMIT : 0;
}

/* The count after a wait that looking has ended. One that was a try may have been a stroke of luck: it earns
 * one more. */
static inline uint32_t after_success(uint32_t failed_spins) {
    return failed_spins < MOST_FAILED_SPINS ? 0 : MOST_FAILED_SPINS - 1;
}

static inline void pause_for(uint32_t pauses) ILK_NONBLOCKING {
    for (; pauses > 0; pauses--) {
        ilk_cpu_relax();
    }
}

/* In ilk_mpmc. The back-off, in pauses, of a side that finds nothing `run` elements after it last found nothing.
 * None where the run was no longer than the pauses before it: who waits for single elements, or beside a side
 * slower than a pause an element, never pauses. A back-off that finds nothing at all is the last, which its
 * caller sees to. */
static inline uint32_t back_off_before_probe(uint32_t back_off, size_t run) {
    if (run <= (size_t)back_off + 1) {
        return 0;
    }
    return back_off == 0 ? 1 : back_off;
}

/* In ilk_mpmc. How far ahead is far enough: a quarter of the ring or 256 elements. And the back-off that follows
 * one which has not let the other side get so far. Chosen by bench rings, try. */
enum { LONGEST_BACK_OFF = 16, MUCH = 256, SLOTS_PER_PAUSE = 16 };
/* In a smaller ring nobody can get ahead. */
enum { SMALLEST_WITH_BACK_OFF = SLOTS_PER_PAUSE };

static inline size_t far_enough(size_t capacity) {
    return capacity / 4 < MUCH ? capacity / 4 : MUCH;
}

static inline uint32_t longer_back_off(uint32_t back_off, size_t capacity) {
    return back_off < LONGEST_BACK_OFF && back_off < capacity / SLOTS_PER_PAUSE ? back_off * 2 + 1 : back_off;
}

static inline void ring_pause_before_probe(int probe) {
    if (probe < PAUSES) {
        ilk_cpu_relax();
    } else {
        ilk__thread_yield();
    }
}

#endif
