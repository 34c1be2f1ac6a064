/* SPDX-License-Identifier: Apache-2.0
 *
 * Semaphores: no more threads inside than permits, and as many permits at the end as there were. Barriers and latches:
 * what each thread wrote before is there for all after.
 */
#include "soak.h"

enum { THREADS = 4, ROUNDS = 100 };

/* ---- Semaphores ---- */

struct permits {
    ilk_semaphore semaphore;
    uint32_t permits;
    _Atomic(uint32_t) inside;
    bool in_batches; /* the first thread gives, the others take */
};

static void set_up_permits(void *state, int variant) {
    struct permits *me = state;
    me->in_batches = chance(3) == 0;
    me->permits = me->in_batches ? 0 : 1 + chance(2);
    (variant != 0 ? ilk_semaphore_init_barging : ilk_semaphore_init)(&me->semaphore, me->permits);
}

static void take_permit(ilk_semaphore *semaphore) {
    switch (chance(4)) {
    case 0:
        at("ilk_semaphore_try_wait");
        if (ilk_semaphore_try_wait(semaphore)) {
            return;
        }
        break;
    case 1:
        at("ilk_semaphore_wait_until");
        if (ilk_semaphore_wait_until(semaphore, some_deadline()) == ILK_OK) {
            return;
        }
        break;
    default:
        break;
    }
    at("ilk_semaphore_wait");
    ilk_semaphore_wait(semaphore);
}

static void use_permits(void *state, int index) {
    struct permits *me = state;
    if (me->in_batches && index == 0) {
        for (uint32_t left = (THREADS - 1) * ROUNDS; left > 0;) {
            uint32_t given = 1 + chance(left < 6 ? left : 6);
            at("ilk_semaphore_signal");
            ilk_semaphore_signal(&me->semaphore, given);
            left -= given;
        }
        return;
    }
    for (int i = 0; i < ROUNDS; i++) {
        take_permit(&me->semaphore);
        if (!me->in_batches) {
            expect(atomic_fetch_add(&me->inside, 1) < me->permits);
            if (chance(20) == 0) {
                sched_yield();
            }
            atomic_fetch_sub(&me->inside, 1);
            ilk_semaphore_signal(&me->semaphore, 1);
        }
    }
}

static void check_permits(void *state, bool is_last) {
    struct permits *me = state;
    (void)is_last;
    expect(ilk_semaphore_value(&me->semaphore) == (int64_t)me->permits);
    ilk_semaphore_destroy(&me->semaphore);
}

/* ---- Barriers and latches ---- */

struct meeting {
    ilk_barrier barrier;
    ilk_latch latches[ROUNDS];
    uint32_t written[2][THREADS]; /* of even and of odd rounds */
    _Atomic(uint32_t) lasts;
};

static void set_up_meeting(void *state, int variant) {
    struct meeting *me = state;
    (void)variant;
    me->lasts = 0;
    ilk_barrier_init(&me->barrier, THREADS);
    for (int i = 0; i < ROUNDS; i++) {
        ilk_latch_init(&me->latches[i], THREADS);
    }
}

static void check_written(const struct meeting *me, uint32_t round) {
    for (int i = 0; i < THREADS; i++) {
        expect(me->written[round % 2][i] == round);
    }
}

static void use_barrier(void *state, int index) {
    struct meeting *me = state;
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        me->written[round % 2][index] = round;
        bool last = false;
        at("ilk_barrier_wait_until");
        while (ilk_barrier_wait_until(&me->barrier, some_deadline(), &last) != ILK_OK) {
            at("ilk_barrier_wait_until, again");
        }
        me->lasts += last;
        check_written(me, round);
    }
    at("ilk_barrier_wait");
    me->lasts += ilk_barrier_wait(&me->barrier);
    if (index == 0) {
        at("ilk_barrier_destroy");
        ilk_barrier_destroy(&me->barrier); /* the others may not have returned yet */
        ilk_barrier_init(&me->barrier, 1);
        expect(ilk_barrier_wait(&me->barrier));
    }
}

static void check_barrier(void *state, bool is_last) {
    (void)is_last;
    expect(((struct meeting *)state)->lasts == ROUNDS + 1);
}

static void use_latches(void *state, int index) {
    struct meeting *me = state;
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        ilk_latch *latch = &me->latches[round - 1];
        me->written[round % 2][index] = round;
        at("ilk_latch_count_down");
        ilk_latch_count_down(latch);
        while (!ilk_latch_try_wait(latch)) {
            at("ilk_latch_wait_until");
            if (ilk_latch_wait_until(latch, some_deadline()) == ILK_OK) {
                break;
            }
        }
        check_written(me, round);
    }
}

static void check_latches(void *state, bool is_last) {
    struct meeting *me = state;
    (void)is_last;
    for (int i = 0; i < ROUNDS; i++) {
        expect(ilk_latch_count(&me->latches[i]) == 0);
    }
}

const struct activity meetings[] = {
    {number_of_semaphore, THREADS, sizeof(struct permits), 0, set_up_permits, use_permits, check_permits},
    {number_of_barging_semaphore, THREADS, sizeof(struct permits), 1, set_up_permits, use_permits,
     check_permits},
    {number_of_barrier, THREADS, sizeof(struct meeting), 0, set_up_meeting, use_barrier, check_barrier},
    {number_of_latch, THREADS, sizeof(struct meeting), 0, set_up_meeting, use_latches, check_latches},
    {.threads = 0},
};
