/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_spsc: a producer beside a consumer, and a closer beside both; reservations given up or grown, batches
 * beside waits, and misuse of access in place. See also ring_scenarios.h.
 */
/* contract: spsc.B, spsc.C */
#include "spsc_face.h"

#include "ring_verbs.h"

#include "ring_scenarios.h"

static void push_then_close(void) {
    push();
    close_ring();
}
static void reserve_and_give_up(void) {
    size_t count = 1;
    if (ilk_spsc_reserve(s.ring, &count) != NULL) {
        ilk_spsc_commit(s.ring, 0);
    }
}
static void reserve_then_push(void) {
    reserve_and_give_up();
    try_push();
}

/* The header's recipe for telling empty from drained without an open reservation. */
static void ask_then_pop(void) {
    uint64_t element = 0;
    size_t operation = ex_begin(EX_POP, 0);
    bool closed = ilk_spsc_is_closed(s.ring);
    bool popped = ilk_spsc_try_pop(s.ring, &element, sizeof element);
    ex_end(operation, popped ? element : closed ? EX_DRAINED : EX_EMPTY);
}
static void ask_thrice(void) {
    ask_then_pop();
    ask_then_pop();
    ask_then_pop();
}

SCENARIO(try_try_3, "try_push-try_pop-capacity-3", setup_3, try_push_thrice, try_pop_thrice);
SCENARIO(push_drain, "push_then_close-drain", setup_1, push_then_close, drain);
SCENARIO(until_until, "push_until-pop_until", setup_1, push_until_twice, pop_until);
SCENARIO(batches_2, "push_many-pop_many-capacity-2", setup_2, push_then_batch, pop_then_batch);
SCENARIO(in_place_2, "reserve-peek-capacity-2", setup_2, push_in_place_twice, pop_in_place_twice);
SCENARIO(give_up, "reserve_and_give_up-pop", setup_1, reserve_then_push, pop_until);

SCENARIO(wait_batch_refused, "push-pop_many-membarrier-refused", setup_refused, push_twice,
         batch_until_found);
SCENARIO(batch_wait, "push_many-pop", setup_2, push_batch, pop_twice);
SCENARIO(batch_in_place, "push_many-peek", setup_2, push_then_batch, pop_in_place_twice);
SCENARIO(in_place_wait, "reserve-pop", setup_1, push_in_place, pop);
SCENARIO(in_place_batch, "reserve-pop_many", setup_2, push_in_place_twice, pop_then_batch);
SCENARIO(batch_until, "push_many-pop_until", setup_2, push_batch, pop_until_twice);
SCENARIO(in_place_until, "reserve-pop_until", setup_1, push_in_place_twice, pop_until_twice);

/* Beside a close. */
SCENARIO(close_push_push, "push_push-drain-close", setup_1, push_twice, drain, close_ring);
SCENARIO(close_refused, "push-drain-close-membarrier-refused", setup_refused, push, drain, close_ring);
SCENARIO(close_in_place_refused, "reserve-drain-close-membarrier-refused", setup_refused, push_in_place,
         drain, close_ring);
SCENARIO(close_give_up_refused, "reserve_and_give_up-drain-close-membarrier-refused", setup_refused,
         reserve_then_push, drain, close_ring);
SCENARIO(close_give_up, "reserve_and_give_up-drain-close", setup_1, reserve_then_push, drain, close_ring);
SCENARIO(close_ask, "try_push-ask_then_pop-close", setup_1, try_push_twice, ask_thrice, close_ring);
SLOW(close_pop_batch, "push_many-pop_many_drain-close", setup_2, push_batch, batch_then_drain, close_ring);

/*   producer                 closer        consumer
 *     finds the ring open
 *                              closes        no element, CLOSED
 *     publishes; LAST_PUSH
 *                                            SEALED: finds LAST_PUSH, and the element                          */
static void pop_when_closed(void) {
    while (!ilk_spsc_is_closed(s.ring)) {
        ilk_cpu_relax();
    }
    try_pop();
}
EX_SCENARIO(close_last){
    .name = "spsc-try_push-pop_when_closed-close",
    .claim = "the last push beside a close is popped or refused",
    .setup = setup_1,
    .threads = {try_push, pop_when_closed, close_ring},
    .titles = {"producer", "consumer", "closer"},
    .check = check,
    .weight = 40,
};

/* The ring holds one element at most: a larger count was never true. */
static void push_unrecorded(void) {
    uint64_t element = 1;
    ex_assert(ilk_spsc_try_push(s.ring, &element, sizeof element));
}
static void pop_unrecorded(void) {
    uint64_t element;
    (void)!ilk_spsc_try_pop(s.ring, &element, sizeof element);
}
static void count(void) {
    size_t count = ilk_spsc_count(s.ring);
    ex_expect(count <= 1, "%zu elements were counted where there was never more than one", count);
}
EX_SCENARIO(counted){
    .name = "spsc-count-beside-push-and-pop",
    .claim = "a count was true at some moment",
    .setup = setup_3,
    .threads = {push_unrecorded, pop_unrecorded, count},
    .titles = {"producer", "consumer", "counter"},
};

/* ---- Misuse of access in place; a reservation beside a close ---- */

static void setup_4(void) {
    begin(4, true);
}
static void setup_one_element(void) {
    setup_2();
    try_push();
}
static void setup_closed_element(void) {
    setup_one_element();
    close_ring();
}
static void reserve_one(void) {
    size_t count = 1;
    ex_assert(ilk_spsc_reserve(s.ring, &count) != NULL);
}
static void peek_one(void) {
    size_t count = 1;
    ex_assert(ilk_spsc_peek(s.ring, &count) != NULL);
}
static void reserve_and_push(void) {
    reserve_one();
    try_push();
}
static void reserve_and_push_batch(void) {
    reserve_one();
    push_batch();
}
static void reserve_close_and_push(void) {
    reserve_one();
    close_ring();
    try_push();
}
static void peek_and_pop(void) {
    peek_one();
    try_pop();
}
static void peek_and_pop_batch(void) {
    peek_one();
    pop_batch();
}

#define IN_PLACE_MISUSE(identifier, text, ...)                                                               \
    MISUSE(identifier, text, "misuse: it is reported wherever the other side is, closed or not", __VA_ARGS__)
IN_PLACE_MISUSE(misused_push, "push-in-reservation", setup_2, reserve_and_push, try_pop_thrice);
IN_PLACE_MISUSE(misused_push_many, "push_many-in-reservation", setup_3, reserve_and_push_batch,
                try_pop_thrice);
IN_PLACE_MISUSE(misused_pop, "pop-in-peek", setup_one_element, try_push, peek_and_pop);
IN_PLACE_MISUSE(misused_pop_many, "pop_many-in-peek", setup_one_element, try_push, peek_and_pop_batch);
IN_PLACE_MISUSE(misused_pop_closed, "pop-in-peek-closed", setup_closed_element, try_push, peek_and_pop);
IN_PLACE_MISUSE(misused_push_close, "push-in-reservation-close", setup_2, reserve_close_and_push,
                try_pop_thrice);

/* A reservation grows only while the ring is open. */
static void grow(void) {
    size_t count = 1;
    if (ilk_spsc_reserve(s.ring, &count) == NULL) {
        return;
    }
    const bool closed = ilk_spsc_is_closed(s.ring);
    count = 3;
    ex_assert(ilk_spsc_reserve(s.ring, &count) != NULL);
    ex_expect(!closed || count == 1, "a reservation of 1 grew to %zu after the close", count);
    ilk_spsc_commit(s.ring, 0);
}
EX_SCENARIO(grown){
    .name = "spsc-reserve_anew-close",
    .claim = "a reservation does not grow after the close",
    .setup = setup_4,
    .threads = {grow, close_ring},
    .titles = {"producer", "closer"},
};

EX_MUST_REACH(states){
    {"spsc-*push-drain-close", {EX_SPSC_SLEEPS, EX_SPSC_WAKES, EX_SPSC_PUSH_BESIDE_CLOSE}},
    {"spsc-push-*membarrier-refused spsc-push-peek spsc-push-pop_many spsc-push_many-pop "
     "spsc-reserve-pop spsc-work-before-close",
     {EX_SPSC_SLEEPS}},
    {"spsc-push-close spsc-push-peek_drain-close spsc-push_many-*close",
     {EX_SPSC_SLEEPS, EX_SPSC_PUSH_BESIDE_CLOSE}},
    {"spsc-push-drain-close-membarrier-refused", {EX_SPSC_PUSH_BESIDE_CLOSE}},
    {"spsc-push-pop spsc-push_then_close-drain", {EX_SPSC_SLEEPS, EX_SPSC_WAKES}},
    {"spsc-push-pop_until-close", {EX_SLEEPER_LATE, EX_SPSC_SLEEPS, EX_SPSC_PUSH_BESIDE_CLOSE}},
    {"spsc-push_many-drops-fenced", {EX_SPSC_FENCED_DOWN, EX_SPSC_NOTIFIES}},
    {"spsc-push_many-pop_until spsc-reserve-pop_until spsc-reserve_and_give_up-pop",
     {EX_SLEEPER_LATE, EX_SPSC_SLEEPS}},
    {"spsc-push_push-drain-close spsc-push_until-drain-close", {EX_SPSC_PUSH_TAKEN_BACK}},
    {"spsc-push_thrice-pop_thrice", {EX_SPSC_SLEEPS, EX_SPSC_WAKES, EX_SPSC_FENCED_UP}},
    {"spsc-push_until-*", {EX_SLEEPER_LATE, EX_SPSC_SLEEPS, EX_SPSC_WAKES}},
    {"spsc-reserve-drain-* spsc-reserve_and_give_up-drain-*",
     {EX_SPSC_SLEEPS, EX_SPSC_CLOSED_OVER_RESERVATION}},
    {"spsc-try_push-ask_then_pop-close", {EX_SPSC_PUSH_BESIDE_CLOSE, EX_SPSC_PUSH_TAKEN_BACK}},
    {"spsc-try_push-pop_when_closed-close",
     {EX_SPSC_PUSH_BESIDE_CLOSE, EX_SPSC_PUSH_TAKEN_BACK, EX_SPSC_SEAL_AFTER_PUSH}},
};

EX_CANNOT_REACH(no_states){
    {"spsc-push-drain-close spsc-push_until-drain-close", {EX_SPSC_CLOSED_OVER_RESERVATION}},
};
