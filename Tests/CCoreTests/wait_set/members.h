/* SPDX-License-Identifier: Apache-2.0
 *
 * One object of each kind beside a set, and for each kind the way into the set and what makes it ready.
 */
#ifndef INTERLOCK_TESTS_WAIT_SET_MEMBERS_H
#define INTERLOCK_TESTS_WAIT_SET_MEMBERS_H

#include "wait_set/waiting.h"

struct members {
    ilk_wait_set *set;
    ilk_spsc *spsc;
    ilk_mpmc *mpmc;
    ilk_semaphore semaphore;
    ilk_latch latch;
};

static inline void begin(struct members *members) {
    members->set = new_set();
    members->spsc = new_spsc(1);
    members->mpmc = new_mpmc(1);
    ilk_semaphore_init(&members->semaphore, 0);
    ilk_latch_init(&members->latch, 2);
}

static inline void end(struct members *members) {
    ilk_wait_set_destroy(members->set);
    ilk_spsc_destroy(members->spsc);
    ilk_mpmc_destroy(members->mpmc);
    ilk_semaphore_destroy(&members->semaphore);
}

static inline void add_elements_of_spsc(struct members *members) {
    check_equal(ilk_wait_set_add_spsc(members->set, members->spsc, ILK_READABLE, members), ILK_OK);
}
static inline void push_to_spsc(struct members *members) {
    push_spsc(members->spsc);
}
static inline void close_spsc(struct members *members) {
    ilk_spsc_close(members->spsc);
}
static inline void add_room_of_spsc(struct members *members) {
    push_spsc(members->spsc);
    check_equal(ilk_wait_set_add_spsc(members->set, members->spsc, ILK_WRITABLE, members), ILK_OK);
}
static inline void pop_from_spsc(struct members *members) {
    pop_spsc(members->spsc);
}
static inline void add_elements_of_mpmc(struct members *members) {
    check_equal(ilk_wait_set_add_mpmc(members->set, members->mpmc, ILK_READABLE, members), ILK_OK);
}
static inline void push_to_mpmc(struct members *members) {
    push_mpmc(members->mpmc);
}
static inline void overwrite_mpmc(struct members *members) {
    const int element = 1;
    int evicted;
    check(!ilk_mpmc_push_overwriting(members->mpmc, &element, sizeof element, &evicted));
}
static inline void close_mpmc(struct members *members) {
    ilk_mpmc_close(members->mpmc);
}
static inline void add_room_of_mpmc(struct members *members) {
    push_mpmc(members->mpmc);
    check_equal(ilk_wait_set_add_mpmc(members->set, members->mpmc, ILK_WRITABLE, members), ILK_OK);
}
static inline void pop_from_mpmc(struct members *members) {
    pop_mpmc(members->mpmc);
}
static inline void add_semaphore(struct members *members) {
    check_equal(ilk_wait_set_add_semaphore(members->set, &members->semaphore, members), ILK_OK);
}
static inline void signal_semaphore(struct members *members) {
    ilk_semaphore_signal(&members->semaphore, 1);
}
static inline void add_latch(struct members *members) {
    check_equal(ilk_wait_set_add_latch(members->set, &members->latch, members), ILK_OK);
}
static inline void open_latch(struct members *members) {
    ilk_latch_count_down(&members->latch);
    ilk_latch_count_down(&members->latch);
}

#endif
