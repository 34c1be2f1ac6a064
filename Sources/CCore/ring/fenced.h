/* SPDX-License-Identifier: Apache-2.0
 *
 * When a ring tries to clear FENCED, the flag that a sleeper leaves behind (docs/rings.md): once in 1,024
 * elements, which makes a membarrier of ten microseconds ten nanoseconds an element. bench rings, blocking.
 */
#ifndef INTERLOCK_RING_FENCED_H
#define INTERLOCK_RING_FENCED_H

#include <stdint.h>

enum { FENCED_STEPS = 1024 };

/* A batch may step over any one value, not over a quotient. */
static inline uint64_t fenced_epoch(uint64_t counter) {
    return counter / FENCED_STEPS;
}

#endif
