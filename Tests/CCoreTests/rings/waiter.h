/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread in push_until or pop_until, of either ring.
 */
#ifndef INTERLOCK_TESTS_RINGS_WAITER_H
#define INTERLOCK_TESTS_RINGS_WAITER_H

#include "rings/ring_test.h"

struct waiter {
    ring_type *ring;
    item value; /* pushed, or popped */
    uint64_t deadline_ns;
    ilk_status status;
    struct thread thread;
};

static inline void push_and_wait(void *context) {
    struct waiter *self = context;
    self->status = RING(push_until)(self->ring, &self->value, sizeof(item), self->deadline_ns);
}

static inline void pop_and_wait(void *context) {
    struct waiter *self = context;
    self->status = RING(pop_until)(self->ring, &self->value, sizeof(item), self->deadline_ns);
}

/* They push 1, 2, 4 and so on; returns when all sleep. */
static inline void start_waiters(struct waiter *waiters, int count, ring_type *ring, thread_body *body) {
    for (int i = 0; i < count; i++) {
        waiters[i] = (struct waiter){.ring = ring, .value = (item)1 << i, .deadline_ns = ILK_FOREVER};
        thread_start(&waiters[i].thread, body, &waiters[i]);
        thread_await_sleep(&waiters[i].thread);
    }
}

static inline void expect_asleep(const struct waiter *waiters, int count) {
    for (int i = 0; i < count; i++) {
        check(thread_sleeps(&waiters[i].thread));
    }
}

static inline void expect_answer(struct waiter *waiter, ilk_status status) {
    thread_join(&waiter->thread);
    check_equal(waiter->status, status);
}

#endif
