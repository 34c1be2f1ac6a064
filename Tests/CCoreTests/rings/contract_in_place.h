/* SPDX-License-Identifier: Apache-2.0
 *
 * Both rings: reserve and commit, peek and release, from every slot of every capacity.
 */
#ifndef INTERLOCK_TESTS_RINGS_CONTRACT_IN_PLACE_H
#define INTERLOCK_TESTS_RINGS_CONTRACT_IN_PLACE_H

#include "rings/ring_test.h"

/* In pieces of one and two where the ring allows pieces. */
static inline void commit_all(ring_type *ring, size_t count) {
    for (size_t done = 0; HAS_CLAIMS && done < count;) {
        size_t piece = done % 3 == 0 || count - done == 1 ? 1 : 2;
        RING(commit)(ring, piece);
        done += piece;
    }
    if (!HAS_CLAIMS) {
        RING(commit)(ring, count);
    }
}
/* contract: ilk_mpmc_commit, ilk_mpmc_count, ilk_mpmc_release, ilk_mpmc_reserve, ilk_spsc_commit */
/* contract: ilk_spsc_reserve */
TEST(reserved_slots_are_pushed_by_commit) {
    for (int c = 0; c < CAPACITIES; c++) {
        size_t capacity = capacities[c];
        for (size_t start = 0; start < capacity; start++) {
            ring_type *ring = make_from(capacity, start);
            item next = 0;
            while (next < capacity) {
                size_t count = capacity + 5;
                item *slots = RING(reserve)(ring, &count);
                check(slots != NULL && count >= 1 && count <= capacity - next);
                check(next == 0 || count == capacity - next); /* in at most two pieces */
                for (size_t i = 0; i < count; i++) {
                    slots[i] = next + i;
                }
                check_equal(RING(count)(ring),
                            next + (HAS_CLAIMS ? count : 0)); /* not pushed, maybe claimed */
                if (next == 0) {
                    item value;
                    check(!RING(try_pop)(ring, &value, sizeof value));
                }
                commit_all(ring, count);
                next += count;
                check_equal(RING(count)(ring), next);
            }
            size_t count = 1;
            check(RING(reserve)(ring, &count) == NULL);
            check_equal(count, 0);
            expect_pop(ring, 0);
            check(RING(reserve)(ring, &count) == NULL); /* none wanted, though there is room */
            check_equal(count, 0);
            for (item i = 1; i < capacity; i++) {
                expect_pop(ring, i);
            }
            RING(destroy)(ring);
        }
    }
}
/* contract: ilk_mpmc_commit, ilk_mpmc_count, ilk_mpmc_peek, ilk_mpmc_release, ilk_spsc_peek */
/* contract: ilk_spsc_release */
TEST(peeked_elements_stay_until_released) {
    for (int c = 0; c < CAPACITIES; c++) {
        size_t capacity = capacities[c];
        for (size_t start = 0; start < capacity; start++) {
            ring_type *ring = make_from(capacity, start);
            size_t count = 0;
            check(RING(peek)(ring, &count) == NULL);
            check_equal(count, 0);
            for (item i = 0; i < capacity; i++) {
                check(push(ring, i));
            }
            item next = 0;
            while (next < capacity) {
                count = 0; /* all there are */
                const item *shown = RING(peek)(ring, &count);
                check(shown != NULL && count >= 1 && count <= capacity - next);
                for (size_t i = 0; i < count; i++) {
                    check_equal(shown[i], next + i);
                }
                check_equal(RING(count)(ring), capacity - next - (HAS_CLAIMS ? count : 0));
                if (next == 0) {
                    check(!push(ring, 999)); /* the slots are not free yet */
                }
                if (count > 1) {
                    RING(release)(ring, count - 1);
                }
                RING(release)(ring, 1);
                next += count;
            }
            expect_empty(ring);
            check(push(ring, 1));
            RING(destroy)(ring);
        }
    }
}

#endif
