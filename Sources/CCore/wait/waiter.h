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
#include <interlock/inline/atomic.h>
#include <interlock/status.h>
#include <stdbool.h>
#include <stdint.h>

struct ilk__waiter {
    TAILQ_ENTRY(ilk__waiter) link; /* guarded by the queue lock; then the granter's alone */
    ILK_ATOMIC(uint32_t) granted;  /* 0 waiting, 1 granted; the word slept on */
    bool queued;                   /* guarded by the queue lock */
    uint8_t kind;                  /* what it waits for, in the primitive's terms */
};

/* Sleeps until the grant. ILK_TIMEDOUT: not granted so far. */
ilk_status ilk__waiter_sleep(struct ilk__waiter *waiter, uint64_t deadline_ns);

/* `waiter` may be gone when this returns. */
void ilk__waiter_grant(struct ilk__waiter *waiter);

#endif
