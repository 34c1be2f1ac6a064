/* SPDX-License-Identifier: Apache-2.0
 *
 * What threads meet at: ilk_latch, ilk_barrier and ilk_mutex.
 */
#include "support/test.h"
#include <interlock/barrier.h>
#include <interlock/latch.h>
#include <interlock/mutex.h>
#include <sched.h>
#include <stdlib.h>

#define MILLISECONDS(count) ((uint64_t)(count)*1000000)

/* ---- Latch ---- */

struct latch_waiter {
    ilk_latch *latch;
    uint64_t deadline_ns;
    ilk_status status;
    const int *work; /* plain; written before counting down */
    int seen;
    struct thread thread;
};

static void wait_for_latch(void *context) {
    struct latch_waiter *self = context;
    self->status = ilk_latch_wait_until(self->latch, self->deadline_ns);
    if (self->status == ILK_OK) {
        self->seen = *self->work;
    }
}

static void a_latch_opens_at_zero_and_stays_open(void **state) {
    (void)state;
    ilk_latch latch;
    ilk_latch_init(&latch, 3);
    int work = 0;
    struct latch_waiter waiters[3];
    for (int i = 0; i < 3; i++) {
        waiters[i] = (struct latch_waiter){.latch = &latch, .deadline_ns = ILK_FOREVER, .work = &work};
        thread_start(&waiters[i].thread, wait_for_latch, &waiters[i]);
        thread_await_sleep(&waiters[i].thread);
    }
    for (int left = 3; left > 0; left--) {
        check_equal(ilk_latch_count(&latch), left);
        check(!ilk_latch_try_wait(&latch));
        check_equal(ilk_latch_wait_until(&latch, 0), ILK_TIMEDOUT);
        for (int i = 0; i < 3; i++) {
            check(!thread_is_done(&waiters[i].thread));
        }
        work++;
        ilk_latch_count_down(&latch);
    }
    for (int i = 0; i < 3; i++) {
        thread_join(&waiters[i].thread);
        check_equal(waiters[i].status, ILK_OK);
        check_equal(waiters[i].seen, 3);
    }
    check(ilk_latch_try_wait(&latch));
    check_equal(ilk_latch_wait_until(&latch, 0), ILK_OK);
    check_equal(ilk_latch_count(&latch), 0);
}

static void a_latch_of_zero_is_open_at_once(void **state) {
    (void)state;
    ilk_latch latch;
    ilk_latch_init(&latch, 0);
    check(ilk_latch_try_wait(&latch));
    check_equal(ilk_latch_wait_until(&latch, ILK_FOREVER), ILK_OK);
}

static void zero_bits_are_an_open_latch_and_a_free_mutex(void **state) {
    (void)state;
    static ilk_latch latch;
    check(ilk_latch_try_wait(&latch));
    check_equal(ilk_latch_wait_until(&latch, 0), ILK_OK);
    check_equal(ilk_latch_count(&latch), 0);
    static ilk_mutex mutex;
    check(ilk_mutex_try_lock(&mutex));
    check(!ilk_mutex_try_lock(&mutex));
    ilk_mutex_unlock(&mutex);
    ilk_mutex_lock(&mutex);
    ilk_mutex_unlock(&mutex);
}

static void a_latch_counts_up_to_its_maximum(void **state) {
    (void)state;
    ilk_latch latch;
    ilk_latch_init(&latch, ILK_LATCH_MAX);
    ilk_latch_count_down(&latch);
    check_equal(ilk_latch_count(&latch), ILK_LATCH_MAX - 1);
}

static void a_latch_wait_is_not_early_and_survives_signals(void **state) {
    (void)state;
    thread_allow_interrupts();
    ilk_latch latch;
    ilk_latch_init(&latch, 1);
    int work = 0;
    struct latch_waiter waiter = {
        .latch = &latch, .deadline_ns = ilk_deadline_in_ns(MILLISECONDS(30)), .work = &work};
    thread_start(&waiter.thread, wait_for_latch, &waiter);
    while (!thread_is_done(&waiter.thread)) {
        thread_interrupt(&waiter.thread);
    }
    thread_join(&waiter.thread);
    check_equal(waiter.status, ILK_TIMEDOUT);
    check(ilk_now_ns() >= waiter.deadline_ns);
    check_equal(ilk_latch_count(&latch), 1);
}

struct latch_round {
    ilk_latch *latches[64];
    ILK_ATOMIC(int) ready;
    int rounds;
    int results[64]; /* plain: carried by the latch */
};

static void count_latches_down(void *context) {
    struct latch_round *round = context;
    for (int i = 0; i < round->rounds; i++) {
        for (int probe = 0; ilk_atomic_load(&round->ready, memory_order_acquire) <= i; probe++) {
            if (probe < 100) {
                ilk_cpu_relax();
            } else {
                probe = 0;
                sched_yield();
            }
        }
        round->results[i % 64] = i;
        ilk_latch_count_down(round->latches[i % 64]);
    }
}

/* Guarantee B, and A: results are plain. */
static void a_waiter_may_free_the_latch_at_once(void **state) {
    (void)state;
    static struct latch_round round;
    round.rounds = stress_rounds(20000);
    struct thread counter;
    thread_start(&counter, count_latches_down, &round);
    for (int i = 0; i < round.rounds; i++) {
        ilk_latch *latch = malloc(sizeof *latch);
        check(latch != NULL);
        ilk_latch_init(latch, 1);
        round.latches[i % 64] = latch;
        ilk_atomic_store(&round.ready, i + 1, memory_order_release);
        while (ilk_latch_wait_until(latch, i % 2 == 0 ? ILK_FOREVER : ilk_deadline_in_ns(500)) != ILK_OK) {
        }
        check_equal(round.results[i % 64], i);
        free(latch);
    }
    thread_join(&counter);
}

/* Guarantees A and B where the latch is found open instead of waited for. */
static void a_thread_that_finds_the_latch_open_may_free_it(void **state) {
    (void)state;
    static struct latch_round round;
    round.rounds = stress_rounds(5000);
    struct thread counter;
    thread_start(&counter, count_latches_down, &round);
    for (int i = 0; i < round.rounds; i++) {
        ilk_latch *latch = malloc(sizeof *latch);
        check(latch != NULL);
        ilk_latch_init(latch, 1);
        round.latches[i % 64] = latch;
        ilk_atomic_store(&round.ready, i + 1, memory_order_release);
        while (!ilk_latch_try_wait(latch)) { /* the counter comes, or the test's time limit */
            sched_yield();
        }
        check_equal(round.results[i % 64], i);
        free(latch);
    }
    thread_join(&counter);
}

/* ---- Barrier ---- */

struct party {
    ilk_barrier *barrier;
    int *marks; /* plain: one a party, written before and read after the barrier */
    int parties, index, rounds, lasts;
};

static void meet(void *context) {
    struct party *self = context;
    for (int round = 1; round <= self->rounds; round++) {
        self->marks[self->index] = round;
        self->lasts += ilk_barrier_wait(self->barrier) ? 1 : 0;
        for (int i = 0; i < self->parties; i++) {
            check_equal(self->marks[i], round); /* A and B: all have come, and it shows */
        }
        self->lasts += ilk_barrier_wait(self->barrier) ? 1 : 0; /* nobody writes while others read */
    }
}

static void run_barrier(int parties, int rounds) {
    ilk_barrier barrier;
    ilk_barrier_init(&barrier, (uint32_t)parties);
    int marks[8] = {0};
    struct party all[8];
    for (int i = 0; i < parties; i++) {
        all[i] = (struct party){&barrier, marks, parties, i, rounds, 0};
    }
    threads_run(parties, meet, all, sizeof *all);
    int lasts = 0;
    for (int i = 0; i < parties; i++) {
        lasts += all[i].lasts;
    }
    check_equal(lasts, 2 * rounds); /* C: exactly one a round */
}

static void parties_meet_round_after_round_and_one_comes_last(void **state) {
    (void)state;
    run_barrier(1, 10);
    run_barrier(2, stress_rounds(10000));
    run_barrier(3, stress_rounds(5000));
    run_barrier(8, stress_rounds(2000));
}

static void the_number_of_rounds_may_wrap(void **state) {
    (void)state;
    ilk_barrier barrier;
    ilk_barrier_init(&barrier, 2);
    ilk_atomic_store(&barrier.state, (uint64_t)(UINT32_MAX - 5) << 32, memory_order_relaxed);
    ilk_atomic_store(&barrier.wakes, UINT32_MAX - 9, memory_order_relaxed);
    int marks[2] = {0};
    struct party all[2] = {{&barrier, marks, 2, 0, 20, 0}, {&barrier, marks, 2, 1, 20, 0}};
    threads_run(2, meet, all, sizeof *all);
    check_equal(all[0].lasts + all[1].lasts, 40);
}

struct late_party {
    ilk_barrier *barrier;
    uint64_t deadline_ns;
    ilk_status status;
    bool last;
    struct thread thread;
};

static void meet_by(void *context) {
    struct late_party *self = context;
    self->status = ilk_barrier_wait_until(self->barrier, self->deadline_ns, &self->last);
}

static void party_queue(struct late_party *party, ilk_barrier *barrier, uint64_t deadline_ns) {
    *party = (struct late_party){.barrier = barrier, .deadline_ns = deadline_ns, .last = true};
    thread_start(&party->thread, meet_by, party);
    thread_await_sleep(&party->thread);
}

static unsigned arrived(ilk_barrier *barrier) {
    return (unsigned)(uint32_t)ilk_atomic_load(&barrier->state, memory_order_relaxed);
}

/* Guarantee D: two of three arrive, one of them leaves; two more must come. */
static void a_party_whose_time_runs_out_has_not_arrived(void **state) {
    (void)state;
    ilk_barrier barrier;
    ilk_barrier_init(&barrier, 3);
    bool last = true;
    check_equal(ilk_barrier_wait_until(&barrier, 0, &last), ILK_TIMEDOUT); /* past: it leaves at once */
    check(!last);
    check_equal(arrived(&barrier), 0);
    struct late_party stays, leaves, second;
    party_queue(&stays, &barrier, ILK_FOREVER);
    leaves = (struct late_party){
        .barrier = &barrier, .deadline_ns = ilk_deadline_in_ns(MILLISECONDS(10)), .last = true};
    thread_start(&leaves.thread, meet_by, &leaves);
    thread_join(&leaves.thread);
    check_equal(leaves.status, ILK_TIMEDOUT);
    check(!leaves.last);
    check(ilk_now_ns() >= leaves.deadline_ns);
    check_equal(arrived(&barrier), 1);
    party_queue(&second, &barrier, ilk_deadline_in_ns(MILLISECONDS(100000)));
    check(!thread_is_done(&stays.thread));
    check_equal(arrived(&barrier), 2);
    check_equal(ilk_barrier_wait_until(&barrier, 0, &last), ILK_OK); /* past, but it is the last */
    check(last);
    thread_join(&stays.thread);
    thread_join(&second.thread);
    check_equal(stays.status, ILK_OK);
    check_equal(second.status, ILK_OK);
    check(!stays.last && !second.last);
    check_equal(arrived(&barrier), 0);
    ilk_barrier one;
    ilk_barrier_init(&one, 1);
    check_equal(ilk_barrier_wait_until(&one, 0, NULL), ILK_OK); /* `last` may be NULL */
}

static void a_barrier_wait_is_not_early_and_survives_signals(void **state) {
    (void)state;
    thread_allow_interrupts();
    ilk_barrier barrier;
    ilk_barrier_init(&barrier, 2);
    struct late_party party = {.barrier = &barrier, .deadline_ns = ilk_deadline_in_ns(MILLISECONDS(30))};
    thread_start(&party.thread, meet_by, &party);
    while (!thread_is_done(&party.thread)) {
        thread_interrupt(&party.thread);
    }
    thread_join(&party.thread);
    check_equal(party.status, ILK_TIMEDOUT);
    check(ilk_now_ns() >= party.deadline_ns);
    check_equal(arrived(&barrier), 0);
}

/* Guarantee E: a third thread at a barrier of two waits for the round after. */
static void a_thread_too_many_is_of_the_next_round(void **state) {
    (void)state;
    ilk_barrier barrier;
    ilk_barrier_init(&barrier, 2);
    struct late_party first, third;
    party_queue(&first, &barrier, ILK_FOREVER);
    check(ilk_barrier_wait(&barrier));
    thread_join(&first.thread);
    party_queue(&third, &barrier, ILK_FOREVER);
    check_equal(arrived(&barrier), 1);
    check(ilk_barrier_wait(&barrier));
    thread_join(&third.thread);
    check(!first.last && !third.last);
}

/* Several threads meet with limits so short that many run out; each wait that met counts, and a round has
 * exactly as many as parties. The plain marks are read only by those who met. */
struct hurried {
    ilk_barrier *barrier;
    uint32_t random;
    int rounds;
    uint64_t met, lasts, late;
};

static void meet_in_a_hurry(void *context) {
    struct hurried *self = context;
    for (int round = 0; round < self->rounds; round++) {
        bool last;
        uint64_t limit = next_random(&self->random) % 30000;
        if (ilk_barrier_wait_until(self->barrier, ilk_deadline_in_ns(limit), &last) == ILK_OK) {
            self->met++;
            self->lasts += last ? 1 : 0;
        } else {
            self->late++;
        }
    }
}

static void run_hurried(int threads, int parties) {
    ilk_barrier barrier;
    ilk_barrier_init(&barrier, (uint32_t)parties);
    struct hurried all[6];
    for (int i = 0; i < threads; i++) {
        all[i] = (struct hurried){.barrier = &barrier,
                                  .random = (uint32_t)ilk_now_ns() + (uint32_t)i * 7919 + 1,
                                  .rounds = stress_rounds(20000)};
    }
    threads_run(threads, meet_in_a_hurry, all, sizeof *all);
    uint64_t met = 0, lasts = 0;
    for (int i = 0; i < threads; i++) {
        met += all[i].met;
        lasts += all[i].lasts;
    }
    check_equal(met, lasts * (uint64_t)parties);
    check_equal(arrived(&barrier), 0);
    check_equal(ilk_atomic_load(&barrier.state, memory_order_relaxed) >> 32, lasts);
}

static void a_round_has_its_parties_though_others_leave(void **state) {
    (void)state;
    run_hurried(2, 2);
    run_hurried(4, 3); /* more threads than parties */
    run_hurried(6, 6);
}

/* ---- Mutex ---- */

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
        uint32_t choice = next_random(&self->random) % 4;
        bool in = true;
        if (choice == 0) {
            in = ilk_mutex_try_lock(self->mutex);
        } else if (choice == 1) {
            in = ilk_mutex_lock_until(self->mutex, ilk_deadline_in_ns(next_random(&self->random) % 20000)) ==
                 ILK_OK;
        } else {
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

static void a_mutex_has_one_owner_at_a_time(void **state) {
    (void)state;
    run_mutex(false, 2);
    run_mutex(false, 6);
}

/* ThreadSanitizer sees the kernel hand it over, too, because MX5 and MX6 say so. */
static void an_inheriting_mutex_has_one_owner_at_a_time(void **state) {
    (void)state;
    run_mutex(true, 2);
    run_mutex(true, 6);
}

struct mutex_waiter {
    ilk_mutex *mutex;
    uint64_t deadline_ns;
    uint64_t *plain; /* guarded by the mutex: ThreadSanitizer sees an order that is missing */
    ilk_status status;
    struct thread thread;
};

static void wait_for_mutex(void *context) {
    struct mutex_waiter *self = context;
    self->status = ilk_mutex_lock_until(self->mutex, self->deadline_ns);
    if (self->status == ILK_OK) {
        if (self->plain != NULL) {
            ++*self->plain;
        }
        ilk_mutex_unlock(self->mutex);
    }
}

static void a_mutex_wait_times_out_not_early_and_leaves_nothing(void **state) {
    (void)state;
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
        check_equal(ilk_mutex_lock_until(&mutex, 0), ILK_OK); /* free: taken though the time is past */
        ilk_mutex_unlock(&mutex);
    }
}

static void an_unlock_wakes_every_sleeper_one_by_one(void **state) {
    (void)state;
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
        plain = 10; /* carried by the hand-over to the one that has slept, and on */
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

static void the_last_owner_may_free_the_mutex_at_once(void **state) {
    (void)state;
    run_last_owners(false, stress_rounds(5000));
}

static void the_last_owner_may_free_an_inheriting_mutex_at_once(void **state) {
    (void)state;
    run_last_owners(true, stress_rounds(2000));
}

/* What a timed-out wait leaves behind must not be taken for a sleeper for ever: the next uses find the word
 * as it was before. */
static void a_mutex_is_as_new_after_a_wait_that_timed_out(void **state) {
    (void)state;
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_latch_opens_at_zero_and_stays_open),
    cmocka_unit_test(a_latch_of_zero_is_open_at_once),
    cmocka_unit_test(zero_bits_are_an_open_latch_and_a_free_mutex),
    cmocka_unit_test(a_latch_counts_up_to_its_maximum),
    cmocka_unit_test(a_latch_wait_is_not_early_and_survives_signals),
    cmocka_unit_test(a_waiter_may_free_the_latch_at_once),
    cmocka_unit_test(a_thread_that_finds_the_latch_open_may_free_it),
    cmocka_unit_test(parties_meet_round_after_round_and_one_comes_last),
    cmocka_unit_test(the_number_of_rounds_may_wrap),
    cmocka_unit_test(a_party_whose_time_runs_out_has_not_arrived),
    cmocka_unit_test(a_barrier_wait_is_not_early_and_survives_signals),
    cmocka_unit_test(a_thread_too_many_is_of_the_next_round),
    cmocka_unit_test(a_round_has_its_parties_though_others_leave),
    cmocka_unit_test(a_mutex_has_one_owner_at_a_time),
    cmocka_unit_test(an_inheriting_mutex_has_one_owner_at_a_time),
    cmocka_unit_test(a_mutex_wait_times_out_not_early_and_leaves_nothing),
    cmocka_unit_test(an_unlock_wakes_every_sleeper_one_by_one),
    cmocka_unit_test(the_last_owner_may_free_the_mutex_at_once),
    cmocka_unit_test(the_last_owner_may_free_an_inheriting_mutex_at_once),
    cmocka_unit_test(a_mutex_is_as_new_after_a_wait_that_timed_out),
};

TEST_MAIN(tests)
