/* SPDX-License-Identifier: Apache-2.0
 *
 * The asymmetric fence: two threads that each store, fence and load the other's variable must not both miss
 * the other's store. The frequent side executes a light fence: with membarrier(2) it is a compiler barrier. The
 * rare side executes a heavy fence: membarrier(2), a system call that makes every running thread of the process
 * execute a fence. Where membarrier is missing or refused, both are fences of their own thread; the core's own frequent
 * sides keep the barrier and are sent through a fence by a flag instead (wait/fence.h). A constructor in
 * wait/fence.c chooses before main; the choice changes once at most, when a sandbox refuses membarrier later.
 *
 * Source: Linux membarrier(2), MEMBARRIER_CMD_PRIVATE_EXPEDITED; the names are those of folly and P1202.
 */
#ifndef INTERLOCK_INLINE_FENCE_H
#define INTERLOCK_INLINE_FENCE_H

#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <stdbool.h>

ILK_BEGIN_DECLARATIONS

/* True: a light fence is a compiler barrier. A heavy fence that finds membarrier refused makes it false, and
 * then waits for the threads that read true. To read false early only costs a fence: the heavy fence contains
 * one of its own thread in either case. */
extern ILK_ATOMIC(bool) ilk__membarrier_works;

/* The heavy fence: on return every thread of the process has executed a fence, or executes one as its light fence. */
void ilk__fence_heavy(void);

/* The light fence. */
static inline void ilk__fence_light(void) ILK_NONBLOCKING {
    /* FN1 relaxed: decided before main; a thread that makes it false waits until this one has come
     * through. */
    if (ILK_LIKELY(ilk_atomic_load(&ilk__membarrier_works, memory_order_relaxed))) {
        ilk_compiler_fence();
    } else {
        /* FN2 seq_cst, pairs with FN3.
         * Forbids: store x; fence; load y = old beside store y; fence; load x = old. */
        ilk_atomic_fence(memory_order_seq_cst);
    }
}

ILK_END_DECLARATIONS

#endif
