/* SPDX-License-Identifier: Apache-2.0
 *
 * A place in a semaphore's queue without a thread: for a waiter that has a `resume` (wait/waiter.h), which the thread
 * that hands it a permit calls, perhaps in a signal handler. It ends with ilk__waiter_wake.
 */
#ifndef INTERLOCK_SYNC_SEMAPHORE_QUEUE_H
#define INTERLOCK_SYNC_SEMAPHORE_QUEUE_H

#include "wait/waiter.h"
#include <interlock/semaphore.h>

/* Takes a permit that is there, or the last place in the queue. True: a permit is taken, perhaps by way of `resume`,
 * which has then ended. */
bool ilk__semaphore_join(ilk_semaphore *semaphore, struct ilk__waiter *waiter);

/* True: the waiter has left the queue. False: it has been handed a permit, and `resume` is called, or will be. */
bool ilk__semaphore_leave(ilk_semaphore *semaphore, struct ilk__waiter *waiter);

#endif
