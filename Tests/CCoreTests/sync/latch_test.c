/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_latch: opens once, wakes every waiter, carries what was written before, and may be freed by a waiter.
 */
/* contract: latch.h */
#include "support/fork.h"
#include "support/test.h"
#include <interlock/latch.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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
/* contract: ilk_latch_count_down */
TEST(a_latch_opens_at_zero_and_stays_open) {
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
/* contract: ilk_latch_init */
TEST(a_latch_of_zero_is_open_at_once) {
    ilk_latch latch;
    ilk_latch_init(&latch, 0);
    check(ilk_latch_try_wait(&latch));
    check_equal(ilk_latch_wait_until(&latch, ILK_FOREVER), ILK_OK);
}
/* contract: ilk_latch_init, ilk_latch_wait_until */
TEST(zero_bits_are_an_open_latch) {
    static ilk_latch latch;
    check(ilk_latch_try_wait(&latch));
    check_equal(ilk_latch_wait_until(&latch, 0), ILK_OK);
    check_equal(ilk_latch_count(&latch), 0);
}
/* contract: ilk_latch_init */
TEST(a_latch_counts_up_to_its_maximum) {
    ilk_latch latch;
    ilk_latch_init(&latch, ILK_LATCH_MAX);
    ilk_latch_count_down(&latch);
    check_equal(ilk_latch_count(&latch), ILK_LATCH_MAX - 1);
}
/* contract: ilk_latch_wait_until */
TEST(a_latch_wait_is_not_early_and_survives_signals) {
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

enum { LATCHES = 64 };

struct latch_round {
    ilk_latch *latches[LATCHES];
    ILK_ATOMIC(int) ready;
    int rounds;
    int results[LATCHES]; /* plain: carried by the latch */
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
        round->results[i % LATCHES] = i;
        ilk_latch_count_down(round->latches[i % LATCHES]);
    }
}

static bool wait_or_time_out(ilk_latch *latch, int round) {
    return ilk_latch_wait_until(latch, round % 2 == 0 ? ILK_FOREVER : ilk_deadline_in_ns(500)) == ILK_OK;
}

static bool try_or_yield(ilk_latch *latch, int round) {
    if (ilk_latch_try_wait(latch)) {
        return true;
    }
    sched_yield();
    return false;
}

static void free_each_when_open(int rounds, bool (*is_open)(ilk_latch *latch, int round)) {
    static struct latch_round round;
    round.rounds = stress_rounds(rounds);
    ilk_atomic_store(&round.ready, 0, memory_order_relaxed); /* of the test before, in one process */
    struct thread counter;
    thread_start(&counter, count_latches_down, &round);
    for (int i = 0; i < round.rounds; i++) {
        ilk_latch *latch = malloc(sizeof *latch);
        check(latch != NULL);
        ilk_latch_init(latch, 1);
        round.latches[i % LATCHES] = latch;
        ilk_atomic_store(&round.ready, i + 1, memory_order_release);
        while (!is_open(latch, i)) { /* the counter comes, or the time limit */
        }
        check_equal(round.results[i % LATCHES], i);
        free(latch);
    }
    thread_join(&counter);
}

/* Guarantees A and B: results are plain. */
/* contract: ilk_latch_try_wait, latch.A, latch.B */
TEST(a_waiter_may_free_the_latch_at_once) {
    free_each_when_open(20000, wait_or_time_out);
}

/* Guarantees A and B without a wait. */
/* contract: ilk_latch_try_wait, latch.A, latch.B */
TEST(a_thread_that_finds_the_latch_open_may_free_it) {
    free_each_when_open(5000, try_or_yield);
}

/* A thread of the parent waits, which the child does not have. */
TEST(a_latch_goes_on_in_a_child) {
    need_children();
    ilk_latch latch;
    ilk_latch_init(&latch, 2);
    int work = 0;
    struct latch_waiter waiter = {.latch = &latch, .deadline_ns = ILK_FOREVER, .work = &work};
    thread_start(&waiter.thread, wait_for_latch, &waiter);
    thread_await_sleep(&waiter.thread);
    fflush(NULL);
    const pid_t child = fork();
    if (is_child(child)) {
        struct latch_waiter own = {.latch = &latch, .deadline_ns = ILK_FOREVER, .work = &work};
        thread_start(&own.thread, wait_for_latch, &own);
        thread_await_sleep(&own.thread);
        ilk_latch_count_down(&latch);
        check_equal(ilk_latch_count(&latch), 1);
        ilk_latch_count_down(&latch);
        thread_join(&own.thread);
        _exit(own.status == ILK_OK ? 7 : 3);
    }
    expect_exit(child, 7);
    check_equal(ilk_latch_count(&latch), 2);
    ilk_latch_count_down(&latch);
    ilk_latch_count_down(&latch);
    thread_join(&waiter.thread);
}
