/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mpmc: two and three threads, waiting, in batches, in place and beside a close. See also
 * ring_scenarios.h and mpmc_overwrite.c.
 */
/* contract: mpmc.A, mpmc.B, mpmc.F */
#include "mpmc_face.h"

#include "ring_verbs.h"

#include "ring_scenarios.h"

static void setup_three_elements(void) {
    setup_3();
    try_push_thrice();
}
static void setup_full(void) {
    setup_1();
    try_push();
}

/* The third element goes where a batch was read. */
static void batch_then_push(void) {
    push_batch();
    try_push();
}
/* The second element goes where the first was read. */
static void push_in_place_then_one(void) {
    push_in_place();
    try_push();
}
static void pop_then_until(void) {
    pop();
    pop_until();
}
/* Both consumers find the ring closed, not drained, and sleep again. */
static void reserve_close_commit(void) {
    size_t count = 1;
    const uint64_t element = next_element();
    size_t operation = ex_begin(EX_PUSH, element);
    uint64_t *slot = ilk_mpmc_reserve(s.ring, &count);
    ex_assert(slot != NULL);
    close_ring();
    ilk_plain_write(slot, sizeof *slot);
    *slot = element;
    ilk_mpmc_commit(s.ring, 1);
    ex_end(operation, EX_DONE);
}

SCENARIO(until_until, "push_until-pop_until", setup_1, push_until, pop_until);
SCENARIO(push_push, "try_push-try_push", setup_2, try_push_twice, try_push_twice);
SCENARIO(push_push_1, "try_push-try_push-capacity-1", setup_1, try_push_twice, try_push_twice);
/*   consumer of one (or producer)        consumer of two
 *   reads head = 0
 *                                        pops at 0
 *   slot 0 is not full; reads head = 1
 *                                        pops at 1
 *   slot 1 is not full: "empty" would be an answer from a stale head, for there is an element at 2  */
SCENARIO(pop_pop_3, "try_pop-try_pop-three-elements", setup_three_elements, try_pop_twice, try_pop);
SCENARIO(push_push_3, "try_push-try_push-capacity-3", setup_3, try_push_twice, try_push);
SCENARIO(batch_pop_3, "pop_many-try_pop-three-elements", setup_three_elements, pop_batch, try_pop);
SCENARIO(batch_push_3, "push_many-try_push-capacity-3", setup_3, push_batch, try_push);
SCENARIO(batch_batch, "push_many-push_many-pop", setup_3, push_batch, push_batch, try_pop);
SCENARIO(batch_wraps, "push_many_push-pop_many", setup_2, batch_then_push, pop_batch);
SCENARIO(in_place_wraps, "reserve_push-peek", setup_1, push_in_place_then_one, pop_in_place);
SCENARIO(in_place_3, "reserve-peek-push", setup_2, push_in_place, pop_in_place, try_push);
SCENARIO(in_place_batch, "reserve-push_many-pop_many", setup_3, push_in_place, push_batch, pop_batch);
SCENARIO(in_place_in_place, "reserve-reserve-peek", setup_2, push_in_place, push_in_place, pop_in_place);
SCENARIO(three_try, "try_push-try_push-try_pop", setup_1, try_push, try_push, try_pop_twice);
SCENARIO(three_pop, "try_push-try_pop-try_pop", setup_2, try_push_twice, try_pop, try_pop);

SCENARIO(wait_often_two, "push_thrice-pop_twice-pop", setup_2, push_thrice, pop_twice, pop);
SCENARIO(two_consumers, "push-pop-pop", setup_1, push_twice, pop, pop);
SCENARIO(two_producers, "push-push-pop", setup_1, push, push, pop_twice);
SCENARIO(pass_on, "pop_until-pop-push", setup_2, pop_until, pop, push_twice);
SCENARIO(pass_on_push, "push_until-push-pop", setup_1, push_until, push, pop_then_until);
SCENARIO(batch_wait, "push_many-pop-pop", setup_2, push_batch, pop, pop);
SCENARIO(batch_in_place, "push_many-peek-peek", setup_2, push_batch, pop_in_place, pop_in_place);
SLOW(in_place_wait, "reserve-push-pop-pop", setup_2, push_in_place, try_push, pop, pop);
SLOW(batch_until, "push_many-pop_until-pop_until", setup_2, push_batch, pop_until, pop_until);
SLOW(in_place_until, "reserve-pop_until-pop_until", setup_1, push_in_place, pop_until, pop_until);
/*   producer 1         producer 2             consumers (both asleep)
 *   claims slot 0
 *                      pushes to slot 1,
 *                      wakes one ---------> finds slot 0 not full yet, sleeps again
 *   fills slot 0,
 *   wakes one ----------------------------> pops slot 0; must wake the other for slot 1, as no
 *                                           other thread will                                      */
SCENARIO(two_two, "try_push-try_push-pop-pop", setup_2, try_push, try_push, pop, pop);

/* Beside a close. */
SCENARIO(close_two_drain, "drain-drain-push_close", setup_1, drain, drain, close_ring);
SCENARIO(close_reserved, "drain-drain-reserve_close_commit", setup_1, drain, drain, reserve_close_commit);
SLOW(close_pop_batch, "push-pop_many_drain-close", setup_2, push, batch_then_drain, close_ring);

static void see_work_when_refused(void) {
    uint64_t element = 1;
    if (ilk_mpmc_push_until(s.ring, &element, sizeof element, ILK_FOREVER) == ILK_CLOSED) {
        see_work();
    }
}
EX_SCENARIO(refused_work){
    .name = "mpmc-work-before-close-push",
    .claim = "a producer that a closed ring refuses sees what the closer did",
    .setup = setup_1,
    .threads = {close_after_work, see_work_when_refused},
    .titles = {"closer", "producer"},
};

/* The ring holds one element at most: a larger count was never true. */
static void push_and_pop_unrecorded(void) {
    uint64_t element = 1;
    ex_assert(ilk_mpmc_try_push(s.ring, &element, sizeof element));
    ex_assert(ilk_mpmc_try_pop(s.ring, &element, sizeof element));
}
static void count(void) {
    size_t count = ilk_mpmc_count(s.ring);
    ex_expect(count <= 1, "%zu elements were counted where there was never more than one", count);
}
EX_SCENARIO(counted){
    .name = "mpmc-count-beside-push-and-pop",
    .claim = "a count was true at some moment",
    .setup = setup_3,
    .threads = {push_and_pop_unrecorded, count},
    .titles = {"user", "counter"},
    .once_failed = {"weak 14:1"},
};

/* ---- Misuse: waiting for a slot that the calling thread itself has open ---- */

static void reserve_one(void) {
    size_t count = 1;
    ex_assert(ilk_mpmc_reserve(s.ring, &count) != NULL);
}
static void wait_for_own_slot(void) {
    reserve_one();
    push();
}
static void wait_for_own_element(void) {
    reserve_one();
    pop();
}
static void wait_for_shown_slot(void) {
    size_t count = 1;
    ex_assert(ilk_mpmc_peek(s.ring, &count) != NULL);
    push();
}
#define OWN_SLOT_MISUSE(identifier, text, ...)                                                               \
    MISUSE(identifier, text, "misuse: to wait for a slot that the thread itself has open", __VA_ARGS__)
OWN_SLOT_MISUSE(own_push, "push-waits-for-own-reservation", setup_1, wait_for_own_slot, try_pop);
OWN_SLOT_MISUSE(own_pop, "pop-waits-for-own-reservation", setup_1, wait_for_own_element, try_pop);
OWN_SLOT_MISUSE(own_shown, "push-waits-for-own-peek", setup_full, wait_for_shown_slot, try_push);

EX_MUST_REACH(states){
    {"mpmc-drain-drain-reserve_close_commit", {EX_MPMC_POP_BEFORE_DRAINED}},
    {"mpmc-drain-*", {EX_MPMC_SLEEPS, EX_MPMC_LEAVES_OTHERS, EX_EVENT_FENCED_UP, EX_MPMC_POP_DRAINED}},
    {"mpmc-pop_until-pop-push", {EX_SLEEPER_LATE, EX_MPMC_SLEEPS, EX_EVENT_WAKE_PENDS}},
    {"mpmc-push-*drain-close",
     {EX_MPMC_SLEEPS, EX_EVENT_FENCED_UP, EX_MPMC_PUSH_REFUSED, EX_MPMC_POP_DRAINED}},
    {"mpmc-push-*pop", {EX_MPMC_SLEEPS, EX_EVENT_WAKES, EX_EVENT_ACKNOWLEDGED}},
    {"mpmc-push-close", {EX_MPMC_SLEEPS, EX_MPMC_PUSH_REFUSED}},
    {"mpmc-push-peek mpmc-push-pop-membarrier-refused mpmc-push-pop_many "
     "mpmc-reserve-push-pop-pop",
     {EX_MPMC_SLEEPS}},
    {"mpmc-push-pop_until-close",
     {EX_SLEEPER_LATE, EX_MPMC_SLEEPS, EX_EVENT_FENCED_UP, EX_MPMC_PUSH_REFUSED, EX_MPMC_POP_DRAINED}},
    {"mpmc-push_many-drain-close mpmc-reserve-drain-close mpmc-try_push-drain-close "
     "mpmc-work-before-close",
     {EX_MPMC_SLEEPS, EX_MPMC_POP_DRAINED}},
    {"mpmc-push_many-drops-fenced", {EX_EVENT_FENCED_DOWN, EX_MPMC_NOTIFIES}},
    {"mpmc-push_many-pop-pop mpmc-try_push-try_push-pop-pop", {EX_MPMC_SLEEPS, EX_MPMC_LEAVES_OTHERS}},
    {"mpmc-push_many-pop_until-pop_until", {EX_SLEEPER_LATE, EX_MPMC_SLEEPS, EX_MPMC_LEAVES_OTHERS}},
    {"mpmc-push_thrice-*", {EX_MPMC_SLEEPS, EX_EVENT_WAKES, EX_EVENT_WAKE_PENDS, EX_EVENT_ACKNOWLEDGED}},
    {"mpmc-push_until-*", {EX_SLEEPER_LATE, EX_MPMC_SLEEPS, EX_EVENT_FENCED_UP}},
    {"mpmc-reserve-pop_until-pop_until", {EX_SLEEPER_LATE, EX_MPMC_SLEEPS}},
    {"mpmc-work-before-close-push", {EX_MPMC_PUSH_REFUSED}},
};

EX_CANNOT_REACH(no_states){
    {"mpmc-push_thrice-pop_thrice", {EX_MPMC_POP_BEFORE_DRAINED, EX_MPMC_PUSH_REFUSED, EX_MPMC_POP_DRAINED}},
    {"mpmc-push-pop-membarrier-refused", {EX_EVENT_FENCED_UP}},
};
