/* SPDX-License-Identifier: Apache-2.0
 *
 * Both rings: exact capacities, order, element sizes, batches; most swept over where something wraps
 * differently.
 */
/* contract: mpmc.h, spsc.h */
#ifndef INTERLOCK_TESTS_RINGS_CONTRACT_ORDER_H
#define INTERLOCK_TESTS_RINGS_CONTRACT_ORDER_H

#include "rings/ring_test.h"
/* contract: ilk_mpmc_capacity, ilk_mpmc_count, ilk_mpmc_try_pop, ilk_mpmc_try_push, ilk_spsc_capacity */
/* contract: ilk_spsc_count, ilk_spsc_try_pop, ilk_spsc_try_push, spsc.D */
TEST(every_capacity_is_honoured_exactly) {
    for (int c = 0; c < CAPACITIES; c++) {
        size_t capacity = capacities[c];
        ring_type *ring = make(capacity);
        item next_in = 0, next_out = 0;
        /* Several laps, from every starting slot. */
        for (size_t round = 0; round < 2 * capacity + 3; round++) {
            for (size_t i = 0; i < capacity; i++) {
                check_equal(RING(count)(ring), i);
                check(push(ring, next_in++));
            }
            check(!push(ring, 999));
            check_equal(RING(count)(ring), capacity);
            for (size_t i = 0; i < capacity; i++) {
                expect_pop(ring, next_out++);
            }
            expect_empty(ring);
            check(push(ring, next_in++)); /* the next round starts one slot further */
            expect_pop(ring, next_out++);
        }
        RING(destroy)(ring);
    }
}

TEST(elements_of_every_size_come_out_as_they_went_in) {
    const size_t sizes[] = {1, 2, 3, 4, 5, 8, 12, 16, 24, 33, 200, 4096};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t size = sizes[s];
        ring_type *ring = make_of(3, size);
        unsigned char in[4096], out[4096];
        for (int round = 0; round < 10; round++) {
            for (int i = 0; i < 3; i++) {
                memset(in, round * 3 + i, size);
                check(RING(try_push)(ring, in, size));
            }
            for (int i = 0; i < 3; i++) {
                memset(in, round * 3 + i, size);
                check(RING(try_pop)(ring, out, size));
                assert_memory_equal(in, out, size);
            }
        }
        RING(destroy)(ring);
    }
}

/* The caller's buffers need no alignment, whatever the size of an element. */
TEST(buffers_may_lie_at_any_address) {
    enum { COUNT = 3, LARGEST = 64 };
    const size_t sizes[] = {2, 4, 8, 16, 24, 32, LARGEST};
    unsigned char in[COUNT * LARGEST + 16], out[COUNT * LARGEST + 16];
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t size = sizes[s];
        ring_type *ring = make_of(COUNT, size);
        for (size_t offset = 0; offset < 16; offset++) {
            for (size_t i = 0; i < COUNT * size; i++) {
                in[offset + i] = (unsigned char)(7 * i + offset);
            }
            check(RING(try_push)(ring, in + offset, size));
            check_equal(RING(push_until)(ring, in + offset + size, size, 0), ILK_OK);
            check_equal(RING(try_push_many)(ring, in + offset + 2 * size, 1, size), 1);
            check(RING(try_pop)(ring, out + offset, size));
            check_equal(RING(pop_until)(ring, out + offset + size, size, 0), ILK_OK);
            check_equal(RING(try_pop_many)(ring, out + offset + 2 * size, 1, size), 1);
            assert_memory_equal(in + offset, out + offset, COUNT * size);
        }
        RING(destroy)(ring);
    }
}

static inline void expect_invalid(size_t capacity, size_t element_size) {
    ring_type *ring = (ring_type *)&ring;
    check_equal(RING(create)(&ring, capacity, element_size), ILK_INVALID);
    check(ring == (ring_type *)&ring);
}
/* contract: ilk_mpmc_create, ilk_spsc_create */
TEST(bad_sizes_are_invalid_and_write_nothing) {
    const size_t bad[][2] = {{0, 8},
                             {8, 0},
                             {0, 0},
                             {SIZE_MAX, 1},
                             {1, SIZE_MAX},
                             {SIZE_MAX / 2, 4},
                             {(size_t)1 << 63, 2},
                             {(size_t)1 << 32, (size_t)1 << 32},
                             {PTRDIFF_MAX, 1},
                             {1, PTRDIFF_MAX}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        expect_invalid(bad[i][0], bad[i][1]);
    }
}
/* contract: ilk_mpmc_destroy, ilk_spsc_destroy */
TEST(destroying_none_does_nothing) {
    RING(destroy)(NULL);
}

/* In whichever slots (LeakSanitizer watches); they are no open claim. */
/* contract: ilk_mpmc_destroy, ilk_spsc_destroy */
TEST(a_ring_may_be_destroyed_with_elements_in_it) {
    for (size_t start = 0; start < 3; start++) {
        for (item count = 0; count <= 3; count++) {
            ring_type *ring = make_from(3, start);
            for (item i = 0; i < count; i++) {
                check(push(ring, i));
            }
            if (start == 1) {
                RING(close)(ring);
            }
            RING(destroy)(ring);
        }
    }
}

/* ---- Batches ---- */
/* contract: ilk_mpmc_try_pop_many, ilk_mpmc_try_push_many, ilk_spsc_count, ilk_spsc_try_pop_many */
/* contract: ilk_spsc_try_push_many */
TEST(batches_take_what_fits_in_order) {
    for (int c = 0; c < CAPACITIES; c++) {
        size_t capacity = capacities[c];
        for (size_t start = 0; start < capacity; start++) {
            for (size_t batch = 0; batch <= capacity + 2; batch++) {
                ring_type *ring = make_from(capacity, start);
                check(push(ring, 1000)); /* one is there already */
                item in[LARGEST_CAPACITY + 2], out[LARGEST_CAPACITY + 2];
                for (size_t i = 0; i < batch; i++) {
                    in[i] = i;
                }
                size_t fits = batch < capacity - 1 ? batch : capacity - 1;
                check_equal(RING(try_push_many)(ring, in, batch, sizeof(item)), fits);
                check_equal(RING(count)(ring), fits + 1);
                expect_pop(ring, 1000);
                check_equal(RING(try_pop_many)(ring, out, batch, sizeof(item)), fits);
                assert_memory_equal(in, out, fits * sizeof(item));
                expect_empty(ring);
                RING(destroy)(ring);
            }
        }
    }
}
/* contract: ilk_spsc_try_push_many */
TEST(a_batch_of_none_is_none) {
    ring_type *ring = make(2);
    item none = 0;
    check_equal(RING(try_push_many)(ring, &none, 0, sizeof none), 0);
    check(push(ring, 1));
    check_equal(RING(try_pop_many)(ring, &none, 0, sizeof none), 0);
    check_equal(RING(count)(ring), 1);
    RING(destroy)(ring);
}

/* Sizes of no machine word, across the end of the ring. */
TEST(batches_of_every_size_cross_the_end) {
    enum { BATCH = 5, LARGEST = 4096 };
    const size_t sizes[] = {1, 3, 8, 33, LARGEST};
    const size_t capacity = 7;
    static unsigned char in[BATCH * LARGEST], out[BATCH * LARGEST];
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t size = sizes[s];
        ring_type *ring = make_of(capacity, size);
        uint32_t random = 5;
        for (size_t round = 0; round < 3 * capacity; round++) { /* every slot is the first of a batch */
            for (size_t i = 0; i < BATCH * size; i++) {
                in[i] = (unsigned char)next_random(&random);
            }
            if (round % 2 == 0) {
                check_equal(RING(try_push_many)(ring, in, BATCH, size), BATCH);
                size_t done = 0;
                for (size_t shown = 0; done < BATCH; done += shown, shown = 0) {
                    const unsigned char *slots = RING(peek)(ring, &shown);
                    check(slots != NULL);
                    memcpy(out + done * size, slots, shown * size);
                    RING(release)(ring, shown);
                }
            } else {
                for (size_t done = 0; done < BATCH;) {
                    size_t count = BATCH - done;
                    unsigned char *slots = RING(reserve)(ring, &count);
                    check(slots != NULL);
                    memcpy(slots, in + done * size, count * size);
                    RING(commit)(ring, count);
                    done += count;
                }
                check_equal(RING(try_pop_many)(ring, out, BATCH, size), BATCH);
            }
            assert_memory_equal(in, out, BATCH * size);
        }
        RING(destroy)(ring);
    }
}

#endif
