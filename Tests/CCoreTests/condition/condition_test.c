/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_condition: wait, signal and broadcast.
 */
#include "condition/waiters.h"
#include <interlock/condition.h>
#include <string.h>

struct ordered {
    ilk_mutex *mutex;
    const int *order; /* guarded */
    int last;
    struct thread thread;
};
static bool has_come(void *context) {
    const struct ordered *self = context;
    return *self->order == self->last;
}
static void await_order(void *context) {
    struct ordered *self = context;
    ilk_mutex_lock(self->mutex);
    check_equal(ilk_mutex_await_until(self->mutex, has_come, self, ILK_FOREVER), ILK_OK);
    ilk_mutex_unlock(self->mutex);
}

/* contract: condition.F, condition.G, ilk_condition_signal, ilk_condition_wait_until, ilk_condition_init */
TEST(a_signal_wakes_the_waiter_that_came_first) {
    enum { WAITERS = 4 };
    ilk_condition condition;
    ilk_condition_init(&condition);
    ilk_mutex mutex = ILK_MUTEX_INIT;
    int order = 0;
    struct waiter waiters[WAITERS];
    ilk_condition_signal(&condition); /* no thread waits: nothing is kept */
    start_waiters(waiters, WAITERS,
                  (struct waiter){&condition, &mutex, ILK_FOREVER, ILK_CLOSED, &order, 0, {0}, false});
    for (int index = 0; index < WAITERS; index++) {
        ilk_condition_signal(&condition);
        thread_join(&waiters[index].thread);
        check_equal(waiters[index].status, ILK_OK);
        check_equal(waiters[index].place, index + 1);
        check(index + 1 == WAITERS || thread_sleeps(&waiters[index + 1].thread));
    }
}

/* More than wait/address_queue.c has buckets: some share one. */
/* contract: condition.G */
TEST(a_signal_wakes_a_waiter_of_its_own_condition) {
    enum { CONDITIONS = 100 };
    static ilk_condition conditions[CONDITIONS];
    static struct waiter waiters[CONDITIONS];
    ilk_mutex mutex = ILK_MUTEX_INIT;
    int order = 0;
    for (int index = 0; index < CONDITIONS; index++) {
        start_waiters(
            &waiters[index], 1,
            (struct waiter){&conditions[index], &mutex, ILK_FOREVER, ILK_CLOSED, &order, 0, {0}, false});
    }
    for (int index = CONDITIONS - 1; index >= 0; index--) { /* the newest of a bucket first */
        ilk_condition_signal(&conditions[index]);
        thread_join(&waiters[index].thread);
        check_equal(waiters[index].place, CONDITIONS - index);
    }
}

/* contract: ilk_condition_broadcast */
TEST(a_broadcast_wakes_every_waiter) {
    enum { WAITERS = 8 };
    ilk_condition condition = ILK_CONDITION_INIT;
    ilk_mutex mutex = ILK_MUTEX_INIT;
    int order = 0;
    struct waiter waiters[WAITERS];
    start_waiters(waiters, WAITERS,
                  (struct waiter){&condition, &mutex, ILK_FOREVER, ILK_CLOSED, &order, 0, {0}, false});
    ilk_condition_broadcast(&condition);
    for (int index = 0; index < WAITERS; index++) {
        thread_join(&waiters[index].thread);
        check_equal(waiters[index].status, ILK_OK);
    }
    check_equal(order, WAITERS);
}

/* Under the mutex: the waiters are moved, none wakes before it is given up. Threads that wait under it for a predicate
 * put marks into its word. */
/* contract: condition.H */
TEST(a_signal_under_the_mutex_wakes_its_waiter_once_it_is_given_up) {
    for (int awaited = 0; awaited <= 1; awaited++) {
        ilk_condition condition = ILK_CONDITION_INIT;
        ilk_mutex mutex = ILK_MUTEX_INIT;
        int order = 0;
        struct waiter waiter;
        struct ordered ordered = {&mutex, &order, 1, {0}};
        if (awaited) {
            thread_start(&ordered.thread, await_order, &ordered);
            thread_await_sleep(&ordered.thread);
        }
        start_waiters(&waiter, 1,
                      (struct waiter){&condition, &mutex, ILK_FOREVER, ILK_CLOSED, &order, 0, {0}, false});
        ilk_mutex_lock(&mutex);
        const long slept = thread_times_slept(&waiter.thread);
        ilk_condition_signal(&condition);
        const uint64_t soon =
            ilk_deadline_in_ns(MILLISECONDS(20)); /* a woken thread would sleep again meanwhile */
        while (ilk_now_ns() < soon) {
            check_equal(thread_times_slept(&waiter.thread), slept);
        }
        ilk_mutex_unlock(&mutex);
        thread_join(&waiter.thread);
        check_equal(waiter.status, ILK_OK);
        if (awaited) {
            thread_join(&ordered.thread);
        }
    }
}

enum { AT_ONCE = 4, BROADCAST_WAITERS = 8 };

/* Broadcasts and has the mutex again before a woken waiter has it, which then sleeps for it. False: too late. */
static bool broadcast_and_lock_again(ilk_condition *condition, struct waiter *waiters) {
    long slept[BROADCAST_WAITERS];
    ilk_mutex *mutex = waiters[0].mutex;
    ilk_mutex_lock(mutex);
    for (int index = 0; index < BROADCAST_WAITERS; index++) {
        slept[index] = thread_times_slept(&waiters[index].thread);
    }
    ilk_condition_broadcast(condition);
    ilk_mutex_unlock(mutex);
    ilk_mutex_lock(mutex);
    const bool is_first = *waiters[0].order == 0;
    for (int index = 0; is_first && index < AT_ONCE; index++) {
        yield_while(thread_times_slept(&waiters[index].thread) == slept[index]);
    }
    for (int index = AT_ONCE; is_first && index < BROADCAST_WAITERS; index++) {
        check_equal(thread_times_slept(&waiters[index].thread), slept[index]);
    }
    ilk_mutex_unlock(mutex);
    return is_first;
}

/* contract: condition.F, condition.H */
TEST(a_broadcast_under_the_mutex_wakes_four_at_once_in_order_of_arrival) {
    for (bool was_first = false; !was_first;) {
        ilk_condition condition = ILK_CONDITION_INIT;
        ilk_mutex mutex = ILK_MUTEX_INIT;
        int order = 0;
        struct waiter waiters[BROADCAST_WAITERS];
        start_waiters(waiters, BROADCAST_WAITERS,
                      (struct waiter){&condition, &mutex, ILK_FOREVER, ILK_CLOSED, &order, 0, {0}, false});
        was_first = broadcast_and_lock_again(&condition, waiters);
        for (int index = 0; index < BROADCAST_WAITERS; index++) {
            thread_join(&waiters[index].thread);
            check_equal(waiters[index].status, ILK_OK);
            check(waiters[index].place >
                  index + 1 - AT_ONCE); /* the earlier ones that are not on their way have come */
        }
    }
}

/* contract: condition.G */
TEST(a_wait_that_timed_out_took_no_signal) {
    ilk_mutex mutex = ILK_MUTEX_INIT;
    for (int round = 0; round < stress_rounds(3000); round++) {
        ilk_condition condition = ILK_CONDITION_INIT;
        int order = 0;
        struct waiter late = {&condition, &mutex, ilk_deadline_in_ns((uint64_t)(round % 50) * 2000),
                              ILK_CLOSED, &order, 0,
                              {0},        false};
        struct waiter other = late;
        other.deadline_ns = ILK_FOREVER;
        thread_start(&late.thread, wait_once, &late);
        thread_start(&other.thread, wait_once, &other);
        await_queued(&other);
        ilk_condition_signal(&condition);
        thread_join(&late.thread);
        if (late.status == ILK_OK) {
            ilk_condition_signal(&condition); /* that one had the first */
        }
        thread_join(&other.thread);
        check_equal(other.status, ILK_OK);
    }
    ilk_condition condition = ILK_CONDITION_INIT;
    ilk_mutex_lock(&mutex);
    check_equal(ilk_condition_wait_until(&condition, &mutex, 0), ILK_TIMEDOUT);
    check_equal(ilk_condition_wait_until(&condition, &mutex, ilk_deadline_in_ns(MILLISECONDS(2))),
                ILK_TIMEDOUT);
    ilk_mutex_unlock(&mutex);
}

static void signal_it(void *condition) {
    ilk_condition_signal(condition);
}
/* As soon as the mutex is free another thread may take it and signal. */
/* contract: condition.F */
TEST(a_signal_after_the_unlock_finds_the_waiter) {
    for (int inherits = 0; inherits <= 1; inherits++) {
        ilk_condition condition = ILK_CONDITION_INIT;
        ilk_mutex mutex;
        ilk_mutex_init(&mutex, inherits == 1);
        ilk_mutex_lock(&mutex);
        after_next_unlock(signal_it, &condition);
        check_equal(ilk_condition_wait_until(&condition, &mutex, ilk_deadline_in_ns(MILLISECONDS(3000))),
                    ILK_OK);
        check(call_after_unlock == NULL);
        ilk_mutex_unlock(&mutex);
    }
}

/* The mutex is free all the time: nothing but the limit ends the wait. */
/* contract: condition.G, ilk_condition_wait_until */
TEST(a_wait_is_not_early_and_survives_signals_of_the_system) {
    thread_allow_interrupts();
    for (int inherits = 0; inherits <= 1; inherits++) {
        ilk_condition condition = ILK_CONDITION_INIT;
        ilk_mutex mutex;
        ilk_mutex_init(&mutex, inherits == 1);
        int order = 0;
        struct waiter waiter = {
            &condition, &mutex, ilk_deadline_in_ns(MILLISECONDS(30)), ILK_CLOSED, &order, 0, {0}, false};
        thread_start(&waiter.thread, wait_once, &waiter);
        while (!thread_is_done(&waiter.thread)) {
            thread_interrupt(&waiter.thread);
        }
        thread_join(&waiter.thread);
        check_equal(waiter.status, ILK_TIMEDOUT);
        check(ilk_now_ns() >= waiter.deadline_ns);
        check_equal(ilk_atomic_load(&condition.word, memory_order_relaxed), 0); /* it has left */
    }
}
