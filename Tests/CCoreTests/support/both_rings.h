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

/* Every verb in any order on one thread, reservations and peeks that overlap the other side's verbs among
 * them, beside a plain count of what went in and came out. */
static void any_sequence_of_verbs_is_a_bounded_queue(void **state) {
    (void)state;
    enum { BATCH = 6 };
    for (uint32_t seed = 1; seed <= 60; seed++) {
        uint32_t random = seed;
        const size_t capacity = seed % 9 + 1;
        RING() *ring = make(capacity);
        item in = 0, out = 0; /* the next to push and to pop */
        item *reserved = NULL;
        const item *shown = NULL;
        size_t reserved_count = 0, shown_count = 0;
        const int rounds = stress_rounds(5000);
        for (int round = 0; round < rounds; round++) {
            item batch[BATCH];
            size_t count = next_random(&random) % BATCH + 1;
            for (size_t i = 0; i < BATCH; i++) {
                batch[i] = in + i;
            }
            /* A peek takes its elements out of a shared ring and leaves them in the other. */
            const size_t room = capacity - (size_t)(in - out);
            switch (next_random(&random) % 8) {
            case 0:
                if (reserved == NULL) {
                    const bool pushed = push(ring, in);
                    check_equal(pushed, room > 0);
                    in += pushed;
                }
                break;
            case 1:
                if (reserved == NULL) {
                    const size_t pushed = RING(_try_push_many)(ring, batch, count, sizeof *batch);
                    check_equal(pushed, count < room ? count : room);
                    in += pushed;
                }
                break;
            case 2:
                if (reserved == NULL) {
                    const bool pushed = RING(_push_until)(ring, batch, sizeof *batch, 0) == ILK_OK;
                    check_equal(pushed, room > 0);
                    in += pushed;
                }
                break;
            case 3:
                if (reserved == NULL) {
                    reserved = RING(_reserve)(ring, &count);
                    check_equal(reserved != NULL, room > 0);
                    reserved_count = count;
                } else {
                    for (size_t i = 0; i < reserved_count; i++) {
                        reserved[i] = in++;
                    }
                    RING(_commit)(ring, reserved_count);
                    reserved = NULL;
                }
                break;
            case 4:
                if (shown == NULL) {
                    const bool popped = RING(_try_pop)(ring, batch, sizeof *batch);
                    check_equal(popped, in != out);
                    check(!popped || batch[0] == out);
                    out += popped;
                }
                break;
            case 5:
                if (shown == NULL) {
                    const size_t popped = RING(_try_pop_many)(ring, batch, count, sizeof *batch);
                    check_equal(popped, count < in - out ? count : in - out);
                    for (size_t i = 0; i < popped; i++) {
                        check_equal(batch[i], out++);
                    }
                }
                break;
            case 6:
                if (shown == NULL) {
                    const bool popped = RING(_pop_until)(ring, batch, sizeof *batch, 0) == ILK_OK;
                    check_equal(popped, in != out);
                    check(!popped || batch[0] == out);
                    out += popped;
                }
                break;
            default:
                if (shown == NULL) {
                    shown = RING(_peek)(ring, &count);
                    check_equal(shown != NULL, in != out);
                    shown_count = count;
                } else {
                    for (size_t i = 0; i < shown_count; i++) {
                        check_equal(shown[i], out++);
                    }
                    RING(_release)(ring, shown_count);
                    shown = NULL;
                }
            }
        }
        RING(_commit)(ring, reserved == NULL ? 0 : reserved_count);
        RING(_release)(ring, shown == NULL ? 0 : shown_count);
        RING(_destroy)(ring);
    }
}

#endif
