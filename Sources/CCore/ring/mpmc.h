/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of ilk_mpmc share: mpmc.c claims slots and moves elements, mpmc_in_place.c lends slots,
 * mpmc_overwrite.c evicts, mpmc_wait.c wakes, waits and closes, mpmc_hook.c calls the hook.
 */
#ifndef INTERLOCK_RING_MPMC_H
#define INTERLOCK_RING_MPMC_H

#include <interlock/mpmc.h>

static inline void mpmc_check_size(const char *call, const ilk_mpmc *ring, size_t element_size)
    ILK_NONBLOCKING {
    if (ILK_UNLIKELY(element_size != ring->element_size)) {
        ilk__mpmc_wrong_size(call, ring, element_size);
    }
}

/* At most one more than the capacity (mpmc_overwrite.c). */
static inline size_t distance(const ilk_mpmc *ring, uint64_t tail, uint64_t head) ILK_NONBLOCKING {
    uint64_t laps = (tail & -ring->lap_step) - (head & -ring->lap_step);
    return (size_t)(laps / ring->lap_step) * ring->capacity + ilk__mpmc_slot(ring, tail) -
           ilk__mpmc_slot(ring, head);
}

/* Nothing will come: a closed tail does not move. */
static inline bool is_drained(const ilk_mpmc *ring) ILK_NONBLOCKING {
    uint64_t tail = ilk_atomic_load(&ring->tail, memory_order_acquire); /* MP11 */
    return (tail & ILK__MPMC_CLOSED) != 0 &&
           ilk_atomic_load(&ring->head, memory_order_relaxed) == (tail & ~ILK__MPMC_CLOSED); /* MP2 */
}

struct claims {
    ILK_ATOMIC(uint64_t) * counter;
    ILK_ATOMIC(uint64_t) * miss;
    ILK_ATOMIC(uint32_t) * back_off;
    uint64_t state; /* of the stamp beside the position: 0 for a push, FULL for a pop */
};

static inline struct claims pushes_of(ilk_mpmc *ring) ILK_NONBLOCKING {
    return (struct claims){&ring->tail, &ring->push_miss, &ring->push_back_off, 0};
}

static inline struct claims pops_of(ilk_mpmc *ring) ILK_NONBLOCKING {
    return (struct claims){&ring->head, &ring->pop_miss, &ring->pop_back_off, ILK__MPMC_FULL};
}

/* Claims up to `wanted` adjacent slots from `*position`: the number. Ready slots stay ready until the counter
 * passes them: one compare-and-swap claims all. `to_end`: stop at the last slot. */
size_t ilk__mpmc_claim_many(ilk_mpmc *ring, const struct claims *claims, size_t wanted, bool to_end,
                            uint64_t *position) ILK_NONBLOCKING;

/* Reports a wait for the slot at the side's counter that the calling thread has open: no other can make it
 * ready. */
void ilk__mpmc_refuse_own_slot(const char *call, const ilk_mpmc *ring, bool pushes);

#endif
