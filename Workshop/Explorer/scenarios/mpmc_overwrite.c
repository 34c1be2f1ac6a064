/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mpmc_push_overwriting beside every other verb: evicted and popped elements together are a bounded
 * queue's.
 */
/* contract: mpmc.B, mpmc.E */
#include "mpmc_face.h"

#include "ring_verbs.h"

/* Evicts into `evicted`, which may be `element` itself. */
static void overwrite_by(uint64_t *element, uint64_t *evicted) {
    size_t operation = ex_begin(EX_OVERWRITE, *element);
    bool evicts = ilk_mpmc_push_overwriting(s.ring, element, sizeof *element, evicted);
    ex_end(operation, evicts ? *evicted : EX_DONE);
}
static void overwrite(void) {
    uint64_t element = next_element(), evicted = 0;
    overwrite_by(&element, &evicted);
}
static void overwrite_twice(void) {
    overwrite();
    overwrite();
}
static void overwrite_in_one_buffer(void) {
    uint64_t buffer = next_element();
    overwrite_by(&buffer, &buffer);
}
static void setup_full(void) {
    setup_1();
    try_push();
}

SCENARIO(pops, "overwrite-try_pop", setup_1, overwrite_twice, try_pop_twice);
SCENARIO(pops_2, "overwrite-try_pop-capacity-2", setup_2, overwrite_twice, try_pop_twice);
SCENARIO(overwrites, "overwrite-overwrite", setup_1, overwrite, overwrite_twice);
SCENARIO(pushes, "overwrite-push-pop", setup_1, overwrite, try_push, try_pop);
SCENARIO(wakes, "overwrite-pop", setup_1, overwrite_twice, pop);
SCENARIO(closes, "overwrite-close-pop", setup_1, overwrite_twice, close_ring, try_pop);
SCENARIO(batch, "overwrite-pop_many", setup_2, overwrite_twice, pop_batch);
SCENARIO(batches, "overwrite-push_many-try_pop", setup_2, overwrite, push_batch, try_pop);
SCENARIO(reserves, "overwrite-reserve-try_pop", setup_1, overwrite, push_in_place, try_pop);
SCENARIO(peeks, "overwrite-peek", setup_1, overwrite_twice, pop_in_place);
SCENARIO(drains, "overwrite-drain-close", setup_1, overwrite_twice, drain, close_ring);
SLOW(times_out, "overwrite-pop_until-pop_until", setup_1, overwrite, pop_until, pop_until);
SLOW(waits, "overwrite-push_wait-pop", setup_1, overwrite, push, pop);

/* The new element and the evicted one in the same memory. */
SCENARIO(one_buffer, "overwrite_by_one_buffer-try_pop", setup_full, overwrite_in_one_buffer, try_pop);
SCENARIO(one_buffer_close, "overwrite_by_one_buffer-close", setup_full, overwrite_in_one_buffer, close_ring);

static void overwrite_own_slot(void) {
    size_t count = 1;
    ex_assert(ilk_mpmc_reserve(s.ring, &count) != NULL);
    overwrite();
}
MISUSE(own_slot, "overwrite-waits-for-own-reservation",
       "misuse: to wait for a slot that the thread itself has open", setup_1, overwrite_own_slot, try_pop);

EX_MUST_REACH(states){
    {"mpmc-overwrite-*pop mpmc-overwrite-overwrite mpmc-overwrite_by_one_buffer-close", {EX_MPMC_OVERWRITES}},
    {"mpmc-overwrite-drain-close", {EX_MPMC_SLEEPS, EX_MPMC_POP_DRAINED, EX_MPMC_OVERWRITES}},
    {"mpmc-overwrite-peek mpmc-overwrite_by_one_buffer-try_pop",
     {EX_MPMC_OVERWRITES, EX_MPMC_OVERWRITE_OUTRUN}},
    {"mpmc-overwrite-pop mpmc-overwrite-reserve-try_pop mpmc-overwrite-try_pop", {EX_MPMC_OVERWRITE_OUTRUN}},
    {"mpmc-overwrite-pop_until-pop_until", {EX_SLEEPER_LATE, EX_MPMC_SLEEPS}},
};

EX_CANNOT_REACH(no_states){
    {"mpmc-overwrite-overwrite", {EX_MPMC_OVERWRITE_OUTRUN}},
};
