/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of a ring's hook under way: counted (wait/calls.h), so that set_notify can wait for them, and listed by
 * thread, so that a hook may call set_notify. docs/rings.md draws the protocol.
 */
#ifndef INTERLOCK_RING_HOOK_H
#define INTERLOCK_RING_HOOK_H

#include "platform/local.h"
#include "wait/calls.h"

/* On the stack of its thread. */
struct ilk__hook_call {
    const void *ring;
    const struct ilk__hook_call *outer; /* the call of any ring's hook that this one is made from */
};

/* Counted from before the arm is taken down to the hook's return. */
static inline void hook_begin(ILK_ATOMIC(uint32_t) * calls, const void *ring, struct ilk__hook_call *call)
    ILK_NONBLOCKING {
    struct ilk__thread_state *thread = ilk__thread_state();
    *call = (struct ilk__hook_call){ring, thread->hook_calls};
    thread->hook_calls = call;
    ilk__calls_begin(calls);
}

static inline void hook_end(ILK_ATOMIC(uint32_t) * calls, const struct ilk__hook_call *call) ILK_NONBLOCKING {
    ilk__thread_state()->hook_calls = call->outer;
    ilk__calls_end(calls);
}

/* Waits until only the calling thread's calls are under way. Nothing is armed: no call begins. */
static inline void hook_await_calls(ILK_ATOMIC(uint32_t) * calls, const void *ring) {
    uint32_t own = 0;
    for (const struct ilk__hook_call *call = ilk__thread_state()->hook_calls; call != NULL;
         call = call->outer) {
        own += call->ring == ring ? 1 : 0;
    }
    ilk__calls_await(calls, own);
}

#endif
