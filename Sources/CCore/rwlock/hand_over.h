/* SPDX-License-Identifier: Apache-2.0
 *
 * The two steps by which an ilk_rwlock changes hands beside waiters. hand_over.c draws the protocol.
 */
#ifndef INTERLOCK_RWLOCK_HAND_OVER_H
#define INTERLOCK_RWLOCK_HAND_OVER_H

#include "wait/waiter.h"
#include <interlock/rwlock.h>

/* With the queue lock held, and `seen` what the word held then or since. Adds `change`, what the caller gives
 * up, to the word; admits the waiters that are next, releases the queue lock, and wakes them, but for `self`,
 * the caller's own waiter or NULL. Shares given up meanwhile may let more waiters in: only a step that admits
 * none releases the queue. */
void ilk__rwlock_settle(ilk_rwlock *lock, uint32_t seen, uint32_t change, struct ilk__waiter *self);

/* Gives up a share, by adding `change` to a word with one of the bits of `held`. Waits for nothing. */
void ilk__rwlock_give_up(ilk_rwlock *lock, uint32_t held, uint32_t change, const char *call);

#endif
