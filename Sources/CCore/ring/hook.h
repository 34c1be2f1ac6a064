/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is inside a ring's hook, for both rings. A thread that takes an arm down raises the count of
 * calls first and lowers it when the hook has returned, so that set_notify can wait until no call of the old
 * hook is under way. The hook itself may call set_notify: each call stands on a list of its thread, which
 * tells how many of those counted are the caller's own. docs/rings.md draws the protocol of arms and calls.
 */
#ifndef INTERLOCK_RING_HOOK_H
#define INTERLOCK_RING_HOOK_H

#include "platform/local.h"
#include <interlock/inline/atomic.h>
#include <interlock/park.h>

/* hook_calls: how many threads are between taking an arm down and the hook's return, and whether set_notify
 * waits for them. */
#define HOOK_AWAITED UINT32_C(0x80000000)

/* A call that is under way, on the stack of its thread. */
struct ilk__hook_call {
    const void *ring;
    const struct ilk__hook_call *outer; /* the hook of another ring, or of the same, that made this one */
};

/* Before the arm is taken down. */
static inline void hook_begin(ILK_ATOMIC(uint32_t) * calls, const void *ring, struct ilk__hook_call *call)
    ILK_NONBLOCKING {
    struct ilk__thread_state *thread = ilk__thread_state();
    *call = (struct ilk__hook_call){ring, thread->hook_calls};
    thread->hook_calls = call;
    /* HK1 relaxed: the step that takes the arm down follows it and releases (SP8, MP13); who finds the arm
     * down finds this. */
    ilk_atomic_fetch_add(calls, 1, memory_order_relaxed);
}

/* After the hook. The ring may be gone once it is counted out: only its address is used then. */
static inline void hook_end(ILK_ATOMIC(uint32_t) * calls, const struct ilk__hook_call *call) ILK_NONBLOCKING {
    ilk__thread_state()->hook_calls = call->outer;
    /* HK2 release, pairs with HK3 (acquire, awaiting calls).
     * Carries: what the hook did, and that it has read the ring's hook and context.
     * If weaker: set_notify replaces them, and its caller frees the context, under a call. */
    if ((ilk_atomic_fetch_sub(calls, 1, memory_order_release) & HOOK_AWAITED) != 0) {
        ilk_park_wake(calls, ILK_PARK_ALL);
    }
}

/* Waits until no call is under way but those that the calling thread itself is in. Nothing is armed, so that
 * none begins. */
static inline void hook_await_calls(ILK_ATOMIC(uint32_t) * calls, const void *ring) {
    uint32_t own = 0;
    for (const struct ilk__hook_call *call = ilk__thread_state()->hook_calls; call != NULL;
         call = call->outer) {
        own += call->ring == ring ? 1 : 0;
    }
    /* HK3 acquire, pairs with HK2 (release, after the hook). See there. */
    uint32_t now = ilk_atomic_load(calls, memory_order_acquire);
    while ((now & ~HOOK_AWAITED) > own) {
        /* HK4 relaxed: asks to be woken; what the value carries is read by HK3. A word that has changed ends
         * the park. */
        if (ilk_atomic_compare_exchange(calls, &now, now | HOOK_AWAITED, memory_order_relaxed,
                                        memory_order_relaxed)) {
            (void)ilk_park_wait(calls, now | HOOK_AWAITED, ILK_FOREVER);
        }
        now = ilk_atomic_load(calls, memory_order_acquire); /* HK3 */
    }
}

#endif
