/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests that both rings pass. The file that includes them names the ring before, and has make, push and
 * expect_empty for it:
 *     #define RING(verb) ilk_spsc##verb
 */
#ifndef INTERLOCK_TESTS_BOTH_RINGS_H
#define INTERLOCK_TESTS_BOTH_RINGS_H

#include "support/test.h"
#include <string.h>

/* Sizes that no machine word has, across the end of the ring, in batches and in place. */
static void batches_of_every_size_cross_the_end(void **state) {
    (void)state;
    const size_t sizes[] = {1, 3, 8, 33, 4096};
    const size_t capacity = 7;
    static unsigned char in[5 * 4096], out[5 * 4096];
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t size = sizes[s];
        RING() *ring = NULL;
        check_equal(RING(_create)(&ring, capacity, size), ILK_OK);
        uint32_t random = 5;
        for (size_t round = 0; round < 3 * capacity; round++) { /* five at a time: every slot comes first */
            for (size_t i = 0; i < 5 * size; i++) {
                in[i] = (unsigned char)next_random(&random);
            }
            if (round % 2 == 0) {
                check_equal(RING(_try_push_many)(ring, in, 5, size), 5);
                size_t done = 0;
                for (size_t shown = 0; done < 5; done += shown, shown = 0) {
                    const unsigned char *slots = RING(_peek)(ring, &shown);
                    check(slots != NULL);
                    memcpy(out + done * size, slots, shown * size);
                    RING(_release)(ring, shown);
                }
            } else {
                for (size_t done = 0; done < 5;) {
                    size_t count = 5 - done;
                    unsigned char *slots = RING(_reserve)(ring, &count);
                    check(slots != NULL);
                    memcpy(slots, in + done * size, count * size);
                    RING(_commit)(ring, count);
                    done += count;
                }
                check_equal(RING(_try_pop_many)(ring, out, 5, size), 5);
            }
            assert_memory_equal(in, out, 5 * size);
        }
        RING(_destroy)(ring);
    }
}

/* Batches and in-place reads drain a closed ring, too. */
static void every_kind_of_pop_drains_a_closed_ring(void **state) {
    (void)state;
    for (int way = 0; way < 2; way++) {
        RING() *ring = make(3);
        for (item i = 0; i < 3; i++) {
            check(push(ring, i));
        }
        RING(_close)(ring);
        item out[3] = {9, 9, 9};
        size_t count = 0;
        if (way == 0) {
            check_equal(RING(_try_pop_many)(ring, out, 2, sizeof *out), 2);
            check_equal(out[0] + out[1] * 10, 10);
            check_equal(RING(_try_pop_many)(ring, out, 3, sizeof *out), 1);
            check_equal(out[0], 2);
            check_equal(RING(_try_pop_many)(ring, out, 3, sizeof *out), 0);
        } else {
            const item *shown = RING(_peek)(ring, &count);
            check(shown != NULL);
            check_equal(count, 3);
            check_equal(shown[2], 2);
            RING(_release)(ring, 3);
        }
        count = 0;
        check(RING(_peek)(ring, &count) == NULL);
        check_equal(count, 0);
        check_equal(RING(_pop_until)(ring, out, sizeof *out, ILK_FOREVER), ILK_CLOSED);
        expect_empty(ring);
        RING(_destroy)(ring);
    }
}

#endif
