/* SPDX-License-Identifier: Apache-2.0
 *
 * Both rings after long use: counters about to wrap, at 2^32 and at 2^64, and closings by the million.
 */
/* contract: mpmc.h */
#ifndef INTERLOCK_TESTS_RINGS_RING_LONG_H
#define INTERLOCK_TESTS_RINGS_RING_LONG_H

#include "rings/ring_test.h"
#include <sched.h>

/* ---- Counters that wrap ---- */

/* 2^32, and 2^64 as arithmetic on 64 bits has it. */
static const uint64_t wraps[] = {UINT64_C(1) << 32, 0};
enum { WRAPS = sizeof wraps / sizeof *wraps };

static inline void use_ring(ring_type *ring, size_t capacity) {
    item next_in = 0, next_out = 0, elements[LARGEST_CAPACITY];
    for (int round = 0; round < 3; round++) {
        for (size_t count = 1; count <= capacity; count++) {
            check(push(ring, next_in++));
            check_equal(RING(count)(ring), count);
        }
        check(!push(ring, next_in));
        for (size_t count = capacity; count > 0; count--) {
            expect_pop(ring, next_out++);
        }
        expect_empty(ring);
        for (size_t i = 0; i < capacity; i++) {
            elements[i] = next_in++;
        }
        check_equal(RING(try_push_many)(ring, elements, capacity, sizeof *elements), capacity);
        check_equal(RING(try_push_many)(ring, elements, 1, sizeof *elements), 0);
        check_equal(RING(count)(ring), capacity);
        while (next_out < next_in) {
            size_t shown = 0;
            const item *first = RING(peek)(ring, &shown);
            check(first != NULL);
            check_equal(*first, next_out);
            next_out += shown;
            RING(release)(ring, shown);
        }
        check_equal(next_out, next_in);
        reserve_all(ring, &next_in, 1);
        RING(commit)(ring, 1);
        check_equal(RING(try_pop_many)(ring, elements, capacity, sizeof *elements), 1);
        check_equal(elements[0], next_out);
        next_in++;
        next_out++;
        for (size_t i = 0; i < capacity; i++) {
            elements[i] = next_in++;
        }
        check_equal(RING(try_push_many)(ring, elements, capacity, sizeof *elements), capacity);
        check_equal(RING(try_pop_many)(ring, elements, capacity, sizeof *elements), capacity);
        for (size_t i = 0; i < capacity; i++) {
            check_equal(elements[i], next_out++);
        }
    }
}

TEST(counters_may_wrap) {
    for (int c = 0; c < CAPACITIES; c++) {
        const size_t capacity = capacities[c];
        const uint64_t elements_before[] = {1, capacity, 2 * capacity};
        for (int wrap = 0; wrap < WRAPS; wrap++) {
            for (size_t i = 0; i < sizeof elements_before / sizeof *elements_before; i++) {
                ring_type *ring = ring_make_old(capacity, sizeof(item), wraps[wrap], elements_before[i]);
                use_ring(ring, capacity);
                RING(destroy)(ring);
            }
        }
    }
}

/* Every number of elements across the wrap: one counter has passed it, the other has not. */
TEST(counters_may_wrap_with_elements_between_them) {
    for (int c = 0; c < CAPACITIES; c++) {
        const size_t capacity = capacities[c];
        for (size_t level = 1; level <= capacity; level++) {
            for (int wrap = 0; wrap < WRAPS; wrap++) {
                ring_type *ring = ring_make_old(capacity, sizeof(item), wraps[wrap], 2 * capacity);
                for (item next = 0; next < 5 * capacity; next++) {
                    if (next >= level) {
                        expect_pop(ring, next - level);
                    }
                    check(push(ring, next));
                    check_equal(RING(count)(ring), next < level ? next + 1 : level);
                }
                RING(destroy)(ring);
            }
        }
    }
}

/* The same with both sides at work, and asleep. */
enum { STREAM = 20000 };

static inline void push_stream(void *ring) {
    for (item next = 0; next < STREAM; next++) {
        check_equal(RING(push_until)(ring, &next, sizeof next, ILK_FOREVER), ILK_OK);
    }
}

static inline void pop_stream(void *ring) {
    for (item expected = 0, value = 0; expected < STREAM; expected++) {
        check_equal(RING(pop_until)(ring, &value, sizeof value, ILK_FOREVER), ILK_OK);
        check_equal(value, expected);
    }
}

TEST(counters_may_wrap_beside_the_other_side) {
    for (int c = 0; c < CAPACITIES; c++) {
        for (int wrap = 0; wrap < WRAPS; wrap++) {
            /* Whole laps: the wrap comes in the middle of the stream. */
            const uint64_t before = STREAM / 2 / capacities[c] * capacities[c];
            ring_type *ring = ring_make_old(capacities[c], sizeof(item), wraps[wrap], before);
            struct thread producer, consumer;
            thread_start(&consumer, pop_stream, ring);
            thread_start(&producer, push_stream, ring);
            thread_join(&producer);
            thread_join(&consumer);
            check(ring_popped_beyond(ring, wraps[wrap]) >= STREAM / 2);
            RING(destroy)(ring);
        }
    }
}

/* ---- Closings ---- */

/* One thread pushes as long as it may. The other pops, closes at any moment, and drains. */
struct closings {
    int rounds;
    ILK_ATOMIC(ring_type *) ring; /* to push to */
    ILK_ATOMIC(int) done;         /* rounds whose pushing has ended */
    uint64_t pushed;              /* in the last of them */
};

static inline void pause_before_recheck(int *pauses) {
    if (++*pauses % 256 == 0) {
        (void)sched_yield();
    } else {
        ilk_cpu_relax();
    }
}

static inline void push_while_open(void *context) {
    struct closings *closings = context;
    ring_type *last = NULL;
    for (int round = 1; round <= closings->rounds; round++) {
        ring_type *ring;
        for (int pauses = 0; (ring = ilk_atomic_load(&closings->ring, memory_order_acquire)) == last;) {
            pause_before_recheck(&pauses);
        }
        last = ring;
        closings->pushed = 0;
        for (int pauses = 0;;) {
            bool closed = RING(is_closed)(ring); /* asked before: a later push cannot succeed */
            if (push(ring, closings->pushed)) {
                check(!closed);
                closings->pushed++;
            } else if (closed) {
                break;
            } else {
                pause_before_recheck(&pauses);
            }
        }
        ilk_atomic_store(&closings->done, round, memory_order_release);
    }
}

/* A million; a tenth where threads park in the table. Each closing of a ring for two threads interrupts the
 * pusher (membarrier), which takes most of the time. */
#ifdef ILK_TEST_FEWER_CLOSINGS
enum { CLOSINGS = 100000 };
#else
enum { CLOSINGS = 1000000 };
#endif

/* Two rings at a time: new memory may lie where the old one did. */
/* contract: ilk_mpmc_close, ilk_spsc_close, mpmc.B, spsc.B */
TEST(a_million_closings_lose_nothing) {
    struct closings closings = {.rounds = stress_rounds(CLOSINGS)};
    uint32_t random = 7;
    struct thread pusher;
    ring_type *before = NULL;
    thread_start(&pusher, push_while_open, &closings);
    for (int round = 1; round <= closings.rounds; round++) {
        if (round % 10000 == 0) {
            test_goes_on();
        }
        ring_type *ring = make(1 + next_random(&random) % 4);
        RING(destroy)(before);
        ilk_atomic_store(&closings.ring, ring, memory_order_release);
        item popped = 0, value;
        for (uint32_t pops = next_random(&random) % 64; pops > 0; pops--) {
            popped += RING(try_pop)(ring, &value, sizeof value) ? 1 : 0;
        }
        RING(close)(ring);
        while (RING(pop_until)(ring, &value, sizeof value, ILK_FOREVER) == ILK_OK) {
            check_equal(value, popped);
            popped++;
        }
        for (int pauses = 0; ilk_atomic_load(&closings.done, memory_order_acquire) < round;) {
            pause_before_recheck(&pauses);
        }
        check_equal(popped, closings.pushed);
        before = ring;
    }
    thread_join(&pusher);
    RING(destroy)(before);
}

#endif
