/* SPDX-License-Identifier: Apache-2.0
 *
 * membarrier refused after it was granted (a sandbox): the heavy fence changes its form beside light fences of
 * threads that have not read the change. rwlock_slots.c has the same for reader slots.
 */
#include "../explorer.h"
#include <interlock/inline/fence.h>
#include <interlock/mpmc.h>
#include <interlock/spsc.h>

/* ---- The fence by itself ---- */

static struct {
    ILK_ATOMIC(uint32_t) light[2], heavy[2];
    uint32_t light_saw[2], heavy_saw[2];
    ilk_spsc *one;
    ilk_mpmc *many;
} s;

static void start(void) {
    ilk__membarrier_works = true;
    for (unsigned side = 0; side < 2; side++) {
        s.light[side] = s.heavy[side] = 0;
        s.light_saw[side] = s.heavy_saw[side] = 9;
    }
}

/* Two light fences, each against a heavy fence of its own. */
static void be_light(void) {
    for (unsigned side = 0; side < 2; side++) {
        ilk_atomic_store(&s.light[side], 1, memory_order_relaxed);
        ilk__fence_light();
        s.light_saw[side] = ilk_atomic_load(&s.heavy[side], memory_order_relaxed);
    }
}

static void be_heavy(unsigned side) {
    ilk_atomic_store(&s.heavy[side], 1, memory_order_relaxed);
    ilk__fence_heavy();
    s.heavy_saw[side] = ilk_atomic_load(&s.light[side], memory_order_relaxed);
}

static void be_heavy_first(void) {
    be_heavy(0);
}

static void be_heavy_second(void) {
    be_heavy(1);
}

static void be_heavy_twice(void) {
    be_heavy(0);
    be_heavy(1);
}

static void check_fences(void) {
    for (unsigned side = 0; side < 2; side++) {
        ex_expect(s.light_saw[side] != 0 || s.heavy_saw[side] != 0, "pair %u missed each other", side);
    }
    ex_assert(!ilk__membarrier_works);
}

EX_SCENARIO(one_heavy){
    .name = "fence-late-refusal-one-heavy",
    .claim = "a light and a heavy fence do not both miss the other, while their form changes",
    .setup = start,
    .threads = {be_light, be_heavy_twice},
    .titles = {"light", "heavy"},
    .check = check_fences,
    .refuse_membarrier = true,
};
EX_SCENARIO(two_heavy){
    .name = "fence-late-refusal-two-heavy",
    .claim = "nor if a second heavy fence comes while the first changes the form",
    .setup = start,
    .threads = {be_light, be_heavy_first, be_heavy_second},
    .titles = {"light", "heavy", "heavy"},
    .check = check_fences,
    .refuse_membarrier = true,
};

/* ---- Rings ---- */

static void start_rings(void) {
    start();
    ex_assert(ilk_spsc_create(&s.one, 1, sizeof(uint64_t)) == ILK_OK);
    ex_assert(ilk_mpmc_create(&s.many, 1, sizeof(uint64_t)) == ILK_OK);
}

static void end_rings(void) {
    ilk_spsc_destroy(s.one);
    ilk_mpmc_destroy(s.many);
}

static void push_one(void) {
    for (uint64_t element = 1; element <= 2; element++) {
        ex_assert(ilk_spsc_push_until(s.one, &element, sizeof element, ILK_FOREVER) == ILK_OK);
    }
}

static void pop_one(void) {
    for (uint64_t expected = 1; expected <= 2; expected++) {
        uint64_t element;
        ex_assert(ilk_spsc_pop_until(s.one, &element, sizeof element, ILK_FOREVER) == ILK_OK);
        ex_assert(element == expected);
    }
}

static void push_many(void) {
    for (uint64_t element = 1; element <= 2; element++) {
        ex_assert(ilk_mpmc_push_until(s.many, &element, sizeof element, ILK_FOREVER) == ILK_OK);
    }
}

static void pop_many(void) {
    uint64_t element;
    ex_assert(ilk_mpmc_pop_until(s.many, &element, sizeof element, ILK_FOREVER) == ILK_OK);
}

static void pop_many_twice(void) {
    pop_many();
    pop_many();
}

EX_SCENARIO(one){
    .name = "spsc-late-refusal",
    .claim = "both sides wake the other",
    .setup = start_rings,
    .threads = {push_one, pop_one},
    .titles = {"producer", "consumer"},
    .check = end_rings,
    .refuse_membarrier = true,
};
EX_SCENARIO(many){
    .name = "mpmc-late-refusal",
    .claim = "both sides wake the other",
    .setup = start_rings,
    .threads = {push_many, pop_many_twice},
    .titles = {"producer", "consumer"},
    .check = end_rings,
    .refuse_membarrier = true,
};
EX_SCENARIO(many_three){
    .name = "mpmc-late-refusal-two-consumers",
    .claim = "both sides wake the other",
    .setup = start_rings,
    .threads = {push_many, pop_many, pop_many},
    .titles = {"producer", "consumer", "consumer"},
    .check = end_rings,
    .refuse_membarrier = true,
};

EX_MUST_REACH(states){
    {"fence-late-refusal-one-heavy", {EX_FENCE_LEAVES}},
    {"fence-late-refusal-two-heavy", {EX_FENCE_LEAVES, EX_FENCE_AWAITS_LEAVER}},
    {"mpmc-late-*", {EX_MPMC_SLEEPS, EX_EVENT_WAKES, EX_EVENT_ACKNOWLEDGED}},
    {"spsc-late-refusal", {EX_SPSC_SLEEPS, EX_SPSC_WAKES}},
};
