/* SPDX-License-Identifier: Apache-2.0
 *
 * When FENCED comes down, the flag that a thread about to sleep leaves behind (wait/event_count.h, docs/rings.md).
 * While it is up, publishers fence and the next sleeper needs no heavy fence. So it pays where sleeping goes on. A
 * publisher that finds no thread waiting takes it down once in 1,024 steps of a counter of its own: a heavy fence of
 * ten microseconds then costs ten nanoseconds a step (bench rings, blocking). It stays up where membarrier is refused,
 * for a sleeper would wait ten milliseconds to raise it again.
 */
#ifndef INTERLOCK_WAIT_FENCED_H
#define INTERLOCK_WAIT_FENCED_H

#include "wait/fence.h"
#include <stdint.h>

enum { ILK__FENCED_STEPS = 1024 };

/* The quotient of the counter: a batch may step over any one value. */
static inline uint64_t ilk__fenced_period(uint64_t counter) {
    return counter / ILK__FENCED_STEPS;
}

/* `period`: the last in which FENCED was due. The caller keeps the new one, which is `counter`'s. */
static inline bool ilk__fenced_is_due(uint64_t counter, uint64_t period) ILK_NONBLOCKING {
    return ilk__fenced_period(counter) != period && ilk__fence_heavy_is_cheap();
}

#endif
