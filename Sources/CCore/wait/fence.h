/* SPDX-License-Identifier: Apache-2.0
 *
 * Fences on every thread, without a light side: for what is stored without ilk__fence_light, as in the rings, by
 * publishers beside an event count and by the readers of a fence-free lock, or by another copy of the library,
 * whose choice is its own.
 */
#ifndef INTERLOCK_WAIT_FENCE_H
#define INTERLOCK_WAIT_FENCE_H

#include <interlock/inline/fence.h>

/* False: the kernel has refused membarrier. Who may choose fences another way. */
static inline bool ilk__fence_everywhere_is_cheap(void) ILK_NONBLOCKING {
    /* FN9 relaxed: a guess. True read late, FENCED is left down, and the next sleeper fences everywhere itself;
     * false read early costs fences. */
    return ilk_atomic_load(&ilk__membarrier_works, memory_order_relaxed);
}

/* On return every thread of the process has executed a full fence: by membarrier(2), or where refused after
 * ten milliseconds. */
void ilk__fence_everywhere(void);

/* The same by membarrier(2) only; where refused, false and no fence. */
bool ilk__fence_everywhere_at_once(void);

#endif
