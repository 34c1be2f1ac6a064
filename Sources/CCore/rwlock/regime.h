/* SPDX-License-Identifier: Apache-2.0
 *
 * Which regime a lock should be in: guesses from counts, made rarely. Nothing here decides who holds the
 * lock; a wrong guess costs time only.
 */
#ifndef INTERLOCK_RWLOCK_REGIME_H
#define INTERLOCK_RWLOCK_REGIME_H

#include <interlock/inline/rwlock.h>

/* A reader found the tally of reads full: should readers move to slots? */
bool ilk__regime_wants_slots(ilk_rwlock *lock);

/* A reader has used its slot many times: should readers leave out their fence? Any reader's call. */
bool ilk__regime_wants_fence_free(ilk_rwlock *lock, struct ilk__slot_block *block);

/* A writer holds the lock, whose word has SLOTS and a full tally, and has drained it: which regime bits
 * should go? `paid` is what its membarrier took in clock ticks, 0 without. */
uint32_t ilk__regime_to_leave(ilk_rwlock *lock, uint32_t word, uint32_t paid, uint32_t drained_in);

#endif
