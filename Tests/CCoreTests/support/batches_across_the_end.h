/* SPDX-License-Identifier: Apache-2.0
 *
 * A test that both rings pass. The file that includes it names the ring before:
 *     #define RING(verb) ilk_spsc##verb
 */
#ifndef INTERLOCK_TESTS_BATCHES_ACROSS_THE_END_H
#define INTERLOCK_TESTS_BATCHES_ACROSS_THE_END_H

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

#endif
