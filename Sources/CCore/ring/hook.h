/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of a ring's hook under way: counted, so that set_notify can wait for them, and listed by thread,
 * so that a hook may call set_notify. docs/rings.md draws the protocol.
 */
#ifndef INTERLOCK_RING_HOOK_H
#define INTERLOCK_RING_HOOK_H

#include "platform/local.h"
#include "platform/reaches.h"
#include <interlock/inline/atomic.h>
#include <interlock/park.h>

/* hook_calls counts the threads from taking an arm down to the hook's return; this bit: set_notify waits. That raises
 * it before it sleeps, and takes it down once it waits no more. */
#define HOOK_AWAITED UINT32_C(0x80000000)

/* On the stack of its thread. */
struct ilk__hook_call {
    const void *ring;
    const struct ilk__hook_call *outer; /* the call of any ring's hook that this one is made from */
};

static inline void hook_begin(ILK_ATOMIC(uint32_t) * calls, const void *ring, struct ilk__hook_call *call)
    ILK_NONBLOCKING {
    struct ilk__thread_state *thread = ilk__thread_state();
    *call = (struct ilk__hook_call){ring, thread->hook_calls};
    thread->hook_calls = call;
    /* HK1 relaxed: the step that takes the arm down follows and releases (SP8, MP13); a thread that finds the
     * arm down finds this. */
    ilk_atomic_fetch_add(calls, 1, memory_order_relaxed);
}

/* Once the count is lowered the ring may be freed: only its address is used then. */
static inline void hook_end(ILK_ATOMIC(uint32_t) * calls, const struct ilk__hook_call *call) ILK_NONBLOCKING {
    ilk__thread_state()->hook_calls = call->outer;
    /* HK2 release, pairs with HK3.
     * Carries: what the hook did, and that it has read the ring's hook and context.
     * If weaker: set_notify replaces them, and its caller frees the context, under a call. */
    if ((ilk_atomic_fetch_sub(calls, 1, memory_order_release) & HOOK_AWAITED) != 0) {
        ilk_park_wake(calls, ILK_PARK_ALL);
    }
}

/* Waits until only the calling thread's calls are under way. Nothing is armed: no call begins. */
static inline void hook_await_calls(ILK_ATOMIC(uint32_t) * calls, const void *ring) {
    uint32_t own = 0;
    for (const struct ilk__hook_call *call = ilk__thread_state()->hook_calls; call != NULL;
         call = call->outer) {
        own += call->ring == ring ? 1 : 0;
    }
    /* HK3 acquire, pairs with HK2: the calls that have ended have read the hook and its context: both
     * may be replaced. */
    uint32_t now = ilk_atomic_load(calls, memory_order_acquire);
    while ((now & ~HOOK_AWAITED) > own) {
        /* HK4 relaxed: asks for a wake-up; HK3 reads what the value carries. */
        if (ilk_atomic_compare_exchange(calls, &now, now | HOOK_AWAITED, memory_order_relaxed,
                                        memory_order_relaxed)) {
            ILK__REACHES(HOOK_WAITED_FOR, true);
            (void)ilk_park_wait(calls, now | HOOK_AWAITED, ILK_FOREVER);
        }
        now = ilk_atomic_load(calls, memory_order_acquire); /* HK3 */
    }
    if ((now & HOOK_AWAITED) != 0) {
        /* HK5 relaxed: takes the request back, or each later call would wake no thread. One set_notify at a time: it is
         * this one's own. */
        ilk_atomic_fetch_and(calls, ~HOOK_AWAITED, memory_order_relaxed);
    }
}

#endif
