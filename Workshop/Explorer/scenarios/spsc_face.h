/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_spsc for the headers that both rings share (ring_*.h, notify_*.h); mpmc_face.h defines the same names.
 * RING(verb) is a public verb; the rest needs the ring's inside.
 */
#ifndef EXPLORER_SCENARIOS_SPSC_FACE_H
#define EXPLORER_SCENARIOS_SPSC_FACE_H

#include "../explorer.h"
#include <interlock/inline/fence.h>
#include <interlock/spsc.h>

typedef ilk_spsc ring_type;

#define RING(verb) ilk_spsc_##verb
#define RING_NAME "spsc"
#define RING_TITLES                                                                                          \
    { "producer", "consumer", "closer" }

/* Guarantee C. */
enum { PUSHES_BESIDE_CLOSE = true };

static inline void ring_start_at(ring_type *ring, uint64_t position) {
    ring->push_limit = position + ring->capacity;
    ring->tail_seen = ring->shown = ring->shown_from = position;
    ring->tail_lap = ring->head_lap = position;
    ilk_atomic_store(&ring->head, position, memory_order_relaxed);
    ilk_atomic_store(&ring->tail, position, memory_order_relaxed);
}

static inline bool ring_is_fenced(const ring_type *ring) {
    return (ring->flags & ILK__SPSC_CONSUMER_FENCED) != 0;
}

#endif
