/* SPDX-License-Identifier: Apache-2.0
 *
 * Misuse that both rings report.
 */
#ifndef INTERLOCK_TESTS_RINGS_RING_MISUSE_H
#define INTERLOCK_TESTS_RINGS_RING_MISUSE_H

#include "rings/ring_test.h"
#include "support/misuse.h"

static const item element = 1;

static inline ring_type *make_with(size_t count) {
    ring_type *ring = make(4);
    for (size_t i = 0; i < count; i++) {
        check(push(ring, element));
    }
    return ring;
}

/* Reserves, or shows, exactly `count`. */
static inline void reserve(ring_type *ring, size_t count) {
    size_t reserved = count;
    check(RING(reserve)(ring, &reserved) != NULL);
    check_equal(reserved, count);
}

static inline void show(ring_type *ring, size_t count) {
    size_t shown = count;
    check(RING(peek)(ring, &shown) != NULL);
    check_equal(shown, count);
}

/* ---- An element of another size ---- */

enum { WRONG_SIZE = 4 };

static inline void push_wrong_size(void *context) {
    (void)!RING(try_push)(make(4), &element, WRONG_SIZE);
}

static inline void pop_wrong_size(void *context) {
    item out;
    (void)!RING(try_pop)(make(4), &out, WRONG_SIZE);
}

static inline void push_many_wrong_size(void *context) {
    (void)!RING(try_push_many)(make(4), &element, 1, WRONG_SIZE);
}

static inline void pop_many_wrong_size(void *context) {
    item out;
    (void)!RING(try_pop_many)(make(4), &out, 1, WRONG_SIZE);
}

static inline void push_until_wrong_size(void *context) {
    (void)!RING(push_until)(make(4), &element, WRONG_SIZE, 0);
}

static inline void pop_until_wrong_size(void *context) {
    item out;
    (void)!RING(pop_until)(make(4), &out, WRONG_SIZE, 0);
}

/* The largest size, not known to the compiler, where the capacity is no power of two. */
static volatile size_t largest_size = SIZE_MAX;

static inline void push_largest_size(void *context) {
    (void)!RING(try_push)(make(3), &element, largest_size);
}

static inline void pop_largest_size(void *context) {
    item out;
    (void)!RING(try_pop)(make(3), &out, largest_size);
}

static const struct misuse wrong_sizes[] = {
    {push_wrong_size, RING_CALL(try_push), "an element of 4 bytes; the ring's are of 8"},
    {pop_wrong_size, RING_CALL(try_pop), "an element of 4 bytes; the ring's are of 8"},
    {push_many_wrong_size, RING_CALL(try_push_many), "of 4 bytes"},
    {pop_many_wrong_size, RING_CALL(try_pop_many), "of 4 bytes"},
    {push_until_wrong_size, RING_CALL(push_until), "of 4 bytes"},
    {pop_until_wrong_size, RING_CALL(pop_until), "of 4 bytes"},
    {push_largest_size, RING_CALL(try_push), "of 18446744073709551615 bytes; the ring's are of 8"},
    {pop_largest_size, RING_CALL(try_pop), "of 18446744073709551615 bytes; the ring's are of 8"},
};

/* ---- More given back than was taken ---- */

static inline void commit_unreserved(void *context) {
    RING(commit)(make(4), 1);
}

static inline void commit_too_many(void *context) {
    ring_type *ring = make(4);
    reserve(ring, 2);
    RING(commit)(ring, 3);
}

static inline void release_unshown(void *context) {
    ring_type *ring = make_with(2);
    show(ring, 1);
    RING(release)(ring, 2);
}

/* ---- Destroyed while in use ---- */

static inline void destroy_reserved(void *context) {
    ring_type *ring = make(4);
    reserve(ring, 2);
    RING(destroy)(ring);
}

static inline void wait_for_an_element(void *context) {
    item out;
    (void)!RING(pop_until)(context, &out, sizeof out, ILK_FOREVER);
}

static inline void destroy_under_a_consumer(void *context) {
    ring_type *ring = make(4);
    misuse_beside(wait_for_an_element, ring);
    RING(destroy)(ring);
}

static inline void fill_and_wait(void *context) {
    while (RING(push_until)(context, &element, sizeof element, ILK_FOREVER) == ILK_OK) {
    }
}

static inline void destroy_under_a_producer(void *context) {
    ring_type *ring = make(4);
    misuse_beside(fill_and_wait, ring);
    RING(destroy)(ring);
}

#endif
