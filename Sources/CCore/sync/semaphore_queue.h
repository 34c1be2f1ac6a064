/* SPDX-License-Identifier: Apache-2.0
 *
 * A semaphore's permits, and the queue for them. Also a place in the queue without a thread: for a waiter that has a
 * `resume` (wait/waiter.h), which the thread that hands it a permit calls, perhaps in a signal handler. It ends with
 * ilk__waiter_wake.
 */
#ifndef INTERLOCK_SYNC_SEMAPHORE_QUEUE_H
#define INTERLOCK_SYNC_SEMAPHORE_QUEUE_H

#include "wait/waiter.h"
#include <interlock/semaphore.h>

static inline uint32_t ilk__semaphore_permits(uint32_t word) {
    return word / ILK__SEMAPHORE_ONE_PERMIT;
}

/* The length of the queue: with the queue lock held, or a hint. */
uint32_t ilk__semaphore_waiters(const ilk_semaphore *semaphore);

/* Takes a permit that this thread may take; also while observed. */
bool ilk__semaphore_take(ilk_semaphore *semaphore) ILK_NONBLOCKING;

/* Takes a permit; spins, then queues. */
ilk_status ilk__semaphore_wait_until(ilk_semaphore *semaphore, uint64_t deadline_ns);

/* Adds permits, or hands them over. Too many are misuse; with `fits`, it becomes false and none is added. */
void ilk__semaphore_give(ilk_semaphore *semaphore, uint32_t permits, bool *fits);

/* Takes a permit that is there, or the last place in the queue. True: a permit is taken, perhaps by way of `resume`,
 * which has then ended. */
bool ilk__semaphore_join(ilk_semaphore *semaphore, struct ilk__waiter *waiter);

/* True: the waiter has left the queue. False: it has been handed a permit, and `resume` is called, or will be. */
bool ilk__semaphore_leave(ilk_semaphore *semaphore, struct ilk__waiter *waiter);

#endif
