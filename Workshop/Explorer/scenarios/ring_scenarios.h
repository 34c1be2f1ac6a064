/* SPDX-License-Identifier: Apache-2.0
 *
 * The scenarios of one producer and one consumer, for both rings, after a face and ring_verbs.h.
 */
#ifndef EXPLORER_SCENARIOS_RING_SCENARIOS_H
#define EXPLORER_SCENARIOS_RING_SCENARIOS_H

SCENARIO(try_try, "try_push-try_pop", setup_1, try_push_thrice, try_pop_thrice);
SCENARIO(try_try_2, "try_push-try_pop-capacity-2", setup_2, try_push_thrice, try_pop_thrice);
SCENARIO(wait_wait, "push-pop", setup_1, push_twice, pop_twice);
SCENARIO(wait_wait_refused, "push-pop-membarrier-refused", setup_refused, push_twice, pop_twice);
/* Long enough to sleep behind an earlier sleep's FENCED, and beside the thread that takes it down. */
SCENARIO(wait_often, "push_thrice-pop_thrice", setup_1, push_thrice, pop_thrice);
SCENARIO(batches, "push_many-pop_many", setup_3, push_then_batch, pop_then_batch);
SCENARIO(in_place, "reserve-peek", setup_1, push_in_place_twice, pop_in_place_twice);

SCENARIO(wait_batch, "push-pop_many", setup_1, push_twice, batch_until_found);
SCENARIO(wait_in_place, "push-peek", setup_1, push_twice, in_place_until_found);
SCENARIO(until_batch, "push_until-pop_many", setup_1, push_until_twice, pop_batch);
SCENARIO(until_in_place, "push_until-peek", setup_1, push_until_twice, pop_in_place_twice);

/* Beside a close. */
SCENARIO(close_try, "try_push-drain-close", setup_2, try_push_twice, drain, close_ring);
SCENARIO(close_wait, "push-drain-close", setup_1, push, drain, close_ring);
SCENARIO(close_full, "push-close", setup_1, push_twice, close_ring);
SCENARIO(close_batch, "push_many-drain-close", setup_2, push_batch, drain, close_ring);
SCENARIO(close_in_place, "reserve-drain-close", setup_1, push_in_place, drain, close_ring);
SLOW(close_until, "push_until-drain-close", setup_1, push_until_twice, drain, close_ring);
SLOW(close_pop_until, "push-pop_until-close", setup_1, push_twice, pop_until_twice, close_ring);
SLOW(close_peek, "push-peek_drain-close", setup_1, push, in_place_then_drain, close_ring);

/* ---- The close publishes ---- */

static void close_after_work(void) {
    ilk_plain_write(&s.work, sizeof s.work);
    s.work = 1;
    RING(close)(s.ring);
}
static void see_work(void) {
    ilk_plain_read(&s.work, sizeof s.work);
    ex_assert(s.work == 1);
}
static void see_work_if_closed(void) {
    if (RING(is_closed)(s.ring)) {
        see_work();
    }
}
static void see_work_if_drained_until(uint64_t deadline_ns) {
    uint64_t element;
    if (RING(pop_until)(s.ring, &element, sizeof element, deadline_ns) == ILK_CLOSED) {
        see_work();
    }
}
static void see_work_when_drained(void) {
    see_work_if_drained_until(ILK_FOREVER);
}
/* This consumer never registers as a waiter: the fences of that do not order what it reads after the closed bit. */
static void see_work_if_drained(void) {
    see_work_if_drained_until(0);
}
EX_SCENARIO(closed_work){
    .name = RING_NAME "-work-before-close",
    .claim = "a thread that finds the ring closed sees what the closer did",
    .setup = setup_1,
    .threads = {close_after_work, see_work_if_closed, see_work_when_drained},
    .titles = {"closer", "asker", "consumer"},
};
EX_SCENARIO(drained_work){
    .name = RING_NAME "-work-before-close-pop",
    .claim = "a consumer that finds the ring closed and drained without a sleep sees what the closer did",
    .setup = setup_1,
    .threads = {close_after_work, see_work_if_drained},
    .titles = {"closer", "consumer"},
};

/* ---- FENCED ---- */

static void ignore(void *context, ilk_ring_event event) {
    (void)context;
    (void)event;
}
/* Batches of four from 1,021 on step over the positions near 1,024. The first takes the arm down. The second
 * finds no waiter and is 1,024 elements from the last that dropped FENCED: the ring goes back to no fence. */
static void setup_fenced(void) {
    begin(8, true);
    ring_start_at(s.ring, 1021);
    RING(set_notify)(s.ring, ignore, NULL);
    ex_assert(RING(arm_pop)(s.ring));
}
static void push_four_twice(void) {
    const uint64_t elements[4] = {1, 2, 3, 4};
    ex_assert(RING(try_push_many)(s.ring, elements, 4, sizeof *elements) == 4);
    ex_assert(RING(try_push_many)(s.ring, elements, 4, sizeof *elements) == 4);
}
static void pop_four(void) {
    uint64_t elements[4];
    (void)!RING(try_pop_many)(s.ring, elements, 4, sizeof *elements);
}
static void check_not_fenced(void) {
    ex_expect(!ring_is_fenced(s.ring), "FENCED is still up");
    RING(destroy)(s.ring);
}
EX_SCENARIO(fenced){
    .name = RING_NAME "-push_many-drops-fenced",
    .claim = "whatever the size of the batches, FENCED comes down once in 1,024 elements",
    .setup = setup_fenced,
    .check = check_not_fenced,
    .threads = {push_four_twice, pop_four},
    .titles = {"producer", "consumer"},
};

#endif
