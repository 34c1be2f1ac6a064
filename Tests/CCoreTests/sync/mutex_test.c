/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mutex, with and without priority inheritance: one owner, limits, wake-ups, freeing by the last owner.
 */
/* contract: mutex.h */
#include "sync/mutex_waiter.h"
#include <stdlib.h>

TEST(zero_bits_are_a_free_mutex) {
    static ilk_mutex mutex;
    check(ilk_mutex_try_lock(&mutex));
    check(!ilk_mutex_try_lock(&mutex));
    ilk_mutex_unlock(&mutex);
    ilk_mutex_lock(&mutex);
    ilk_mutex_unlock(&mutex);
}

struct mutex_user {
    ilk_mutex *mutex;
    uint64_t *plain;
    uint32_t random;
    int rounds;
    uint64_t entries;
};

static void use_mutex(void *context) {
    struct mutex_user *self = context;
    for (int round = 0; round < self->rounds; round++) {
        bool in = true;
        switch (any_manner(&self->random)) {
        case TRIES:
            in = ilk_mutex_try_lock(self->mutex);
            break;
        case LIMITED:
            in = ilk_mutex_lock_until(self->mutex, ilk_deadline_in_ns(next_random(&self->random) % 20000)) ==
                 ILK_OK;
            break;
        case WAITS:
            ilk_mutex_lock(self->mutex);
        }
        if (in) {
            ++*self->plain;
            self->entries++;
            ilk_mutex_unlock(self->mutex);
        }
    }
}

static void run_mutex(bool inherits, int threads) {
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, inherits);
    uint64_t plain = 0, entries = 0;
    struct mutex_user users[8];
    for (int i = 0; i < threads; i++) {
        users[i] = (struct mutex_user){&mutex, &plain, (uint32_t)ilk_now_ns() | 1,
                                       stress_rounds((inherits ? 8000 : 40000) / threads), 0};
    }
    threads_run(threads, use_mutex, users, sizeof *users);
    for (int i = 0; i < threads; i++) {
        entries += users[i].entries;
    }
    check_equal(plain, entries);
    check_equal(ilk_atomic_load(&mutex.word, memory_order_relaxed) & 0x3FFFFFFF, 0);
    check(ilk_mutex_try_lock(&mutex));
    ilk_mutex_unlock(&mutex);
}
/* contract: mutex.A */
TEST(a_mutex_has_one_owner_at_a_time) {
    run_mutex(false, 2);
    run_mutex(false, 6);
}

/* MX5 and MX6 tell ThreadSanitizer of the hand-over by the kernel. */
/* contract: ilk_mutex_init, mutex.A */
TEST(an_inheriting_mutex_has_one_owner_at_a_time) {
    run_mutex(true, 2);
    run_mutex(true, 6);
}
/* contract: ilk_mutex_lock_until, ilk_mutex_try_lock, mutex.C */
TEST(a_mutex_wait_times_out_not_early_and_leaves_nothing) {
    thread_allow_interrupts();
    for (int inherits = 0; inherits < 2; inherits++) {
        ilk_mutex mutex;
        ilk_mutex_init(&mutex, inherits == 1);
        ilk_mutex_lock(&mutex);
        check(!ilk_mutex_try_lock(&mutex)); /* false also for its owner */
        const uint64_t deadlines[] = {0, ilk_deadline_in_ns(MILLISECONDS(30))};
        for (int i = 0; i < 2; i++) {
            struct mutex_waiter waiter = {.mutex = &mutex, .deadline_ns = deadlines[i]};
            thread_start(&waiter.thread, wait_for_mutex, &waiter);
            while (!thread_is_done(&waiter.thread)) {
                thread_interrupt(&waiter.thread);
            }
            thread_join(&waiter.thread);
            check_equal(waiter.status, ILK_TIMEDOUT);
            check(ilk_now_ns() >= deadlines[i]);
        }
        ilk_mutex_unlock(&mutex);
        check_equal(ilk_mutex_lock_until(&mutex, 0), ILK_OK); /* free: taken though the deadline has passed */
        ilk_mutex_unlock(&mutex);
    }
}
/* contract: mutex.B */
TEST(an_unlock_wakes_every_sleeper_one_by_one) {
    for (int inherits = 0; inherits < 2; inherits++) {
        ilk_mutex mutex;
        ilk_mutex_init(&mutex, inherits == 1);
        ilk_mutex_lock(&mutex);
        uint64_t plain = 0;
        struct mutex_waiter waiters[4];
        for (int i = 0; i < 4; i++) {
            waiters[i] = (struct mutex_waiter){
                .mutex = &mutex,
                .plain = &plain,
                .deadline_ns = i % 2 == 0 ? ILK_FOREVER : ilk_deadline_in_ns(MILLISECONDS(100000))};
            thread_start(&waiters[i].thread, wait_for_mutex, &waiters[i]);
            thread_await_sleep(&waiters[i].thread);
        }
        plain = 10; /* carried by the hand-over to each waiter */
        ilk_mutex_unlock(&mutex);
        for (int i = 0; i < 4; i++) {
            thread_join(&waiters[i].thread);
            check_equal(waiters[i].status, ILK_OK);
        }
        check_equal(plain, 14);
    }
}

/* Guarantee D. */
struct mortal {
    ilk_mutex mutex;
    int uses_left;
};

struct last_user {
    struct mortal **mortals;
    int rounds;
    pthread_barrier_t *round_begins;
};

static void use_and_maybe_free(void *context) {
    struct last_user *self = context;
    for (int round = 0; round < self->rounds; round++) {
        pthread_barrier_wait(self->round_begins);
        struct mortal *mortal = self->mortals[round];
        ilk_mutex_lock(&mortal->mutex);
        bool last = --mortal->uses_left == 0;
        ilk_mutex_unlock(&mortal->mutex);
        if (last) {
            free(mortal);
        }
    }
}

static void run_last_owners(bool inherits, int rounds) {
    enum { THREADS = 3 };
    struct mortal **mortals = calloc((size_t)rounds, sizeof *mortals);
    check(mortals != NULL);
    for (int i = 0; i < rounds; i++) {
        mortals[i] = malloc(sizeof **mortals);
        check(mortals[i] != NULL);
        ilk_mutex_init(&mortals[i]->mutex, inherits);
        mortals[i]->uses_left = THREADS;
    }
    pthread_barrier_t round_begins;
    pthread_barrier_init(&round_begins, NULL, THREADS);
    struct last_user users[THREADS];
    for (int i = 0; i < THREADS; i++) {
        users[i] = (struct last_user){mortals, rounds, &round_begins};
    }
    threads_run(THREADS, use_and_maybe_free, users, sizeof *users);
    pthread_barrier_destroy(&round_begins);
    free(mortals);
}
/* contract: mutex.D */
TEST(the_last_owner_may_free_the_mutex_at_once) {
    run_last_owners(false, stress_rounds(5000));
}
/* contract: mutex.D */
TEST(the_last_owner_may_free_an_inheriting_mutex_at_once) {
    run_last_owners(true, stress_rounds(2000));
}

/* A timed-out wait leaves no sleeper in the word once the mutex was used again. */
/* contract: mutex.C */
TEST(a_mutex_is_as_new_after_a_wait_that_timed_out) {
    for (int inherits = 0; inherits < 2; inherits++) {
        ilk_mutex mutex;
        ilk_mutex_init(&mutex, inherits == 1);
        ilk_mutex_lock(&mutex);
        struct mutex_waiter waiter = {.mutex = &mutex, .deadline_ns = ilk_deadline_in_ns(MILLISECONDS(2))};
        thread_start(&waiter.thread, wait_for_mutex, &waiter);
        thread_join(&waiter.thread);
        check_equal(waiter.status, ILK_TIMEDOUT);
        ilk_mutex_unlock(&mutex);
        check_equal(ilk_atomic_load(&mutex.word, memory_order_relaxed), 0);
        check(ilk_mutex_try_lock(&mutex));
        ilk_mutex_unlock(&mutex);
        check_equal(ilk_atomic_load(&mutex.word, memory_order_relaxed), 0);
    }
}

/* ---- Limits, and an owner that ends: see also mutex_inherit_test.c ---- */
/* contract: ilk_mutex_lock_until */
TEST(a_far_deadline_is_not_over_at_once) {
    wait_by_far_deadlines(false);
    wait_by_far_deadlines(true);
}

TEST(a_mutex_whose_owner_has_ended_stays_owned) {
    ilk_mutex mutex;
    struct thread owner;
    ilk_mutex_init(&mutex, false);
    thread_start(&owner, lock_and_end, &mutex);
    thread_join(&owner);
    check(!ilk_mutex_try_lock(&mutex));
    check_equal(ilk_mutex_lock_until(&mutex, ilk_deadline_in_ns(MILLISECONDS(1))), ILK_TIMEDOUT);
}
