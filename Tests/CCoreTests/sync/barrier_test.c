/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_barrier: rounds have exactly their parties, one of which is the last, also beside time-outs; a barrier ends as
 * soon as a wait has returned.
 */
/* contract: barrier.h */
#include "support/test.h"
#include <interlock/barrier.h>
#include <stdlib.h>

struct party {
    ilk_barrier *barrier;
    int *marks; /* one a party, written before and read after the barrier */
    int parties, index, rounds, lasts;
};

static void meet(void *context) {
    struct party *self = context;
    for (int round = 1; round <= self->rounds; round++) {
        self->marks[self->index] = round;
        self->lasts += ilk_barrier_wait(self->barrier) ? 1 : 0;
        for (int i = 0; i < self->parties; i++) {
            check_equal(self->marks[i], round); /* A and B: all have arrived, visibly */
        }
        self->lasts += ilk_barrier_wait(self->barrier) ? 1 : 0; /* no party writes while another reads */
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
/* contract: barrier.A, ilk_barrier_wait */
TEST(parties_meet_round_after_round_and_one_comes_last) {
    run_barrier(1, 10);
    run_barrier(2, stress_rounds(10000));
    run_barrier(3, stress_rounds(5000));
    run_barrier(8, stress_rounds(2000));
}

static void run_from(uint32_t round) {
    ilk_barrier barrier;
    ilk_barrier_init(&barrier, 2);
    ilk_atomic_store(&barrier.state, (uint64_t)round << 32, memory_order_relaxed);
    ilk_atomic_store(&barrier.left, round * 2 * 2, memory_order_relaxed);
    int marks[2] = {0};
    struct party all[2] = {{&barrier, marks, 2, 0, 20, 0}, {&barrier, marks, 2, 1, 20, 0}};
    threads_run(2, meet, all, sizeof *all);
    check_equal(all[0].lasts + all[1].lasts, 40);
    ilk_barrier_destroy(&barrier); /* finds it at rest */
}

TEST(the_numbers_of_rounds_and_departures_may_wrap) {
    run_from(UINT32_MAX - 5);
    run_from(UINT32_MAX / 4); /* the departures alone */
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

/* Guarantee D. */
/* contract: barrier.D, ilk_barrier_wait, ilk_barrier_wait_until */
TEST(a_party_whose_time_runs_out_has_not_arrived) {
    ilk_barrier barrier;
    ilk_barrier_init(&barrier, 3);
    bool last = true;
    check_equal(ilk_barrier_wait_until(&barrier, 0, &last), ILK_TIMEDOUT); /* passed: it leaves at once */
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
    check_equal(ilk_barrier_wait_until(&barrier, 0, &last), ILK_OK); /* passed, but it is the last */
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

TEST(a_barrier_wait_is_not_early_and_survives_signals) {
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

/* Guarantee E. */
/* contract: barrier.E */
TEST(a_thread_too_many_is_of_the_next_round) {
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

/* The limits are so short that many run out. */
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
/* contract: barrier.A, barrier.D */
TEST(a_round_has_its_parties_though_others_leave) {
    run_hurried(2, 2);
    run_hurried(4, 3); /* more threads than parties */
    run_hurried(6, 6);
}

/* Guarantee F. Two phases, so that no party arrives at the barrier that is being ended. */
struct serial {
    ilk_barrier *phases[2];
    int rounds;
};

static void end_every_phase(void *context) {
    struct serial *self = *(struct serial **)context;
    for (int round = 0; round < self->rounds; round++) {
        for (int phase = 0; phase < 2; phase++) {
            ilk_barrier *const barrier = self->phases[phase];
            if (!ilk_barrier_wait(barrier)) {
                continue;
            }
            const uint32_t parties = barrier->parties;
            ilk_barrier_destroy(barrier);
            if (round % 2 == 0) { /* in place */
                ilk_barrier_init(barrier, parties);
            } else {
                free(barrier);
                self->phases[phase] = malloc(sizeof *barrier);
                ilk_barrier_init(self->phases[phase], parties);
            }
        }
    }
}

static void run_serial(int parties) {
    struct serial serial = {.rounds = stress_rounds(4000)}, *all[8];
    for (int i = 0; i < 2; i++) {
        serial.phases[i] = malloc(sizeof *serial.phases[i]);
        ilk_barrier_init(serial.phases[i], (uint32_t)parties);
    }
    for (int i = 0; i < parties; i++) {
        all[i] = &serial;
    }
    threads_run(parties, end_every_phase, all, sizeof *all);
    for (int i = 0; i < 2; i++) {
        ilk_barrier_destroy(serial.phases[i]);
        free(serial.phases[i]);
    }
}
/* contract: barrier.F, ilk_barrier_destroy, ilk_barrier_wait */
TEST(the_last_party_may_destroy_and_make_it_anew) {
    run_serial(1);
    run_serial(2);
    run_serial(4);
    run_serial(8);
}
