/* SPDX-License-Identifier: Apache-2.0
 *
 * Leads an ilk_rwlock from mode to mode by its public calls, and tells where its readers are recorded.
 */
#ifndef INTERLOCK_TESTS_SUPPORT_RWLOCK_MODE_H
#define INTERLOCK_TESTS_SUPPORT_RWLOCK_MODE_H

#include "support/test.h"
#include <interlock/rwlock.h>

uint32_t word_of(const ilk_rwlock *lock);

/* ILK__RWLOCK_SLOTS and ILK__RWLOCK_FENCE_FREE, or neither. */
uint32_t mode_of(const ilk_rwlock *lock);

/* Readers that are counted in the word. */
unsigned counted_readers(const ilk_rwlock *lock);

bool is_in_a_slot(const ilk_rwlock *lock);

bool membarrier_works(void);

/* Reads a free lock until its readers go to slots; until they leave the fence out. */
void move_to_slots(ilk_rwlock *lock);
void move_to_fence_free(ilk_rwlock *lock);

/* The first of `locks`, from `start`, whose slot has the same number as that of `like`. */
size_t find_colliding(const ilk_rwlock *locks, size_t count, size_t start, const ilk_rwlock *like);

/* Free, nothing left behind, still usable; then destroyed. */
void check_free_and_destroy(ilk_rwlock *lock);

#endif
