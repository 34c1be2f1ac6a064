/* SPDX-License-Identifier: Apache-2.0
 *
 * One side of an ilk_mpmc as its waiters see it, and what mpmc_wait.c, which wakes and waits, and mpmc_hook.c share.
 */
#ifndef INTERLOCK_RING_MPMC_SIDE_H
#define INTERLOCK_RING_MPMC_SIDE_H

#include "ring/mpmc.h"
#include "wait/event_count.h"

struct mpmc_side {
    struct ilk__event_count waiters;
    ILK_ATOMIC(uint32_t) * failed_spins;
    const ILK_ATOMIC(uint64_t) * counter; /* the other side's: for the period */
    ILK_ATOMIC(uint64_t) * period;        /* see wait/fenced.h */
    ilk_ring_event event;
    bool pushes;
};

static inline struct mpmc_side consumers_of(ilk_mpmc *ring) ILK_NONBLOCKING {
    return (struct mpmc_side){{&ring->consumers_waiting, &ring->not_empty},
                              &ring->consumers_failed_spins,
                              &ring->tail,
                              &ring->consumers_epoch,
                              ILK_READABLE,
                              false};
}

static inline struct mpmc_side producers_of(ilk_mpmc *ring) ILK_NONBLOCKING {
    return (struct mpmc_side){{&ring->producers_waiting, &ring->not_full},
                              &ring->producers_failed_spins,
                              &ring->head,
                              &ring->producers_epoch,
                              ILK_WRITABLE,
                              true};
}

/* Is the slot at this side's counter ready, or nothing left to wait for? Rereads the counter before it
 * answers no: a neighbour may have taken the probed slot and left one behind it. Its stamp (MP1) carries the
 * counter's move. */
bool ilk__mpmc_can_go_on(const ilk_mpmc *ring, const struct mpmc_side *side) ILK_NONBLOCKING;

/* Calls an armed hook. The contract asks it, foreign code, to be quick. `waiting`: as the event count answered. */
void ilk__mpmc_notify(ilk_mpmc *ring, const struct mpmc_side *side, uint64_t waiting) ILK_NONBLOCKING;

#endif
