/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mpmc for the headers that both rings share: the names of spsc_face.h.
 */
#ifndef EXPLORER_SCENARIOS_MPMC_FACE_H
#define EXPLORER_SCENARIOS_MPMC_FACE_H

#include "../explorer.h"
#include <interlock/inline/fence.h>
#include <interlock/mpmc.h>

typedef ilk_mpmc ring_type;

#define RING(verb) ilk_mpmc_##verb
#define RING_NAME "mpmc"
#define RING_TITLES                                                                                          \
    { NULL } /* each thread may push and pop */

enum { PUSHES_BESIDE_CLOSE = false };

static inline void ring_start_at(ring_type *ring, uint64_t position) {
    const uint64_t from = position * ILK__MPMC_STEP;
    const uint64_t end = from + RING(capacity)(ring) * ILK__MPMC_STEP;
    for (uint64_t at = from; at < end; at += ILK__MPMC_STEP) {
        ilk_atomic_store(&ring->stamps[ilk__mpmc_slot(ring, at)].word, at, memory_order_relaxed);
    }
    ilk_atomic_store(&ring->head, from, memory_order_relaxed);
    ilk_atomic_store(&ring->tail, from, memory_order_relaxed);
}

static inline bool ring_is_fenced(const ring_type *ring) {
    return ring->consumers_waiting != 0;
}

#endif
