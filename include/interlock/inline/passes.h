/* SPDX-License-Identifier: Apache-2.0
 *
 * How often a task may still go before the first of those that wait in a queue of the Swift facade
 * (Sources/SwiftFacade/Sync/Rings/Internal/MPMCWaiters.swift): the bound on overtaking. Not installed, like
 * thread_access.h.
 *
 *   left      moved by                                        to
 *   any       a task that becomes the first in the queue;     ILK__PASSES + 1
 *             a service that leaves another one first
 *   any       a task or a service that finds the queue empty  0
 *   n > 1     a task that goes before the queue               n - 1
 *   1         nothing: later tasks join the queue, and one that finds it empty writes 0
 * The first two write under the queue's lock. A first task that gives up leaves `left` behind: too low for the next
 * one, never too high.
 */
#ifndef INTERLOCK_INLINE_PASSES_H
#define INTERLOCK_INLINE_PASSES_H

#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <stdbool.h>
#include <stdint.h>

ILK_BEGIN_DECLARATIONS

/* What is handed over suspends and resumes a task: some microseconds, against tens of nanoseconds for what is there. So
 * one in 1,024 must be at most. */
#define ILK__PASSES UINT32_C(1024)

/* All zero bits: no task waits. */
typedef struct ilk__passes {
    ILK_ATOMIC(uint32_t) left;
} ilk__passes;

/* Under the queue's lock: whether a task is the first in it now. */
static inline void ilk__passes_begin(ilk__passes *passes, bool waits) ILK_NONBLOCKING {
    /* PA1 relaxed: decides only which task goes first; what they exchange the ring orders. */
    ilk_atomic_store(&passes->left, waits ? ILK__PASSES + 1 : 0, memory_order_relaxed);
}

/* May the caller go before the queue? Counts it. */
ILK_ALWAYS_INLINE bool ilk__passes_take(ilk__passes *passes) ILK_NONBLOCKING {
    uint32_t left = ilk_atomic_load(&passes->left, memory_order_relaxed); /* PA1 */
    while (ILK_UNLIKELY(left > 1)) {
        if (ilk_atomic_compare_exchange_weak(&passes->left, &left, left - 1, memory_order_relaxed,
                                             memory_order_relaxed)) { /* PA1 */
            return true;
        }
    }
    return left == 0;
}

ILK_END_DECLARATIONS

#endif
