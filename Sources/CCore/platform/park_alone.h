/* SPDX-License-Identifier: Apache-2.0
 *
 * A sleep that no thread ends, for a wait that only time ends. nanosleep(2) would be a cancellation point.
 */
#ifndef INTERLOCK_PLATFORM_PARK_ALONE_H
#define INTERLOCK_PLATFORM_PARK_ALONE_H

#include <interlock/park.h>

/* Until `deadline_ns`; a signal, or a system that refuses to sleep, ends it early. */
static inline void ilk__park_alone(uint64_t deadline_ns) {
    ILK_ATOMIC(uint32_t) word;
    ilk_atomic_store(&word, 0, memory_order_relaxed); /* PK2 relaxed: this thread's alone. */
    (void)ilk_park_wait(&word, 0, deadline_ns);
}

#endif
