/* SPDX-License-Identifier: Apache-2.0
 *
 * Adaptive back-off: how long a side of a ring that finds nothing pauses before it probes once more, so that
 * the other side gets ahead undisturbed. Two sides of the same speed otherwise meet at every element, and
 * hand its cache lines to and fro. Each ring has its rule below; docs/rings.md has the figures. The spin
 * before parking is in wait/spin.h.
 */
#ifndef INTERLOCK_RING_BACKOFF_H
#define INTERLOCK_RING_BACKOFF_H

#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Back-offs are 0, 1, 3, 7, 15 or 31 pause instructions: one below LONGEST_BACK_OFF may still double. Chosen
 * by bench rings, try. */
enum { LONGEST_BACK_OFF = 16 };

static inline void pause_for(uint32_t pauses) ILK_NONBLOCKING {
    for (; pauses > 0; pauses--) {
        ilk_cpu_relax();
    }
}

/* ---- ilk_spsc ---- */

/* "Much" is a quarter of the ring, or 64 elements, or four batches of a side that asks for more. Chosen by
 * bench rings, try and batches. */
enum { MUCH_FOUND = 64, BATCHES_FOUND = 4 };

/* The back-off after one that ended with `found` elements, or slots, where there were none: longer where it
 * found less than much, shorter where it found more than half of the ring. */
static inline uint32_t spsc_back_off(size_t capacity, uint32_t back_off, size_t found, size_t wanted) {
    const size_t quarter = capacity / 4;
    if (found > 2 * quarter) {
        return back_off / 2;
    }
    const bool much = found >= quarter || (found >= MUCH_FOUND && found / BATCHES_FOUND >= wanted);
    return !much && back_off < LONGEST_BACK_OFF ? back_off * 2 + 1 : back_off;
}

/* ---- ilk_mpmc ---- */

/* The other side is far enough ahead by a quarter of the ring or 256 elements. In a ring of fewer slots than
 * pass during one pause no side gets ahead. Chosen by bench rings, try. */
enum { FAR_AHEAD = 256, SLOTS_PER_PAUSE = 16, SMALLEST_WITH_BACK_OFF = SLOTS_PER_PAUSE };

/* The back-off of a side that finds nothing `run` elements after it last found nothing. None where the run
 * was no longer than the pauses before it: a thread that waits for single elements, or for a side slower than
 * an element a pause, never pauses. The caller ends a back-off after which it still finds nothing. */
static inline uint32_t mpmc_back_off(uint32_t back_off, size_t run) {
    if (run <= (size_t)back_off + 1) {
        return 0;
    }
    return back_off == 0 ? 1 : back_off;
}

static inline size_t far_enough(size_t capacity) {
    return capacity / 4 < FAR_AHEAD ? capacity / 4 : FAR_AHEAD;
}

/* The back-off after one that did not let the other side get far enough ahead. */
static inline uint32_t longer_back_off(uint32_t back_off, size_t capacity) {
    return back_off < LONGEST_BACK_OFF && back_off < capacity / SLOTS_PER_PAUSE ? back_off * 2 + 1 : back_off;
}

#endif
