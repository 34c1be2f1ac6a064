/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mpmc_push_overwriting: which element it evicts, where to, and on a closed ring.
 */
/* contract: mpmc.h */
#include "rings/mpmc_face.h"

#include "rings/ring_test.h"
/* contract: ilk_mpmc_push_overwriting */
TEST(overwriting_evicts_the_oldest_and_only_when_full) {
    for (int c = 0; c < CAPACITIES; c++) {
        size_t capacity = capacities[c];
        for (size_t start = 0; start < capacity; start++) {
            ilk_mpmc *ring = make_from(capacity, start);
            item evicted = 777;
            for (item i = 0; i < capacity; i++) {
                check(!ilk_mpmc_push_overwriting(ring, &i, sizeof i, &evicted));
                check_equal(evicted, 777);
            }
            for (item i = capacity; i < 3 * capacity; i++) {
                check(ilk_mpmc_push_overwriting(ring, &i, sizeof i, &evicted));
                check_equal(evicted, i - capacity);
                check_equal(ilk_mpmc_count(ring), capacity);
            }
            for (item i = 2 * capacity; i < 3 * capacity; i++) {
                expect_pop(ring, i);
            }
            expect_empty(ring);
            ilk_mpmc_destroy(ring);
        }
    }
}
/* contract: ilk_mpmc_push_overwriting */
TEST(overwriting_a_closed_ring_gives_the_element_back) {
    ilk_mpmc *ring = make(2);
    check(push(ring, 1));
    ilk_mpmc_close(ring);
    item value = 5, evicted = 0;
    check(ilk_mpmc_push_overwriting(ring, &value, sizeof value, &evicted));
    check_equal(evicted, 5);
    expect_pop(ring, 1);
    expect_empty(ring);
    ilk_mpmc_destroy(ring);
}

/* Sizes below and above a piece of the exchange. */
/* contract: ilk_mpmc_push_overwriting */
TEST(overwriting_may_use_one_buffer) {
    const size_t sizes[] = {1, 8, 63, 64, 65, 200};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t size = sizes[s];
        ilk_mpmc *ring = make_of(2, size);
        unsigned char buffer[200], expected[200];
        for (int i = 1; i <= 2; i++) {
            memset(buffer, i, size);
            check(!ilk_mpmc_push_overwriting(ring, buffer, size, buffer));
        }
        for (int i = 3; i <= 6; i++) {
            memset(buffer, i, size);
            check(ilk_mpmc_push_overwriting(ring, buffer, size, buffer));
            memset(expected, i - 2, size);
            assert_memory_equal(buffer, expected, size);
        }
        ilk_mpmc_close(ring);
        memset(buffer, 9, size);
        check(ilk_mpmc_push_overwriting(ring, buffer, size, buffer)); /* given back */
        memset(expected, 9, size);
        assert_memory_equal(buffer, expected, size);
        for (int i = 5; i <= 6; i++) {
            check(ilk_mpmc_try_pop(ring, buffer, size));
            memset(expected, i, size);
            assert_memory_equal(buffer, expected, size);
        }
        ilk_mpmc_destroy(ring);
    }
}

TEST(overwriting_goes_on_where_positions_wrap) {
    for (int c = 0; c < CAPACITIES; c++) {
        size_t capacity = capacities[c];
        ilk_mpmc *ring = ring_make_old(capacity, sizeof(item), 0, 2 * capacity);
        item next_in = 0, next_out = 0, evicted;
        for (size_t round = 0; round < 6; round++) {
            for (size_t i = 0; i < capacity; i++) {
                check(push(ring, next_in++));
                check_equal(ilk_mpmc_count(ring), i + 1);
            }
            check(!push(ring, 999));
            item value = next_in++;
            check(ilk_mpmc_push_overwriting(ring, &value, sizeof value, &evicted));
            check_equal(evicted, next_out++);
            for (size_t i = 0; i < capacity; i++) {
                expect_pop(ring, next_out++);
            }
            expect_empty(ring);
        }
        ilk_mpmc_destroy(ring);
    }
}
