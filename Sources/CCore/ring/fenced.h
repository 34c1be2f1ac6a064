/* SPDX-License-Identifier: Apache-2.0
 *
 * When a ring tries to do without FENCED, the flag that a sleeper leaves behind (docs/rings.md): once in so many
 * elements. A heavy fence, which may cost ten microseconds, is then some nanoseconds an element. Chosen by bench
 * rings, blocking.
 */
#ifndef INTERLOCK_RING_FENCED_H
#define INTERLOCK_RING_FENCED_H

#include <stdint.h>

enum { FENCED_STEPS = 1024 };

/* The period in which the counter stands. Quotients are compared, for a batch may step over any one number. */
static inline uint64_t fenced_epoch(uint64_t counter) {
    return counter / FENCED_STEPS;
}

#endif
