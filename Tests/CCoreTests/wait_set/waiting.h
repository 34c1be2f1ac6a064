/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread that waits on a wait set, and the members that the tests put into one.
 */
#ifndef INTERLOCK_TESTS_WAIT_SET_WAITING_H
#define INTERLOCK_TESTS_WAIT_SET_WAITING_H

#include "support/test.h"
#include <interlock/wait_set.h>

enum { MOST_KEYS = 8 };

struct set_waiter {
    ilk_wait_set *set;
    uint64_t deadline_ns;
    ilk_status status;
    size_t count;
    void *keys[MOST_KEYS];
    struct thread thread;
};

static inline void wait_on_set(void *context) {
    struct set_waiter *self = context;
    self->status = ilk_wait_set_wait_until(self->set, self->keys, MOST_KEYS, &self->count, self->deadline_ns);
}

/* Returns when the thread sleeps. */
static inline void start_waiting(struct set_waiter *waiter, ilk_wait_set *set) {
    *waiter = (struct set_waiter){.set = set, .deadline_ns = ILK_FOREVER};
    thread_start(&waiter->thread, wait_on_set, waiter);
    thread_await_sleep(&waiter->thread);
}

static inline void ends_with(struct set_waiter *waiter, const void *key) {
    thread_join(&waiter->thread);
    check_equal(waiter->status, ILK_OK);
    check_equal(waiter->count, key == NULL ? 0 : 1);
    check(key == NULL || waiter->keys[0] == key);
}

/* What is ready now: the number of keys, or -1 for none. */
static inline int poll_set(ilk_wait_set *set, void **keys, size_t capacity) {
    size_t count = MOST_KEYS + 1;
    const ilk_status status = ilk_wait_set_wait_until(set, keys, capacity, &count, 0);
    check(status == ILK_OK || (status == ILK_TIMEDOUT && count == 0));
    return status == ILK_OK ? (int)count : -1;
}

static inline bool is_ready(ilk_wait_set *set, const void *key) {
    void *keys[MOST_KEYS];
    const int count = poll_set(set, keys, MOST_KEYS);
    for (int i = 0; i < count; i++) {
        if (keys[i] == key) {
            return true;
        }
    }
    return false;
}

static inline ilk_wait_set *new_set(void) {
    ilk_wait_set *set = NULL;
    check_equal(ilk_wait_set_create(&set), ILK_OK);
    return set;
}

static inline ilk_spsc *new_spsc(size_t capacity) {
    ilk_spsc *ring = NULL;
    check_equal(ilk_spsc_create(&ring, capacity, sizeof(int)), ILK_OK);
    return ring;
}

static inline ilk_mpmc *new_mpmc(size_t capacity) {
    ilk_mpmc *ring = NULL;
    check_equal(ilk_mpmc_create(&ring, capacity, sizeof(int)), ILK_OK);
    return ring;
}

static inline void push_spsc(ilk_spsc *ring) {
    const int element = 1;
    check(ilk_spsc_try_push(ring, &element, sizeof element));
}

static inline void pop_spsc(ilk_spsc *ring) {
    int element;
    check(ilk_spsc_try_pop(ring, &element, sizeof element));
}

static inline void push_mpmc(ilk_mpmc *ring) {
    const int element = 1;
    check(ilk_mpmc_try_push(ring, &element, sizeof element));
}

static inline void pop_mpmc(ilk_mpmc *ring) {
    int element;
    check(ilk_mpmc_try_pop(ring, &element, sizeof element));
}

#endif
