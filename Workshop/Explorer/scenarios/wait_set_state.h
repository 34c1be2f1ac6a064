/* SPDX-License-Identifier: Apache-2.0
 *
 * What the scenarios of ilk_wait_set share: two sets, a ring of each kind, a semaphore, a latch; the thread that waits,
 * and those that push, pop and close.
 */
#ifndef EXPLORER_SCENARIOS_WAIT_SET_STATE_H
#define EXPLORER_SCENARIOS_WAIT_SET_STATE_H

#include "work.h"
#include <interlock/inline/fence.h>
#include <interlock/inline/notified_set.h>
#include <interlock/park.h>

static struct {
    ilk_wait_set *set, *second;
    ilk_spsc *spsc;
    ilk_mpmc *mpmc;
    ilk_semaphore semaphore;
    ilk_latch *latch;
    unsigned popped;
    uint32_t taken; /* permits that a thread has got */
    ILK_ATOMIC(uint32_t) called;
} s;

/* ---- Beginning and end ---- */

static inline void begin(bool membarrier) {
    s.popped = 0;
    s.taken = 0;
    s.called = 0;
    begin_work();
    ilk__membarrier_works = membarrier;
    ilk_semaphore_init(&s.semaphore, 0);
    s.latch = ex_allocate(sizeof *s.latch, 16);
    ilk_latch_init(s.latch, 1);
    ex_assert(ilk_wait_set_create(&s.set) == ILK_OK);
    ex_assert(ilk_wait_set_create(&s.second) == ILK_OK);
    ex_assert(ilk_spsc_create(&s.spsc, 2, sizeof(uint64_t)) == ILK_OK);
    ex_assert(ilk_mpmc_create(&s.mpmc, 2, sizeof(uint64_t)) == ILK_OK);
}
static inline void setup_none(void) {
    begin(true);
}
static inline void add_elements(void) {
    ex_assert(ilk_wait_set_add_spsc(s.set, s.spsc, ILK_READABLE, s.spsc) == ILK_OK);
    ex_assert(ilk_wait_set_add_spsc(s.second, s.spsc, ILK_READABLE, s.spsc) == ILK_OK);
    ex_assert(ilk_wait_set_add_mpmc(s.set, s.mpmc, ILK_READABLE, s.mpmc) == ILK_OK);
    ex_assert(ilk_wait_set_add_mpmc(s.second, s.mpmc, ILK_READABLE, s.mpmc) == ILK_OK);
}
static inline void setup_rings(void) {
    begin(true);
    add_elements();
}
static inline void setup_refused(void) {
    begin(false);
    add_elements();
}
static inline void setup_room(void) {
    const uint64_t element = 1;
    begin(true);
    for (int i = 0; i < 2; i++) {
        ex_assert(ilk_spsc_try_push(s.spsc, &element, sizeof element));
        ex_assert(ilk_mpmc_try_push(s.mpmc, &element, sizeof element));
    }
    ex_assert(ilk_wait_set_add_spsc(s.set, s.spsc, ILK_WRITABLE, s.spsc) == ILK_OK);
    ex_assert(ilk_wait_set_add_mpmc(s.set, s.mpmc, ILK_WRITABLE, s.mpmc) == ILK_OK);
}
static inline void setup_semaphore(void) {
    begin(true);
    ex_assert(ilk_wait_set_add_semaphore(s.set, &s.semaphore, &s.semaphore) == ILK_OK);
}
static inline void setup_latch(void) {
    begin(true);
    ex_assert(ilk_wait_set_add_latch(s.set, s.latch, s.latch) == ILK_OK);
}
static inline void end(void) {
    ilk_wait_set_destroy(s.set);
    ilk_wait_set_destroy(s.second);
    ilk_spsc_destroy(s.spsc);
    ilk_mpmc_destroy(s.mpmc);
}
/* Each permit given has been got, or is there. */
static inline void check_permit(void) {
    end();
    ex_expect(ilk_semaphore_value(&s.semaphore) + s.taken == 1, "%d permits there, %u taken",
              (int)ilk_semaphore_value(&s.semaphore), (unsigned)s.taken);
    ilk_semaphore_destroy(&s.semaphore);
}

/* ---- The waiting thread ---- */

/* The key, or NULL for a wake. */
static inline void *wait_on(ilk_wait_set *set) {
    void *key;
    size_t count;
    ex_assert(ilk_wait_set_wait_until(set, &key, 1, &count, ILK_FOREVER) == ILK_OK);
    return count == 1 ? key : NULL;
}
static inline bool pop(void *ring) {
    uint64_t element;
    const bool popped = ring == s.spsc ? ilk_spsc_try_pop(s.spsc, &element, sizeof element)
                                       : ilk_mpmc_try_pop(s.mpmc, &element, sizeof element);
    if (popped) {
        see_work(ring == s.spsc ? 0 : 1, 1);
        s.popped++;
    }
    return popped;
}
static inline void serve_one(void) {
    while (!pop(wait_on(s.set))) {
    }
}
static inline void serve_two(void) {
    serve_one();
    serve_one();
}
static inline void find_ready(void) {
    ex_assert(wait_on(s.set) != NULL);
}
static inline void find_ready_in_second(void) {
    ex_assert(wait_on(s.second) != NULL);
}
static inline void find_closed(void) {
    while (!ilk_spsc_is_closed(s.spsc) || pop(s.spsc)) {
        ex_assert(wait_on(s.set) == s.spsc);
    }
}
static inline void push_when_ready(void) {
    const uint64_t element = 1;
    for (bool pushed = false; !pushed;) {
        pushed = wait_on(s.set) == s.spsc ? ilk_spsc_try_push(s.spsc, &element, sizeof element)
                                          : ilk_mpmc_try_push(s.mpmc, &element, sizeof element);
    }
}

/* ---- The others ---- */

static inline void push_spsc(void) {
    const uint64_t element = 1;
    do_work(0);
    ex_assert(ilk_spsc_try_push(s.spsc, &element, sizeof element));
}
static inline void push_mpmc(void) {
    const uint64_t element = 1;
    do_work(1);
    ex_assert(ilk_mpmc_try_push(s.mpmc, &element, sizeof element));
}
static inline void push_spsc_twice(void) {
    const uint64_t element = 1;
    push_spsc();
    ex_assert(ilk_spsc_try_push(s.spsc, &element, sizeof element));
}
static inline void close_spsc(void) {
    ilk_spsc_close(s.spsc);
}
static inline void close_mpmc(void) {
    ilk_mpmc_close(s.mpmc);
}
static inline void pop_from_spsc(void) {
    uint64_t element;
    ex_assert(ilk_spsc_try_pop(s.spsc, &element, sizeof element));
}
static inline void pop_from_mpmc(void) {
    uint64_t element;
    ex_assert(ilk_mpmc_try_pop(s.mpmc, &element, sizeof element));
}

#endif
