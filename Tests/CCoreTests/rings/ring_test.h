/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests of a ring, after a face (spsc_face.h, mpmc_face.h): a ring of numbers, pushes and pops that must
 * succeed, and the verbs by name.
 */
#ifndef INTERLOCK_TESTS_RINGS_RING_TEST_H
#define INTERLOCK_TESTS_RINGS_RING_TEST_H

#include "support/test.h"
#include <string.h>

typedef uint64_t item;

/* Each wraps differently: powers of two, their neighbours, the smallest, and neither. */
static const size_t capacities[] = {1, 2, 3, 4, 5, 7, 8, 63, 64, 100};
enum { CAPACITIES = sizeof capacities / sizeof *capacities, LARGEST_CAPACITY = 100 };

static inline ring_type *make_of(size_t capacity, size_t element_size) {
    ring_type *ring = NULL;
    check_equal(RING(create)(&ring, capacity, element_size), ILK_OK);
    check_equal(RING(capacity)(ring), capacity);
    return ring;
}

static inline ring_type *make(size_t capacity) {
    return make_of(capacity, sizeof(item));
}

static inline bool push(ring_type *ring, item value) {
    return RING(try_push)(ring, &value, sizeof value);
}

static inline void expect_pop(ring_type *ring, item value) {
    item popped = ~value;
    check(RING(try_pop)(ring, &popped, sizeof popped));
    check_equal(popped, value);
}

static inline void expect_empty(ring_type *ring) {
    item popped = 12345;
    check(!RING(try_pop)(ring, &popped, sizeof popped));
    check_equal(popped, 12345); /* untouched */
    check_equal(RING(count)(ring), 0);
}

/* A ring in its second lap, whose next push goes into slot `start`. */
static inline ring_type *make_from(size_t capacity, size_t start) {
    ring_type *ring = make(capacity);
    for (size_t i = 0; i < capacity + start; i++) {
        check(push(ring, 0));
        expect_pop(ring, 0);
    }
    return ring;
}

/* ---- Verbs by name ---- */

enum push_verb { TRY_PUSH, PUSH_UNTIL, PUSH_MANY, PUSH_IN_PLACE, PUSH_OVERWRITING, ANY_PUSH };
enum pop_verb { TRY_POP, POP_UNTIL, POP_MANY, POP_IN_PLACE, ANY_POP };

static inline const char *push_name(enum push_verb verb) {
    static const char *const names[] = {
        [TRY_PUSH] = "try_push",
        [PUSH_UNTIL] = "push_until",
        [PUSH_MANY] = "try_push_many",
        [PUSH_IN_PLACE] = "reserve and commit",
        [PUSH_OVERWRITING] = "push_overwriting",
        [ANY_PUSH] = "any push",
    };
    return names[verb];
}

static inline const char *pop_name(enum pop_verb verb) {
    static const char *const names[] = {
        [TRY_POP] = "try_pop",       [POP_UNTIL] = "pop_until",
        [POP_MANY] = "try_pop_many", [POP_IN_PLACE] = "peek and release",
        [ANY_POP] = "any pop",
    };
    return names[verb];
}

static inline enum push_verb push_verbs(void) {
    return HAS_OVERWRITING ? ANY_PUSH : PUSH_OVERWRITING;
}

/* Reserves `count` contiguous slots, and writes them. */
static inline void reserve_all(ring_type *ring, const item *values, size_t count) {
    size_t reserved = count;
    item *slots = RING(reserve)(ring, &reserved);
    check(slots != NULL);
    check_equal(reserved, count);
    memcpy(slots, values, count * sizeof *values);
}

static inline void push_all(ring_type *ring, enum push_verb verb, const item *values, size_t count) {
    item evicted;
    switch (verb) {
    case TRY_PUSH:
        for (size_t i = 0; i < count; i++) {
            check(push(ring, values[i]));
        }
        break;
    case PUSH_UNTIL:
        for (size_t i = 0; i < count; i++) {
            check_equal(RING(push_until)(ring, &values[i], sizeof *values, ILK_FOREVER), ILK_OK);
        }
        break;
    case PUSH_MANY:
        check_equal(RING(try_push_many)(ring, values, count, sizeof *values), count);
        break;
    case PUSH_IN_PLACE:
        reserve_all(ring, values, count);
        RING(commit)(ring, count);
        break;
    case PUSH_OVERWRITING:
        for (size_t i = 0; i < count; i++) {
            check(!ring_overwrite(ring, &values[i], sizeof *values, &evicted));
        }
        break;
    case ANY_PUSH:
        check_failed(__FILE__, __LINE__, "one verb");
    }
}

/* Those in place must be contiguous. */
static inline void pop_all(ring_type *ring, enum pop_verb verb, item *values, size_t count) {
    switch (verb) {
    case TRY_POP:
        for (size_t i = 0; i < count; i++) {
            check(RING(try_pop)(ring, &values[i], sizeof *values));
        }
        break;
    case POP_UNTIL:
        for (size_t i = 0; i < count; i++) {
            check_equal(RING(pop_until)(ring, &values[i], sizeof *values, ILK_FOREVER), ILK_OK);
        }
        break;
    case POP_MANY:
        check_equal(RING(try_pop_many)(ring, values, count, sizeof *values), count);
        break;
    case POP_IN_PLACE: {
        size_t shown = count;
        const item *slots = RING(peek)(ring, &shown);
        check(slots != NULL);
        check_equal(shown, count);
        memcpy(values, slots, count * sizeof *values);
        RING(release)(ring, count);
        break;
    }
    case ANY_POP:
        check_failed(__FILE__, __LINE__, "one verb");
    }
}

#endif
