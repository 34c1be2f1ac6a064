/* SPDX-License-Identifier: Apache-2.0
 *
 * When ilk_mpmc uses the adaptive back-off of a failed call (ring/backoff.h) and the prefetched groups of
 * slots.
 */
#include "rings/mpmc_face.h"

#include "ring/backoff.h"
#include "rings/ring_test.h"

static uint32_t back_off_of(ILK_ATOMIC(uint32_t) * back_off) {
    return ilk_atomic_load(back_off, memory_order_relaxed);
}
/* contract: mpmc.E */
TEST(back_off_grows_until_the_other_side_gets_far_ahead) {
    check_equal(mpmc_back_off(0, 0), 0);
    check_equal(mpmc_back_off(0, 1), 0); /* single elements: none */
    check_equal(mpmc_back_off(0, 2), 1);
    check_equal(mpmc_back_off(1, 2), 0); /* no more than one element a pause */
    check_equal(mpmc_back_off(1, 3), 1);
    check_equal(mpmc_back_off(31, 32), 0);
    check_equal(mpmc_back_off(31, 33), 31);
    const size_t capacity = 1024;
    check_equal(longer_back_off(1, capacity), 3);
    check_equal(longer_back_off(15, capacity), 31);
    check_equal(longer_back_off(31, capacity), 31); /* the longest */
    check_equal(longer_back_off(3, 64), 7);         /* a small ring fills soon */
    check_equal(longer_back_off(7, 64), 7);
    check_equal(far_enough(64), 16);
    check_equal(far_enough(capacity), 256);
    check_equal(far_enough(65536), 256);
}

TEST(a_back_off_that_finds_nothing_is_the_last) {
    ilk_mpmc *ring = make(128);
    for (item i = 0; i < 128; i++) {
        check(push(ring, i));
    }
    ilk_atomic_store(&ring->push_back_off, 7, memory_order_relaxed);
    check(!push(ring, 128));
    check_equal(back_off_of(&ring->push_back_off), 0);
    check_equal(ilk_atomic_load(&ring->push_miss, memory_order_relaxed), ring->lap_step);
    for (item i = 0; i < 128; i++) {
        expect_pop(ring, i);
    }
    ilk_atomic_store(&ring->pop_back_off, 7, memory_order_relaxed);
    expect_empty(ring);
    check_equal(back_off_of(&ring->pop_back_off), 0);
    check_equal(ilk_atomic_load(&ring->pop_miss, memory_order_relaxed), ring->lap_step);
    ilk_atomic_store(&ring->pop_back_off, 7, memory_order_relaxed);
    expect_empty(ring); /* the same miss again */
    check_equal(back_off_of(&ring->pop_back_off), 0);
    ilk_mpmc_destroy(ring);
}

TEST(small_rings_do_not_back_off) {
    ilk_mpmc *ring = make(8);
    for (item lap = 0; lap < 3; lap++) {
        for (item i = 0; i < 8; i++) {
            check(push(ring, i));
        }
        check(!push(ring, 8));
        for (item i = 0; i < 8; i++) {
            expect_pop(ring, i);
        }
        expect_empty(ring);
        check_equal(ilk_atomic_load(&ring->pop_miss, memory_order_relaxed), 0);
        check_equal(ilk_atomic_load(&ring->push_miss, memory_order_relaxed), 0);
    }
    ilk_mpmc_destroy(ring);
}

static size_t group_mask(size_t capacity, size_t element_size) {
    ilk_mpmc *ring = make_of(capacity, element_size);
    size_t mask = ring->group_mask;
    ilk_mpmc_destroy(ring);
    return mask;
}

/* A group is of some cache lines, a ring of several groups; otherwise only slot 0 begins one. */
TEST(slots_are_fetched_ahead_in_groups) {
    check_equal(group_mask(1024, 8), 63);
    check_equal(group_mask(1000, 8), 63);
    check_equal(group_mask(256, 8), 31);
    check_equal(group_mask(255, 8), SIZE_MAX); /* too small a ring */
    check_equal(group_mask(1024, 64), 7);
    check_equal(group_mask(64, 64), 7);
    check_equal(group_mask(1024, 65), SIZE_MAX); /* too large elements */
    check_equal(group_mask(1, 1), SIZE_MAX);
}

/* Elements and batches go on across the last group. */
TEST(groups_that_are_not_whole_lose_nothing) {
    const item capacity = 1000;
    ilk_mpmc *ring = make(capacity);
    item pushed = 0, popped = 0, batch[97];
    while (pushed < 5 * capacity) {
        for (int i = 0; i < 97; i++) {
            batch[i] = pushed + (item)i;
        }
        check_equal(ilk_mpmc_try_push_many(ring, batch, 97, sizeof(item)), 97);
        check(push(ring, pushed + 97));
        pushed += 98;
        for (; popped < pushed; popped++) {
            expect_pop(ring, popped);
        }
    }
    ilk_mpmc_destroy(ring);
}
