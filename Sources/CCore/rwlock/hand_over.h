/* SPDX-License-Identifier: Apache-2.0
 *
 * The two steps by which ownership of an ilk_rwlock changes hands beside waiters. The protocol is drawn in
 * hand_over.c.
 */
#ifndef INTERLOCK_RWLOCK_HAND_OVER_H
#define INTERLOCK_RWLOCK_HAND_OVER_H

#include "wait/waiter.h"
#include <interlock/rwlock.h>

/* With the queue lock held, and `seen` what the word held then or since: applies `change` to the word (what the caller
 * gives up, as a difference), admits the waiters that are next, releases the queue lock, and wakes them. `self`, if
 * not NULL, is the caller's own waiter, which needs no wake-up. Other threads may give up their shares meanwhile, so
 * that more waiters fit: the queue is released only by a step that admits nobody. */
void ilk__rwlock_settle(ilk_rwlock *lock, uint32_t seen, uint32_t change, struct ilk__waiter *self);

/* Gives up a share of the word, which must have one of the bits of `held`, by adding `change`. Waits for nothing. */
void ilk__rwlock_give_up(ilk_rwlock *lock, uint32_t held, uint32_t change, const char *call);

#endif
