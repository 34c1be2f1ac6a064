/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_spsc for the bodies that both rings share (ring_*.h, contract_*.h). mpmc_face.h has the same names.
 * RING(verb) is a public verb; the rest needs the inside.
 */
#ifndef INTERLOCK_TESTS_RINGS_SPSC_FACE_H
#define INTERLOCK_TESTS_RINGS_SPSC_FACE_H

#include "support/test.h"
#include <interlock/spsc.h>

typedef ilk_spsc ring_type;

#define RING(verb) ilk_spsc_##verb
#define RING_NAME "ilk_spsc"
#define RING_CALL(verb) "ilk_spsc_" #verb

enum {
    MOST_A_SIDE = 1,     /* threads that may push, or pop, at once */
    HAS_CLAIMS = 0,      /* reserve and peek take slots for the calling thread; pieces are given back */
    HAS_OVERWRITING = 0, /* ring_overwrite may be called */
};

static inline bool ring_overwrite(ring_type *ring, const void *element, size_t size, void *evicted) {
    (void)ring, (void)element, (void)size, (void)evicted;
    check_failed(__FILE__, __LINE__, "ilk_spsc does not overwrite");
}

/* An empty ring whose counters are `before` elements before `end`. */
static inline ring_type *ring_make_old(size_t capacity, size_t element_size, uint64_t end, uint64_t before) {
    const uint64_t start = end - before;
    ilk_spsc *ring = NULL;
    check_equal(ilk_spsc_create(&ring, capacity, element_size), ILK_OK);
    ilk_atomic_store(&ring->tail, start, memory_order_relaxed);
    ilk_atomic_store(&ring->head, start, memory_order_relaxed);
    ring->push_limit = start + capacity;
    ring->tail_seen = start;
    ring->tail_lap = ring->head_lap = start;
    return ring;
}

static inline int64_t ring_popped_beyond(const ring_type *ring, uint64_t end) {
    return (int64_t)(ilk_atomic_load(&ring->head, memory_order_relaxed) - end);
}

/* The first push into an empty ring, up to where it has published and not read the flags. */
static inline void ring_publish_first(ring_type *ring) {
    ilk_atomic_store(&ring->tail, 1, memory_order_release);
}

/* The rest of it. */
static inline void ring_finish_push(ring_type *ring) {
    check_equal(ilk__spsc_pushed_slow(ring, 1), 1);
}

static inline bool ring_is_fenced(const ring_type *ring) {
    return (ilk_atomic_load(&ring->flags, memory_order_relaxed) & ILK__SPSC_CONSUMER_FENCED) != 0;
}

#endif
