/* SPDX-License-Identifier: Apache-2.0
 *
 * Adaptive back-off: how long a side of a ring that finds nothing pauses before it probes once more.
 * docs/rings.md has the reason and the figures; wait/spin.h the spin before parking.
 */
#ifndef INTERLOCK_RING_BACKOFF_H
#define INTERLOCK_RING_BACKOFF_H

#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <stddef.h>
#include <stdint.h>

/* Back-offs are 0, 1, 3, 7, 15 or 31 pause instructions: one below this may still double. bench rings,
 * try. */
enum { LONGEST_BACK_OFF = 16 };

static inline void pause_for(uint32_t pauses) ILK_NONBLOCKING {
    for (; pauses > 0; pauses--) {
        ilk_cpu_relax();
    }
}

/* ---- ilk_spsc ---- */

/* After one that found `found` elements or slots where there were none: none where they are no more than one a
 * pause; longer below a quarter of the ring, shorter above half of it. Where none was before, the fast paths know
 * the answer: ilk__spsc_begins_back_off. bench rings, try. */
static inline uint32_t spsc_back_off(size_t capacity, uint32_t back_off, size_t found) {
    if (found <= (size_t)back_off + 1) {
        return 0;
    }
    const size_t quarter = capacity / 4;
    if (found > 2 * quarter) {
        return back_off / 2;
    }
    return found < quarter && back_off < LONGEST_BACK_OFF ? back_off * 2 + 1 : back_off;
}

/* ---- ilk_mpmc ---- */

/* The other side is far enough ahead by a quarter of the ring or 256 elements; nowhere in a ring of fewer
 * slots than pass during one pause. bench rings, try. */
enum { FAR_AHEAD = 256, SLOTS_PER_PAUSE = 16, SMALLEST_WITH_BACK_OFF = SLOTS_PER_PAUSE };

/* The back-off of a side that finds nothing `run` elements after it last found nothing: none if the run was no longer
 * than the pauses before. A thread that waits for single elements, or for a side slower than an element a pause, never
 * pauses. The caller ends a back-off after which it still finds nothing. */
static inline uint32_t mpmc_back_off(uint32_t back_off, size_t run) {
    if (run <= (size_t)back_off + 1) {
        return 0;
    }
    return back_off == 0 ? 1 : back_off;
}

static inline size_t far_enough(size_t capacity) {
    return capacity / 4 < FAR_AHEAD ? capacity / 4 : FAR_AHEAD;
}

/* After one in which the other side did not get far enough ahead. */
static inline uint32_t longer_back_off(uint32_t back_off, size_t capacity) {
    return back_off < LONGEST_BACK_OFF && back_off < capacity / SLOTS_PER_PAUSE ? back_off * 2 + 1 : back_off;
}

#endif
