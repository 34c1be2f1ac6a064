/* SPDX-License-Identifier: Apache-2.0
 *
 * The asymmetric fence: two threads that each store, fence and load the other's variable must not
 * both miss the other's store. Where the system has membarrier(2), the frequent side pays nothing
 * at run time (ilk__fence_light is a compiler fence) and the rare side makes every running thread
 * of the process execute a full fence (ilk__fence_heavy, a system call). Where membarrier is
 * refused or missing, both sides are full fences. One choice for the process, made by a constructor in
 * wait/fence.c before main; if membarrier is refused later, in a sandbox that the process has entered, it
 * is changed once, from the one form to the other.
 *
 * Source: Linux membarrier(2), MEMBARRIER_CMD_PRIVATE_EXPEDITED; folly's asymmetric fences and
 * P1202 use the same pair of names.
 */
#ifndef INTERLOCK_INLINE_FENCE_H
#define INTERLOCK_INLINE_FENCE_H

#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <stdbool.h>

ILK_BEGIN_DECLARATIONS

/* True when the light side may leave its fence out. Written by a constructor, and once more if the heavy side
 * finds membarrier refused, which then waits for those who have seen true. A thread that reads false early pays a
 * fence it did not need, which is safe, because the heavy side executes a full fence of its own in either
 * case. */
extern ILK_ATOMIC(bool) ilk__membarrier_works;

/* The rare side: on return every thread of the process has executed a full fence, or fences in
 * ilk__fence_light. */
void ilk__fence_heavy(void);

/* The frequent side. */
static inline void ilk__fence_light(void) ILK_NONBLOCKING {
    /* FN1 relaxed: decided before main; who changes it to false waits until we have come through. */
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
