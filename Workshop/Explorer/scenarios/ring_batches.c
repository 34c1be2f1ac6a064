/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches and counts, in both rings. The scenarios of spsc.c and mpmc.c take a batch for so many single
 * elements; here it is seen whole and in one piece.
 */
#include "../explorer.h"
#include <interlock/mpmc.h>
#include <interlock/spsc.h>

static struct {
    ilk_spsc *spsc;
    ilk_mpmc *mpmc;
} s;

static void begin_spsc(size_t capacity) {
    ex_assert(ilk_spsc_create(&s.spsc, capacity, sizeof(uint64_t)) == ILK_OK);
}

static void begin_mpmc(size_t capacity) {
    ex_assert(ilk_mpmc_create(&s.mpmc, capacity, sizeof(uint64_t)) == ILK_OK);
}

static void end_spsc(void) {
    ilk_spsc_destroy(s.spsc);
}

static void end_mpmc(void) {
    ilk_mpmc_destroy(s.mpmc);
}

/* ---- spsc.h, try_push_many: one store publishes a batch ---- */

/* The batch crosses the end of the ring: its slots are the last and the first. */
static void setup_batch(void) {
    uint64_t elements[2] = {1, 2};
    begin_spsc(3);
    ex_assert(ilk_spsc_try_push_many(s.spsc, elements, 2, sizeof *elements) == 2);
    ex_assert(ilk_spsc_try_pop_many(s.spsc, elements, 2, sizeof *elements) == 2);
}

static void push_batch(void) {
    const uint64_t elements[2] = {1, 2};
    ex_assert(ilk_spsc_try_push_many(s.spsc, elements, 2, sizeof *elements) == 2);
}

static void pop_all_or_none(void) {
    uint64_t elements[3];
    const size_t popped = ilk_spsc_try_pop_many(s.spsc, elements, 3, sizeof *elements);
    ex_expect(popped == 0 || popped == 2, "%zu elements of a batch of 2 were there", popped);
}

EX_SCENARIO(whole){
    .name = "spsc-batch-is-seen-whole",
    .claim = "a consumer that finds the first element of a batch finds them all",
    .setup = setup_batch,
    .threads = {push_batch, pop_all_or_none},
    .titles = {"producer", "consumer"},
    .check = end_spsc,
};

/* ---- mpmc.h, try_push_many and try_pop_many: one operation claims the slots of a batch ---- */

enum { FULL = 4 };

static void setup_empty(void) {
    begin_mpmc(FULL);
}

static void push_pair(void) {
    const uint64_t first = 10 * ex_thread_index();
    const uint64_t elements[2] = {first, first + 1};
    ex_assert(ilk_mpmc_try_push_many(s.mpmc, elements, 2, sizeof *elements) == 2);
}

static void check_pairs(void) {
    uint64_t elements[FULL];
    ex_assert(ilk_mpmc_try_pop_many(s.mpmc, elements, FULL, sizeof *elements) == FULL);
    for (int i = 0; i < FULL; i += 2) {
        ex_expect(elements[i + 1] == elements[i] + 1, "another thread's element came into a batch");
    }
    end_mpmc();
}

EX_SCENARIO(producers){
    .name = "mpmc-batches-of-two-producers",
    .claim = "no element comes between those of a batch",
    .setup = setup_empty,
    .threads = {push_pair, push_pair},
    .check = check_pairs,
};

static void setup_full(void) {
    const uint64_t elements[FULL] = {1, 2, 3, 4};
    begin_mpmc(FULL);
    ex_assert(ilk_mpmc_try_push_many(s.mpmc, elements, FULL, sizeof *elements) == FULL);
}

static void pop_pair(void) {
    uint64_t elements[2] = {0, 0};
    const size_t popped = ilk_mpmc_try_pop_many(s.mpmc, elements, 2, sizeof *elements);
    ex_expect(popped < 2 || elements[1] == elements[0] + 1,
              "a batch has elements that do not follow each other");
}

EX_SCENARIO(consumers){
    .name = "mpmc-batches-of-two-consumers",
    .claim = "the elements of a batch follow each other in the ring",
    .setup = setup_full,
    .threads = {pop_pair, pop_pair},
    .check = end_mpmc,
};

/* ---- count: at most the capacity ----
 *
 *   counter                push, pop, push
 *   reads head = 0
 *                          tail = 2, head = 1
 *   reads tail = 2: more than fits                                                                    */

static void setup_spsc_1(void) {
    begin_spsc(1);
}

static void push_spsc_twice(void) {
    const uint64_t element = 1;
    (void)!ilk_spsc_try_push(s.spsc, &element, sizeof element);
    (void)!ilk_spsc_try_push(s.spsc, &element, sizeof element);
}

static void pop_spsc(void) {
    uint64_t element;
    (void)!ilk_spsc_try_pop(s.spsc, &element, sizeof element);
}

static void count_spsc(void) {
    const size_t count = ilk_spsc_count(s.spsc);
    ex_expect(count <= 1, "%zu elements were counted in a ring of 1", count);
}

EX_SCENARIO(spsc_count){
    .name = "spsc-count-at-most-capacity",
    .claim = "a count is at most the capacity, whatever comes and goes meanwhile",
    .setup = setup_spsc_1,
    .threads = {push_spsc_twice, pop_spsc, count_spsc},
    .titles = {"producer", "consumer", "counter"},
    .check = end_spsc,
};

static void setup_mpmc_1(void) {
    begin_mpmc(1);
}

static void push_pop_push(void) {
    uint64_t element = 1;
    ex_assert(ilk_mpmc_try_push(s.mpmc, &element, sizeof element));
    ex_assert(ilk_mpmc_try_pop(s.mpmc, &element, sizeof element));
    ex_assert(ilk_mpmc_try_push(s.mpmc, &element, sizeof element));
}

static void count_mpmc(void) {
    const size_t count = ilk_mpmc_count(s.mpmc);
    ex_expect(count <= 1, "%zu elements were counted in a ring of 1", count);
}

EX_SCENARIO(mpmc_count){
    .name = "mpmc-count-at-most-capacity",
    .claim = "a count is at most the capacity, whatever comes and goes meanwhile",
    .setup = setup_mpmc_1,
    .threads = {push_pop_push, count_mpmc},
    .titles = {"pushes and pops", "counter"},
    .check = end_mpmc,
};
