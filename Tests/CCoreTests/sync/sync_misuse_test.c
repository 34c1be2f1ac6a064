/* SPDX-License-Identifier: Apache-2.0
 *
 * Misuse of ilk_semaphore, ilk_latch, ilk_barrier and ilk_mutex, call by call.
 */
#include "support/misuse.h"
#include <interlock/interlock.h>

/* ---- Semaphore ---- */

static void semaphore_init_too_many(void *context) {
    ilk_semaphore semaphore;
    ilk_semaphore_init(&semaphore, ILK_SEMAPHORE_MAX + 1);
}

static void semaphore_init_barging_too_many(void *context) {
    ilk_semaphore semaphore;
    ilk_semaphore_init_barging(&semaphore, ILK_SEMAPHORE_MAX + 1);
}

static void semaphore_signal_too_many(void *context) {
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(ILK_SEMAPHORE_MAX);
    ilk_semaphore_signal(&semaphore, 1);
}

static void semaphore_signal_far_too_many(void *context) {
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(5);
    ilk_semaphore_signal(&semaphore, UINT32_MAX); /* 32 bits would wrap */
}

static void wait_on_semaphore(void *context) {
    ilk_semaphore_wait(context);
}

static void semaphore_destroy_waited_for(void *context) {
    static ilk_semaphore semaphore;
    misuse_beside(wait_on_semaphore, &semaphore);
    ilk_semaphore_destroy(&semaphore);
}

static void semaphore_signal_too_many_with_a_waiter(void *context) {
    static ilk_semaphore semaphore;
    misuse_beside(wait_on_semaphore, &semaphore);
    ilk_semaphore_signal(&semaphore, ILK_SEMAPHORE_MAX + 2); /* one goes to the waiter */
}

/* ---- Latch and barrier ---- */

static void latch_init_too_many(void *context) {
    ilk_latch latch;
    ilk_latch_init(&latch, ILK_LATCH_MAX + 1);
}

static void latch_below_zero(void *context) {
    ilk_latch latch;
    ilk_latch_init(&latch, 1);
    ilk_latch_count_down(&latch);
    ilk_latch_count_down(&latch);
}

static void barrier_for_no_parties(void *context) {
    ilk_barrier barrier;
    ilk_barrier_init(&barrier, 0);
}

static void wait_at_barrier(void *context) {
    (void)ilk_barrier_wait(context);
}

static void barrier_destroy_waited_for(void *context) {
    static ilk_barrier barrier;
    ilk_barrier_init(&barrier, 2);
    misuse_beside(wait_at_barrier, &barrier);
    ilk_barrier_destroy(&barrier);
}

/* ---- Mutex ---- */

static void mutex_lock_twice(void *context) {
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, false);
    ilk_mutex_lock(&mutex);
    ilk_mutex_lock(&mutex);
}

static void inheriting_mutex_lock_twice(void *context) {
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, true);
    ilk_mutex_lock(&mutex);
    (void)!ilk_mutex_lock_until(&mutex, 0);
}

static void mutex_lock_until_twice(void *context) {
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, false);
    check(ilk_mutex_try_lock(&mutex));
    (void)!ilk_mutex_lock_until(&mutex, ilk_deadline_in_ns(0));
}

static void mutex_unlock_twice(void *context) {
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, true);
    ilk_mutex_lock(&mutex);
    ilk_mutex_unlock(&mutex);
    ilk_mutex_unlock(&mutex);
}

static void mutex_unlock_free(void *context) {
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, false);
    ilk_mutex_unlock(&mutex);
}

static void lock_and_keep(void *context) {
    ilk_mutex_lock(context);
    sleep_for_ever();
}

/* `context` is not NULL: of a mutex that inherits. */
static void mutex_unlock_by_another(void *context) {
    static ilk_mutex mutex;
    ilk_mutex_init(&mutex, context != NULL);
    misuse_beside(lock_and_keep, &mutex);
    ilk_mutex_unlock(&mutex);
}

/*   main                  other
 *   locks first
 *                         locks second
 *                         waits for first (asleep)
 *   waits for second: the kernel, which knows the owners, refuses                                      */
static ilk_mutex first_of_cycle, second_of_cycle;

static void close_cycle(void *context) {
    ilk_mutex_lock(&second_of_cycle);
    ilk_mutex_lock(&first_of_cycle);
}

static void wait_in_a_cycle(void *context) {
    ilk_mutex_init(&first_of_cycle, true);
    ilk_mutex_init(&second_of_cycle, true);
    ilk_mutex_lock(&first_of_cycle);
    static struct thread other;
    thread_start(&other, close_cycle, NULL);
    while (ilk_atomic_load(&first_of_cycle.word, memory_order_relaxed) < UINT32_C(0x80000000)) {
        ilk_cpu_relax(); /* until the sleepers' bit is set */
    }
    ilk_mutex_lock(&second_of_cycle);
}
/* contract: ilk_mutex_lock */
TEST(owners_that_wait_for_each_other_are_reported_with_inheritance) {
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, true);
    skip_if(ilk_atomic_load(&mutex.settings, memory_order_relaxed) == 0,
            "there is no priority inheritance in this build");
    expect_misuse(wait_in_a_cycle, NULL, "ilk_mutex_lock", "deadlock");
}

/* ---- What each must say ---- */
/* contract: ilk_semaphore_destroy, ilk_semaphore_init, ilk_semaphore_signal */
TEST(semaphore_misuse_is_reported) {
    static const struct misuse table[] = {
        {semaphore_init_too_many, "ilk_semaphore_init", "268435456 permits"},
        {semaphore_init_barging_too_many, "ilk_semaphore_init_barging", "268435456 permits"},
        {semaphore_signal_too_many, "ilk_semaphore_signal", "the most is 268435455"},
        {semaphore_signal_far_too_many, "ilk_semaphore_signal", "4294967295 permits more than the 5"},
        {semaphore_signal_too_many_with_a_waiter, "ilk_semaphore_signal",
         "268435456 permits more than the 0"},
        {semaphore_destroy_waited_for, "ilk_semaphore_destroy", "while 1 thread"},
    };
    EXPECT_ALL(table);
}
/* contract: ilk_latch_count_down, ilk_latch_init */
TEST(latch_misuse_is_reported) {
    static const struct misuse table[] = {
        {latch_init_too_many, "ilk_latch_init", "2147483648"},
        {latch_below_zero, "ilk_latch_count_down", "more often"},
    };
    EXPECT_ALL(table);
}
/* contract: ilk_barrier_destroy, ilk_barrier_init */
TEST(barrier_misuse_is_reported) {
    static const struct misuse table[] = {
        {barrier_for_no_parties, "ilk_barrier_init", "0 parties"},
        {barrier_destroy_waited_for, "ilk_barrier_destroy", "while 1 parties wait"},
    };
    EXPECT_ALL(table);
}
/* contract: ilk_mutex_lock, ilk_mutex_unlock */
TEST(mutex_misuse_is_reported) {
    static const struct misuse table[] = {
        {mutex_lock_twice, "ilk_mutex_lock", "locked again by its owner"},
        {inheriting_mutex_lock_twice, "ilk_mutex_lock_until", "locked again by its owner"},
        {mutex_lock_until_twice, "ilk_mutex_lock_until", "locked again by its owner"},
        {mutex_unlock_free, "ilk_mutex_unlock", "does not own it"},
        {mutex_unlock_twice, "ilk_mutex_unlock", "does not own it"},
        {mutex_unlock_by_another, "ilk_mutex_unlock", "does not own it"},
    };
    EXPECT_ALL(table);
    expect_misuse(mutex_unlock_by_another, &first_of_cycle, "ilk_mutex_unlock",
                  "does not own it"); /* inheriting */
}

/* The sentence is written by a system call that a cancellation could end the thread in. */
static void unlock_while_cancelled(void *context) {
    ilk_mutex *mutex = context;
    check_equal(pthread_cancel(pthread_self()), 0);
    ilk_mutex_unlock(mutex);
}

TEST(misuse_by_a_cancelled_thread_is_reported) {
    ilk_mutex mutex = ILK_MUTEX_INIT;
    expect_misuse(unlock_while_cancelled, &mutex, "ilk_mutex_unlock", "");
}
