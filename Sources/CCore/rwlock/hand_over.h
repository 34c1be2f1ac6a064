/* SPDX-License-Identifier: Apache-2.0
 *
 * The two steps by which an ilk_rwlock changes hands beside waiters. See hand_over.c.
 */
#ifndef INTERLOCK_RWLOCK_HAND_OVER_H
#define INTERLOCK_RWLOCK_HAND_OVER_H

#include "wait/waiter.h"
#include <interlock/rwlock.h>

/* With the queue lock held, and `seen` what the word held then or since: adds `change`, admits the next
 * waiters, releases the queue lock, and wakes the admitted but for `self`, the caller's own waiter or NULL.
 * Shares given up meanwhile may let more in: only a step that admits none releases the queue. */
void ilk__rwlock_settle(ilk_rwlock *lock, uint32_t seen, uint32_t change, struct ilk__waiter *self);

/* Gives up a share: adds `change` to a word with a bit of `held`. Waits for nothing. */
void ilk__rwlock_give_up(ilk_rwlock *lock, uint32_t held, uint32_t change, const char *call);

#endif
