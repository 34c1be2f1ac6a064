/* SPDX-License-Identifier: Apache-2.0
 *
 * The objects that the sets of fuzz_wait_set_test.c share, each with the model of its state.
 */
#ifndef INTERLOCK_TESTS_WAIT_SET_SET_FUZZ_OBJECTS_H
#define INTERLOCK_TESTS_WAIT_SET_SET_FUZZ_OBJECTS_H

#include "support/fuzz_crew.h"
#include <interlock/wait_set.h>
#include <stdlib.h>

enum { SETS = 2, MOST_ELEMENTS = 3 };

enum kind { SPSC, MPMC, SEMAPHORE, LATCH };

struct object {
    enum kind kind;
    void *it;
    uint32_t capacity; /* of a ring */
    uint32_t count;    /* elements, free permits, or what a latch has left to count */
    bool closed;
    int queue[SETS + ACTORS]; /* of a semaphore: the number of a set, or SETS and that of an actor */
    int queued;
    bool armed[3]; /* a ring's hook, by event */
    unsigned calls[3], calls_as_armed[3];
};

/* ---- Rings of both kinds ---- */

enum { TRY, UNTIL, MANY, IN_PLACE, OVERWRITING, MANNERS };

/* How many elements a push of some manner puts in, and a pop takes. */
#define RING_CALLS(type)                                                                                     \
    static inline uint32_t push_##type(ilk_##type *ring, unsigned manner) {                                  \
        const int elements[2] = {1, 2};                                                                      \
        size_t count = 1;                                                                                    \
        int *place;                                                                                          \
        switch (manner) {                                                                                    \
        case UNTIL:                                                                                          \
            return ilk_##type##_push_until(ring, elements, sizeof *elements, 0) == ILK_OK;                   \
        case MANY:                                                                                           \
            return (uint32_t)ilk_##type##_try_push_many(ring, elements, 2, sizeof *elements);                \
        case IN_PLACE:                                                                                       \
            if ((place = ilk_##type##_reserve(ring, &count)) != NULL) {                                      \
                *place = 1;                                                                                  \
                ilk_##type##_commit(ring, count);                                                            \
            }                                                                                                \
            return (uint32_t)count;                                                                          \
        default:                                                                                             \
            return ilk_##type##_try_push(ring, elements, sizeof *elements);                                  \
        }                                                                                                    \
    }                                                                                                        \
    static inline uint32_t pop_##type(ilk_##type *ring, unsigned manner) {                                   \
        int elements[2];                                                                                     \
        size_t count = 1;                                                                                    \
        switch (manner) {                                                                                    \
        case UNTIL:                                                                                          \
            return ilk_##type##_pop_until(ring, elements, sizeof *elements, 0) == ILK_OK;                    \
        case MANY:                                                                                           \
            return (uint32_t)ilk_##type##_try_pop_many(ring, elements, 2, sizeof *elements);                 \
        case IN_PLACE:                                                                                       \
            if (ilk_##type##_peek(ring, &count) != NULL) {                                                   \
                ilk_##type##_release(ring, count);                                                           \
            }                                                                                                \
            return (uint32_t)count;                                                                          \
        default:                                                                                             \
            return ilk_##type##_try_pop(ring, elements, sizeof *elements);                                   \
        }                                                                                                    \
    }
RING_CALLS(spsc)
RING_CALLS(mpmc)

static inline uint32_t least(uint32_t one, uint32_t other) {
    return one < other ? one : other;
}

static inline bool is_ring(const struct object *object) {
    return object->kind == SPSC || object->kind == MPMC;
}

static inline bool push(struct fuzz_play *play, struct object *ring, unsigned manner) {
    const uint32_t fit = least(manner == MANY ? 2 : 1, ring->closed ? 0 : ring->capacity - ring->count);
    uint32_t pushed = fit;
    if (manner == OVERWRITING && ring->kind == MPMC) {
        const int element = 1;
        int evicted;
        (void)ilk_mpmc_push_overwriting(ring->it, &element, sizeof element, &evicted);
    } else {
        pushed = ring->kind == SPSC ? push_spsc(ring->it, manner) : push_mpmc(ring->it, manner);
    }
    ring->count += fit;
    return pushed == fit || fuzz_mismatch(play, "%u pushed where %u fit", pushed, fit);
}

static inline bool pop(struct fuzz_play *play, struct object *ring, unsigned manner) {
    const uint32_t there = least(manner == MANY ? 2 : 1, ring->count);
    const uint32_t popped = ring->kind == SPSC ? pop_spsc(ring->it, manner) : pop_mpmc(ring->it, manner);
    ring->count -= there;
    return popped == there || fuzz_mismatch(play, "%u popped where %u are there", popped, there);
}

static inline void on_event(void *context, ilk_ring_event event) {
    ((struct object *)context)->calls[event]++;
}

/* Whether a member of the ring would be ready. */
static inline bool ring_is_ready(const struct object *ring, ilk_ring_event event) {
    return ring->closed || (event == ILK_READABLE ? ring->count > 0 : ring->count < ring->capacity);
}

static inline bool arm(struct fuzz_play *play, struct object *ring, ilk_ring_event event) {
    bool armed;
    if (ring->kind == SPSC) {
        armed = event == ILK_READABLE ? ilk_spsc_arm_pop(ring->it) : ilk_spsc_arm_push(ring->it);
    } else {
        armed = event == ILK_READABLE ? ilk_mpmc_arm_pop(ring->it) : ilk_mpmc_arm_push(ring->it);
    }
    ring->armed[event] = armed;
    ring->calls_as_armed[event] = ring->calls[event];
    return armed != ring_is_ready(ring, event) || fuzz_mismatch(play, "the hook answers %d", armed);
}

/* It was armed for what is there now. */
static inline bool misses_a_call(const struct object *ring, ilk_ring_event event) {
    return ring->armed[event] && ring_is_ready(ring, event) &&
           ring->calls[event] == ring->calls_as_armed[event];
}

static inline void close_ring(struct object *ring) {
    ring->closed = true;
    if (ring->kind == SPSC) {
        ilk_spsc_close(ring->it);
    } else {
        ilk_mpmc_close(ring->it);
    }
}

/* ---- Objects come and go ---- */

static inline void make_object(struct object *object, enum kind kind, uint32_t argument) {
    *object = (struct object){.kind = kind, .capacity = 1 + argument % MOST_ELEMENTS};
    const size_t size = kind == SEMAPHORE ? sizeof(ilk_semaphore) : sizeof(ilk_latch);
    if (is_ring(object)) {
        check_equal(kind == SPSC ? ilk_spsc_create((ilk_spsc **)&object->it, object->capacity, sizeof(int))
                                 : ilk_mpmc_create((ilk_mpmc **)&object->it, object->capacity, sizeof(int)),
                    ILK_OK);
        if (kind == SPSC) {
            ilk_spsc_set_notify(object->it, on_event, object);
        } else {
            ilk_mpmc_set_notify(object->it, on_event, object);
        }
        return;
    }
    object->count = argument % 3;
    object->it = calloc(1, size);
    check(object->it != NULL);
    if (kind == LATCH) {
        ilk_latch_init(object->it, object->count);
    } else if (argument / 3 % 2 == 0) {
        ilk_semaphore_init(object->it, object->count);
    } else {
        ilk_semaphore_init_barging(object->it, object->count);
    }
}

static inline void free_object(struct object *object) {
    switch (object->kind) {
    case SPSC:
        ilk_spsc_destroy(object->it);
        return;
    case MPMC:
        ilk_mpmc_destroy(object->it);
        return;
    case SEMAPHORE:
        ilk_semaphore_destroy(object->it);
        break;
    case LATCH:
        break;
    }
    free(object->it);
}

/* Elements, permits less the waiters, or what is left to count. */
static inline int64_t count_of(const struct object *object) {
    switch (object->kind) {
    case SPSC:
        return (int64_t)ilk_spsc_count(object->it);
    case MPMC:
        return (int64_t)ilk_mpmc_count(object->it);
    case SEMAPHORE:
        return ilk_semaphore_value(object->it);
    default: /* LATCH */
        return ilk_latch_count(object->it);
    }
}

#endif
