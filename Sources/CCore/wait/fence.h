/* SPDX-License-Identifier: Apache-2.0
 *
 * Heavy fences whose other side executes a compiler barrier in every case, and not ilk__fence_light, which is a fence
 * where membarrier is refused. That other side is a ring's push or pop, a publisher beside an event count, a reader of
 * a fence-free lock, or the code of another copy of the library.
 */
#ifndef INTERLOCK_WAIT_FENCE_H
#define INTERLOCK_WAIT_FENCE_H

#include <interlock/inline/fence.h>

/* False: the kernel has refused membarrier, so that a heavy fence takes ten milliseconds. A caller then chooses a
 * protocol in which each side executes a fence of its own. */
static inline bool ilk__fence_heavy_is_cheap(void) ILK_NONBLOCKING {
    /* FN9 relaxed: a guess. Where true is read late, FENCED is left down, and the next sleeper executes a heavy fence
     * itself; false read early costs fences. */
    return ilk_atomic_load(&ilk__membarrier_works, memory_order_relaxed);
}

/* A heavy fence: on return every thread of the process has executed a fence. membarrier(2) does it, or, where that is
 * refused, a sleep of ten milliseconds. */
void ilk__fence_heavy_alone(void);

/* A heavy fence by membarrier(2) only. Where that is refused it returns false and has made no fence. */
bool ilk__fence_heavy_try(void);

#endif
