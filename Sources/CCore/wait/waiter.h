/* SPDX-License-Identifier: Apache-2.0
 *
 * One waiting thread in a first-come-first-served queue. The waiter lies on its thread's stack; each sleeps
 * on a word of its own: exactly the chosen one wakes.
 *
 * Life of a waiter
 *   1. Its thread queues it, under the queue lock (`queued` true).
 *   2. A granter takes it out, under the queue lock (`queued` false), and calls ilk__waiter_grant once the
 *      step that gives it what it waits for is visible: the last touch by any thread but the owner. Or the
 *      owner takes it out, under the queue lock, when its time is up.
 * Must not happen: the owner returns while a granter will still touch the waiter. So a late owner that finds
 * `queued` false waits for the grant.
 */
#ifndef INTERLOCK_WAIT_WAITER_H
#define INTERLOCK_WAIT_WAITER_H

#include "platform/bsd.h"
#include "wait/spin.h"
#include <interlock/inline/atomic.h>
#include <interlock/status.h>
#include <stdbool.h>
#include <stdint.h>

struct ilk__waiter {
    TAILQ_ENTRY(ilk__waiter) link;              /* guarded by the queue lock; then the granter's alone */
    struct ilk__waiter *before;                 /* the one in front when it was taken out; guarded likewise */
    ILK_ATOMIC(uint32_t) granted;               /* the word slept on; see below */
    bool queued;                                /* guarded by the queue lock */
    uint8_t kind;                               /* what it waits for, in the primitive's terms */
    void (*resume)(struct ilk__waiter *waiter); /* not NULL: no thread sleeps; the grant is this call */
};

/* The states of `granted`: WAITS -> SLEEPS by the owner, about to park; either -> GRANTED by the granter, which wakes
 * from SLEEPS only. An owner that still spins costs no system call.
 * Must not happen: the granter finds WAITS, and the owner parks. Both steps are read-modify-writes of one word. */
enum { ILK__WAITER_WAITS = 0, ILK__WAITER_GRANTED = 1, ILK__WAITER_SLEEPS = 2 };

/* Spins for `policy`, then sleeps until the grant. ILK_TIMEDOUT: not granted so far. */
ilk_status ilk__waiter_await(struct ilk__waiter *waiter, struct ilk__spin_policy policy,
                             uint64_t deadline_ns);

/* Sleeps until the grant, without a spin. */
ilk_status ilk__waiter_sleep(struct ilk__waiter *waiter, uint64_t deadline_ns);

/* Not a wait. */
bool ilk__waiter_is_granted(const struct ilk__waiter *waiter);

/* `waiter` may be gone when this returns. */
void ilk__waiter_grant(struct ilk__waiter *waiter);

/* The grant without `resume`, which may end with it: the last touch. */
void ilk__waiter_wake(struct ilk__waiter *waiter);

#endif
