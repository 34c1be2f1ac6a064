/* SPDX-License-Identifier: Apache-2.0
 *
 * What the scenarios of waiting under a lock share: a buffer of one place, and steps under a reader–writer lock.
 */
#ifndef INTERLOCK_EXPLORER_CONDITION_STATE_H
#define INTERLOCK_EXPLORER_CONDITION_STATE_H

#include "work.h"
#include <interlock/condition.h>

static struct {
    ilk_mutex mutex;
    ilk_rwlock lock;
    ilk_condition filled, emptied;
    uint32_t full;  /* guarded: elements in the buffer, 0 or 1 */
    uint32_t taken; /* guarded */
    uint32_t steps; /* guarded by the rwlock */
} s;

static inline void begin(bool inherits) {
    ilk_mutex_init(&s.mutex, inherits);
    ilk_rwlock_init(&s.lock);
    ilk_condition_init(&s.filled);
    ilk_condition_init(&s.emptied);
    s.full = s.taken = s.steps = 0;
}
static inline void setup(void) {
    begin(false);
}

static inline bool is_full(void *unused) {
    (void)unused;
    ilk_plain_read(&s.full, sizeof s.full);
    return s.full == 1;
}
static inline bool is_empty(void *unused) {
    return !is_full(unused);
}
static inline void fill(void) {
    ilk_plain_write(&s.full, sizeof s.full);
    ex_assert(s.full == 0);
    s.full = 1;
}
static inline void take(void) {
    ilk_plain_write(&s.full, sizeof s.full);
    ex_assert(s.full == 1);
    s.full = 0;
    s.taken++;
}

static inline bool has_begun(void *unused) {
    (void)unused;
    ilk_plain_read(&s.steps, sizeof s.steps);
    return s.steps > 0;
}
static inline void step(void) {
    ilk_rwlock_write_lock(&s.lock);
    ilk_plain_write(&s.steps, sizeof s.steps);
    s.steps++;
    ilk_rwlock_write_unlock(&s.lock);
}

static inline void check_two(void) {
    ex_assert(s.taken == 2 && s.full == 0);
    ex_expect((s.mutex.word & UINT32_C(0x3FFFFFFF)) == 0, "the mutex's word is 0x%x", s.mutex.word);
    ex_expect((s.mutex.settings & 4) == 0, "the mutex's settings are 0x%x: it is said to be awaited",
              s.mutex.settings);
}

#endif
