/* SPDX-License-Identifier: Apache-2.0
 *
 * Both rings: waits, their limits, and close. WAITERS threads wait at once, as many as the ring allows a
 * side.
 */
#ifndef INTERLOCK_TESTS_RINGS_CONTRACT_WAITING_H
#define INTERLOCK_TESTS_RINGS_CONTRACT_WAITING_H

#include "rings/waiter.h"

enum { WAITERS = MOST_A_SIDE };
/* contract: ilk_mpmc_pop_until, ilk_mpmc_push_until, ilk_spsc_pop_until, ilk_spsc_push_until */
TEST(waiting_pops_get_the_elements_pushed) {
    for (enum push_verb verb = TRY_PUSH; verb < push_verbs(); verb++) {
        check_during(push_name(verb), 0);
        ring_type *ring = make(WAITERS + 1);
        struct waiter consumers[WAITERS];
        start_waiters(consumers, WAITERS, ring, pop_and_wait);
        item values[WAITERS], sum = 0;
        for (int i = 0; i < WAITERS; i++) {
            values[i] = (item)1 << i;
        }
        if (verb == PUSH_IN_PLACE) {
            reserve_all(ring, values, WAITERS);
            expect_asleep(consumers, WAITERS); /* what is reserved is not there yet */
            RING(commit)(ring, WAITERS);
        } else {
            push_all(ring, verb, values, WAITERS);
        }
        for (int i = 0; i < WAITERS; i++) {
            expect_answer(&consumers[i], ILK_OK);
            sum += consumers[i].value;
        }
        check_equal(sum, ((item)1 << WAITERS) - 1); /* each of them once */
        expect_empty(ring);
        RING(destroy)(ring);
    }
}
/* contract: ilk_mpmc_pop_until, ilk_mpmc_push_until, ilk_spsc_pop_until, ilk_spsc_push_until */
TEST(waiting_pushes_get_the_room_made) {
    for (enum pop_verb verb = TRY_POP; verb < ANY_POP; verb++) {
        check_during(pop_name(verb), 0);
        ring_type *ring = make(WAITERS);
        for (int i = 0; i < WAITERS; i++) {
            check(push(ring, 100));
        }
        struct waiter producers[WAITERS];
        start_waiters(producers, WAITERS, ring, push_and_wait);
        item values[WAITERS], sum = 0;
        if (verb == POP_IN_PLACE) {
            size_t count = WAITERS;
            check(RING(peek)(ring, &count) != NULL);
            check_equal(count, WAITERS);
            expect_asleep(producers, WAITERS); /* what is shown still has its slots */
            RING(release)(ring, WAITERS);
        } else {
            pop_all(ring, verb, values, WAITERS);
            for (int i = 0; i < WAITERS; i++) {
                check_equal(values[i], 100);
            }
        }
        for (int i = 0; i < WAITERS; i++) {
            expect_answer(&producers[i], ILK_OK);
        }
        pop_all(ring, POP_MANY, values, WAITERS);
        for (int i = 0; i < WAITERS; i++) {
            sum += values[i];
        }
        check_equal(sum, ((item)1 << WAITERS) - 1);
        RING(destroy)(ring);
    }
}
/* contract: ilk_mpmc_pop_until, ilk_mpmc_push_until, ilk_spsc_pop_until, ilk_spsc_push_until */
TEST(waits_time_out_and_not_early) {
    ring_type *ring = make(1);
    item value = 5;
    const uint64_t passed[] = {0, 1, ilk_now_ns()};
    for (int i = 0; i < 3; i++) {
        check_equal(RING(pop_until)(ring, &value, sizeof value, passed[i]), ILK_TIMEDOUT);
    }
    uint64_t deadline = ilk_deadline_in_ns(MILLISECONDS(3));
    check_equal(RING(pop_until)(ring, &value, sizeof value, deadline), ILK_TIMEDOUT);
    check(ilk_now_ns() >= deadline);
    check_equal(RING(push_until)(ring, &value, sizeof value, 0), ILK_OK); /* there is room */
    for (int i = 0; i < 3; i++) {
        check_equal(RING(push_until)(ring, &value, sizeof value, passed[i]), ILK_TIMEDOUT);
    }
    deadline = ilk_deadline_in_ns(MILLISECONDS(3));
    check_equal(RING(push_until)(ring, &value, sizeof value, deadline), ILK_TIMEDOUT);
    check(ilk_now_ns() >= deadline);
    check_equal(RING(pop_until)(ring, &value, sizeof value, 0), ILK_OK); /* there is one */
    check_equal(RING(count)(ring), 0);
    RING(destroy)(ring);
}

static const struct side {
    const char *name;
    thread_body *wait;
    item elements; /* in a ring of one */
} sides[] = {{"pop_until", pop_and_wait, 0}, {"push_until", push_and_wait, 1}};
enum { SIDES = sizeof sides / sizeof *sides };

static inline ring_type *make_to_wait_in(const struct side *side) {
    check_during(side->name, 0);
    ring_type *ring = make(1);
    check(side->elements == 0 || push(ring, 100));
    return ring;
}
/* contract: ilk_mpmc_pop_until, ilk_mpmc_push_until, ilk_spsc_pop_until, ilk_spsc_push_until */
TEST(signals_do_not_move_the_deadline) {
    thread_allow_interrupts();
    for (int s = 0; s < SIDES; s++) {
        ring_type *ring = make_to_wait_in(&sides[s]);
        struct waiter waiter = {.ring = ring, .deadline_ns = ilk_deadline_in_ns(MILLISECONDS(30))};
        thread_start(&waiter.thread, sides[s].wait, &waiter);
        while (!thread_is_done(&waiter.thread)) {
            thread_interrupt(&waiter.thread);
        }
        expect_answer(&waiter, ILK_TIMEDOUT);
        check(ilk_now_ns() >= waiter.deadline_ns);
        RING(destroy)(ring);
    }
}

/* ---- Closing ---- */
/* contract: ilk_mpmc_close, ilk_mpmc_is_closed, ilk_mpmc_pop_until, ilk_mpmc_reserve, ilk_mpmc_try_pop */
/* contract: ilk_mpmc_try_push, ilk_spsc_close, ilk_spsc_commit, ilk_spsc_is_closed, ilk_spsc_reserve */
/* contract: ilk_spsc_try_pop, ilk_spsc_try_push, mpmc.C, spsc.C */
TEST(a_closed_ring_drains_and_takes_nothing_more) {
    ring_type *ring = make(4);
    check(push(ring, 1));
    check(push(ring, 2));
    check(!RING(is_closed)(ring));
    RING(close)(ring);
    RING(close)(ring); /* twice does nothing more */
    check(RING(is_closed)(ring));
    item value = 3;
    check(!push(ring, value));
    check_equal(RING(push_until)(ring, &value, sizeof value, ILK_FOREVER), ILK_CLOSED);
    check_equal(RING(try_push_many)(ring, &value, 1, sizeof value), 0);
    size_t count = 1;
    check(RING(reserve)(ring, &count) == NULL);
    check_equal(count, 0);
    check_equal(RING(count)(ring), 2);
    expect_pop(ring, 1);
    check_equal(RING(pop_until)(ring, &value, sizeof value, ILK_FOREVER), ILK_OK);
    check_equal(value, 2);
    check_equal(RING(pop_until)(ring, &value, sizeof value, ILK_FOREVER), ILK_CLOSED);
    check_equal(RING(pop_until)(ring, &value, sizeof value, 0), ILK_CLOSED);
    expect_empty(ring);
    RING(destroy)(ring);
}
/* contract: ilk_mpmc_close, ilk_spsc_close, mpmc.C, spsc.C */
TEST(every_kind_of_pop_drains_a_closed_ring) {
    enum { COUNT = 3 };
    for (enum pop_verb verb = TRY_POP; verb < ANY_POP; verb++) {
        check_during(pop_name(verb), 0);
        ring_type *ring = make(COUNT);
        for (item i = 0; i < COUNT; i++) {
            check(push(ring, i));
        }
        RING(close)(ring);
        item out[COUNT] = {9, 9, 9};
        if (verb == POP_MANY) { /* also fewer than there are, and more */
            pop_all(ring, verb, out, 2);
            check_equal(RING(try_pop_many)(ring, out + 2, COUNT, sizeof *out), 1);
            check_equal(RING(try_pop_many)(ring, out, COUNT, sizeof *out), 0);
        } else {
            pop_all(ring, verb, out, COUNT);
        }
        for (item i = 0; i < COUNT; i++) {
            check_equal(out[i], i);
        }
        size_t count = 0;
        check(RING(peek)(ring, &count) == NULL);
        check_equal(count, 0);
        check_equal(RING(pop_until)(ring, out, sizeof *out, ILK_FOREVER), ILK_CLOSED);
        expect_empty(ring);
        RING(destroy)(ring);
    }
}
/* contract: ilk_mpmc_close, ilk_spsc_close, mpmc.C, spsc.C */
TEST(a_reservation_made_before_close_still_counts) {
    ring_type *ring = make(4);
    const item values[2] = {7, 8};
    reserve_all(ring, values, 2);
    RING(close)(ring);
    item value;
    check_equal(RING(pop_until)(ring, &value, sizeof value, 0), ILK_TIMEDOUT); /* two may follow */
    struct waiter consumer;
    start_waiters(&consumer, 1, ring, pop_and_wait);
    RING(commit)(ring, 2);
    expect_answer(&consumer, ILK_OK);
    check_equal(consumer.value, 7);
    expect_pop(ring, 8);
    check_equal(RING(pop_until)(ring, &value, sizeof value, ILK_FOREVER), ILK_CLOSED);
    RING(destroy)(ring);
}
/* contract: ilk_mpmc_close, ilk_spsc_push_until, mpmc.C, spsc.C */
TEST(close_wakes_every_waiter) {
    for (int s = 0; s < SIDES; s++) {
        ring_type *ring = make_to_wait_in(&sides[s]);
        struct waiter waiters[WAITERS];
        start_waiters(waiters, WAITERS, ring, sides[s].wait);
        RING(close)(ring);
        for (int i = 0; i < WAITERS; i++) {
            expect_answer(&waiters[i], ILK_CLOSED);
        }
        if (sides[s].elements > 0) {
            expect_pop(ring, 100); /* the refused ones are not in it */
        }
        expect_empty(ring);
        RING(destroy)(ring);
    }
}

#endif
