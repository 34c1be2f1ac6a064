/* SPDX-License-Identifier: Apache-2.0
 *
 * The asymmetric fence: two threads that each store, fence and load the other's variable must not both miss
 * the other's store. With membarrier(2) the frequent side pays nothing at run time (ilk__fence_light is a
 * compiler fence), and the rare side makes every running thread of the process execute a full fence
 * (ilk__fence_heavy, a system call). Where membarrier is missing or refused, both sides are full fences. A
 * constructor in wait/fence.c chooses before main; the choice changes once at most, when a sandbox refuses
 * membarrier later.
 *
 * Source: Linux membarrier(2), MEMBARRIER_CMD_PRIVATE_EXPEDITED. folly's asymmetric fences and P1202 use
 * these names.
 */
#ifndef INTERLOCK_INLINE_FENCE_H
#define INTERLOCK_INLINE_FENCE_H

#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <stdbool.h>

ILK_BEGIN_DECLARATIONS

/* True: the light side leaves its fence out. Written by the constructor, and by a heavy side that finds
 * membarrier refused and then waits for the threads that have read true. A thread that reads false early pays
 * a fence too many, which is safe: the heavy side executes a full fence in either case. */
extern ILK_ATOMIC(bool) ilk__membarrier_works;

/* The rare side. On return every thread of the process has executed a full fence, or fences in
 * ilk__fence_light. */
void ilk__fence_heavy(void);

/* The frequent side. */
static inline void ilk__fence_light(void) ILK_NONBLOCKING {
    /* FN1 relaxed: decided before main; the thread that changes it to false waits until this one has come
     * through. */
    if (ILK_LIKELY(ilk_atomic_load(&ilk__membarrier_works, memory_order_relaxed))) {
        ilk_compiler_fence();
    } else {
        /* FN2 seq_cst, pairs with FN3 (the heavy side's fence).
         * Forbids: store x; fence; load y = old beside store y; fence; load x = old. */
        ilk_atomic_fence(memory_order_seq_cst);
    }
}

ILK_END_DECLARATIONS

#endif
