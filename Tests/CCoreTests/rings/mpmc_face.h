/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mpmc for the bodies that both rings share; spsc_face.h explains the names.
 */
#ifndef INTERLOCK_TESTS_RINGS_MPMC_FACE_H
#define INTERLOCK_TESTS_RINGS_MPMC_FACE_H

#include "support/test.h"
#include <interlock/mpmc.h>

typedef ilk_mpmc ring_type;

#define RING(verb) ilk_mpmc_##verb
#define RING_NAME "ilk_mpmc"
#define RING_CALL(verb) "ilk_mpmc_" #verb

enum { MOST_A_SIDE = 4, HAS_CLAIMS = 1, HAS_OVERWRITING = 1 };

static inline bool ring_overwrite(ring_type *ring, const void *element, size_t size, void *evicted) {
    return ilk_mpmc_push_overwriting(ring, element, size, evicted);
}

/* Slots begin a lap together: `before` is rounded up to whole laps. */
static inline ring_type *ring_make_old(size_t capacity, size_t element_size, uint64_t end, uint64_t before) {
    ilk_mpmc *ring = NULL;
    check_equal(ilk_mpmc_create(&ring, capacity, element_size), ILK_OK);
    const uint64_t start = end - (before + capacity - 1) / capacity * ring->lap_step;
    ilk_atomic_store(&ring->tail, start, memory_order_relaxed);
    ilk_atomic_store(&ring->head, start, memory_order_relaxed);
    for (size_t slot = 0; slot < capacity; slot++) {
        ilk_atomic_store(&ring->stamps[slot].word, start + slot * ILK__MPMC_STEP, memory_order_relaxed);
    }
    return ring;
}

static inline int64_t ring_popped_beyond(const ring_type *ring, uint64_t end) {
    return (int64_t)(ilk_atomic_load(&ring->head, memory_order_relaxed) - end);
}

static inline void ring_publish_first(ring_type *ring) {
    const uint64_t position = 0;
    ilk_atomic_store(&ring->tail, ilk__mpmc_next(ring, position), memory_order_relaxed);
    ilk__mpmc_publish(ring, position);
}

static inline void ring_finish_push(ring_type *ring) {
    ilk__mpmc_pushed(ring);
}

static inline bool ring_is_fenced(const ring_type *ring) {
    return ilk_atomic_load(&ring->consumers_waiting, memory_order_relaxed) != 0;
}

#endif
