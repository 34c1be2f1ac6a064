/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout of ilk_mpmc and the fast paths of its single-element calls. Contracts are in <interlock/mpmc.h>,
 * the other calls in Sources/CCore/ring/mpmc*.c. docs/rings.md draws the protocol.
 *
 * A position counts laps of the ring and slots: it is (lap << index_bits | slot) << 1, where index_bits is
 * just enough for the capacity. The step from the last slot skips the unused values, so that a mask finds the
 * slot and no capacity costs a division. Bit 0 is 0 in a position; in `tail` it means closed. Positions wrap
 * after 2^63 of them; but for counting, they are only compared for equality.
 *
 * stamps[slot], for the push at position p and the pop of its element:
 *     p                  free: the push at p may write the slot
 *     p | 1              full: the pop at p may read the slot
 *     p of the next lap  free again
 * Only the thread that claimed p, by moving tail or head past it, writes the slot and its stamp.
 */
#ifndef INTERLOCK_INLINE_MPMC_H
#define INTERLOCK_INLINE_MPMC_H

#include <interlock/inline/atomic.h>
#include <interlock/inline/fence.h>
#include <interlock/inline/ring.h>
#include <interlock/mpmc.h>
#include <string.h>

ILK_BEGIN_DECLARATIONS

#define ILK__MPMC_CLOSED UINT64_C(1)
#define ILK__MPMC_FULL UINT64_C(1)
#define ILK__MPMC_STEP UINT64_C(2)
/* No position: the answer of a claim that found none. */
#define ILK__MPMC_NONE UINT64_MAX

/* consumers_waiting and producers_waiting, from the low end:
 *   bits 0 to 23  threads that sleep or are in an arm call, or are about to
 *   FENCED        this word has been other than 0 since before a heavy fence: no thread can still act on an
 *                 older 0. Set by a waiter after its heavy fence; while it is set the next waiters need only
 *                 a fence of their own. Cleared by the other side, once in 1,024 positions if no thread waits
 *                 and the side is not armed; TAKES goes back to 0 with it.
 *   ARMED         the hook is armed. Set by arm_pop or arm_push in its last step; cleared by the thread of
 *                 the other side that then calls the hook.
 *   ARMING        a thread is in arm_pop or arm_push, or was. Cleared by the next thread of the other side,
 *                 which calls nothing for it.
 *   TAKES         how often ARMED or ARMING was taken down. An arm that finds the count changed has lost its
 *                 ARMING. It starts at 0 again only while no thread arms, and has 2^37 values. */
#define ILK__MPMC_THREADS UINT64_C(0x0FFFFFF)
#define ILK__MPMC_FENCED UINT64_C(0x1000000)
#define ILK__MPMC_ARMED UINT64_C(0x2000000)
#define ILK__MPMC_ARMING UINT64_C(0x4000000)
#define ILK__MPMC_ONE_TAKE UINT64_C(0x8000000)
#define ILK__MPMC_TAKES (~(ILK__MPMC_ONE_TAKE - 1))
/* Of an event count. Odd: a wake-up is under way and not yet acknowledged; no other is sent meanwhile. */
#define ILK__MPMC_WAKE_PENDING UINT32_C(1)

struct ilk_mpmc {
    /* Constant after creation, but for the words of waiters, which change only around sleeping: a cache line
     * that every core keeps. */
    unsigned char *slots;
    ILK_ATOMIC(uint64_t) * stamps;
    size_t capacity;
    size_t element_size;
    uint64_t lap_step;                      /* from a position to that of the same slot in the next lap */
    uint64_t skip;                          /* what the step from the last slot adds to ILK__MPMC_STEP */
    size_t group_mask;                      /* slots are fetched ahead in groups; see ring/prefetch.h */
    ILK_ATOMIC(uint64_t) consumers_waiting; /* see ILK__MPMC_THREADS */
    ILK_ATOMIC(uint64_t) producers_waiting;
    ilk_notify notify;
    void *notify_context;
    unsigned char separate_tail[ILK__RING_SEPARATION - 7 * sizeof(size_t) - 4 * sizeof(uint64_t)];

    ILK_ATOMIC(uint64_t) tail;      /* the next position to push at, and the closed bit; producers */
    ILK_ATOMIC(uint64_t) push_miss; /* the position of the last push that found no room; see ring/backoff.h */
    ILK_ATOMIC(uint32_t) push_back_off; /* pauses before the next probe for room */
    unsigned char separate_head[ILK__RING_SEPARATION - 2 * sizeof(uint64_t) - sizeof(uint32_t)];

    ILK_ATOMIC(uint64_t) head;         /* the next position to pop at; consumers */
    ILK_ATOMIC(uint64_t) pop_miss;     /* the position of the last pop that found nothing */
    ILK_ATOMIC(uint32_t) pop_back_off; /* pauses before the next probe for elements */
    unsigned char separate_event_counts[ILK__RING_SEPARATION - 2 * sizeof(uint64_t) - sizeof(uint32_t)];

    /* Used by waiters and the threads that wake them. */
    ILK_ATOMIC(uint32_t) not_empty; /* event counts, which waiters park on; see ILK__MPMC_WAKE_PENDING */
    ILK_ATOMIC(uint32_t) not_full;
    ILK_ATOMIC(uint32_t) consumers_failed_spins; /* see wait/spin.h */
    ILK_ATOMIC(uint32_t) producers_failed_spins;
    ILK_ATOMIC(uint64_t) consumers_epoch; /* when FENCED was last tried to be cleared; see ring/fenced.h */
    ILK_ATOMIC(uint64_t) producers_epoch;
    ILK_ATOMIC(uint32_t) hook_calls; /* see ring/hook.h */
    unsigned char separate_stamps[ILK__RING_SEPARATION - 2 * sizeof(uint64_t) - 5 * sizeof(uint32_t)];
};

ILK_COLD ILK_NORETURN void ilk__mpmc_wrong_size(const char *call, const ilk_mpmc *ring, size_t element_size);
/* After a publication with the word of waiters not 0: wakes one waiter unless a wake-up is under way, and
 * calls the hook if it is armed. */
ILK_COLD void ilk__mpmc_wake_consumers(ilk_mpmc *ring) ILK_NONBLOCKING;
ILK_COLD void ilk__mpmc_wake_producers(ilk_mpmc *ring) ILK_NONBLOCKING;
/* For the push that has the first slot of a group: fetches the cache lines of the next group. */
ILK_COLD void ilk__mpmc_fetch_ahead(const ilk_mpmc *ring, size_t slot) ILK_NONBLOCKING;
/* A claim after its first attempt failed: the position, or ILK__MPMC_NONE when full, empty or closed. */
ILK_COLD uint64_t ilk__mpmc_claim_push_slow(ilk_mpmc *ring) ILK_NONBLOCKING;
ILK_COLD uint64_t ilk__mpmc_claim_pop_slow(ilk_mpmc *ring) ILK_NONBLOCKING;
/* The waiting calls, after one failed attempt. */
ILK_COLD ilk_status ilk__mpmc_push_slow(ilk_mpmc *ring, const void *element, size_t element_size,
                                        uint64_t deadline_ns);
ILK_COLD ilk_status ilk__mpmc_pop_slow(ilk_mpmc *ring, void *element, size_t element_size,
                                       uint64_t deadline_ns);

static inline size_t ilk__mpmc_slot(const ilk_mpmc *ring, uint64_t position) ILK_NONBLOCKING {
    return (size_t)((position & (ring->lap_step - 1)) >> 1);
}

/* The position after this one. */
static inline uint64_t ilk__mpmc_next(const ilk_mpmc *ring, uint64_t position) ILK_NONBLOCKING {
    uint64_t skip = ilk__mpmc_slot(ring, position) == ring->capacity - 1 ? ring->skip : 0;
    return position + ILK__MPMC_STEP + skip;
}

/* Takes the size from the caller: where that is a constant, so is the multiplication. */
static inline unsigned char *ilk__mpmc_element(const ilk_mpmc *ring, uint64_t position, size_t element_size)
    ILK_NONBLOCKING {
    return ring->slots + ilk__mpmc_slot(ring, position) * element_size;
}

static inline uint64_t ilk__mpmc_stamp(const ilk_mpmc *ring, uint64_t position) ILK_NONBLOCKING {
    /* MP1 acquire, pairs with MP4 and MP5 (release, publishing and giving back).
     * Carries: the element, or that its reader has finished.
     * If weaker: we read a slot before its element arrives, or overwrite one still being read. */
    return ilk_atomic_load(&ring->stamps[ilk__mpmc_slot(ring, position)], memory_order_acquire);
}

/* Makes the element at a claimed position visible. ilk__mpmc_pushed must follow. */
static inline void ilk__mpmc_publish(ilk_mpmc *ring, uint64_t position) ILK_NONBLOCKING {
    /* MP4 release, pairs with MP1. See there. */
    ilk_atomic_store(&ring->stamps[ilk__mpmc_slot(ring, position)], position | ILK__MPMC_FULL,
                     memory_order_release);
}

/* Gives the slot at a claimed position back. ilk__mpmc_popped must follow. */
static inline void ilk__mpmc_give_back(ilk_mpmc *ring, uint64_t position) ILK_NONBLOCKING {
    /* MP5 release, pairs with MP1. See there. */
    ilk_atomic_store(&ring->stamps[ilk__mpmc_slot(ring, position)], position + ring->lap_step,
                     memory_order_release);
}

/* After publishing elements: wakes a consumer that waits. */
static inline void ilk__mpmc_pushed(ilk_mpmc *ring) ILK_NONBLOCKING {
    /* Pairs with the heavy fence of a consumer going to sleep (mpmc_wait.c). Forbids: we publish and read 0,
     * while the consumer registers and misses the element. */
    ilk__fence_light();
    /* MP6 relaxed: ordered by that fence, or read again behind MP15. */
    if (ILK_UNLIKELY(ilk_atomic_load(&ring->consumers_waiting, memory_order_relaxed) != 0)) {
        ilk__mpmc_wake_consumers(ring);
    }
}

/* After giving slots back: wakes a producer that waits. As ilk__mpmc_pushed. */
static inline void ilk__mpmc_popped(ilk_mpmc *ring) ILK_NONBLOCKING {
    ilk__fence_light();
    if (ILK_UNLIKELY(ilk_atomic_load(&ring->producers_waiting, memory_order_relaxed) != 0)) { /* MP6 */
        ilk__mpmc_wake_producers(ring);
    }
}

/* The single-element calls attempt their claim once in line; the rest is one call, out of line. The ring's
 * constants are read before the slot's stamp: compilers read them again after an acquire. */

ILK_ALWAYS_INLINE bool ilk_mpmc_try_push(ilk_mpmc *ring, const void *element, size_t element_size)
    ILK_NONBLOCKING {
    if (ILK_UNLIKELY(element_size != ring->element_size)) {
        ilk__mpmc_wrong_size("ilk_mpmc_try_push", ring, element_size);
    }
    unsigned char *const slots = ring->slots;
    ILK_ATOMIC(uint64_t) *const stamps = ring->stamps;
    const uint64_t lap_step = ring->lap_step;
    /* MP2 relaxed: tail and head only hand out positions; MP1 carries the data. The compare-and-swap finds a
     * stale value out; full and empty are answered only after a recheck. */
    uint64_t position = ilk_atomic_load(&ring->tail, memory_order_relaxed);
    size_t slot = (size_t)((position & (lap_step - 1)) >> 1);
    const uint64_t next = ilk__mpmc_next(ring, position);
    /* No slot has the stamp of a closed tail: a stamp is odd once the push at its position is done, and the
     * push at a closed tail never is. So the first comparison also tells that the ring is open. */
    if (ILK_UNLIKELY(ilk_atomic_load(&stamps[slot], memory_order_acquire) != position) || /* MP1 */
        ILK_UNLIKELY(!ilk_atomic_compare_exchange_weak(&ring->tail, &position, next, memory_order_relaxed,
                                                       memory_order_relaxed))) { /* MP2 */
        position = ilk__mpmc_claim_push_slow(ring);
        if (position == ILK__MPMC_NONE) {
            return false;
        }
        slot = (size_t)((position & (lap_step - 1)) >> 1);
    }
    if (ILK_UNLIKELY((slot & ring->group_mask) == 0)) {
        ilk__mpmc_fetch_ahead(ring, slot);
    }
    ilk_plain_write(slots + slot * element_size, element_size);
    memcpy(slots + slot * element_size, element, element_size);
    ilk_atomic_store(&stamps[slot], position | ILK__MPMC_FULL, memory_order_release); /* MP4 */
    ilk__mpmc_pushed(ring);
    return true;
}

ILK_ALWAYS_INLINE bool ilk_mpmc_try_pop(ilk_mpmc *ring, void *element, size_t element_size) ILK_NONBLOCKING {
    if (ILK_UNLIKELY(element_size != ring->element_size)) {
        ilk__mpmc_wrong_size("ilk_mpmc_try_pop", ring, element_size);
    }
    const unsigned char *const slots = ring->slots;
    ILK_ATOMIC(uint64_t) *const stamps = ring->stamps;
    const uint64_t lap_step = ring->lap_step;
    uint64_t position = ilk_atomic_load(&ring->head, memory_order_relaxed); /* MP2 */
    size_t slot = (size_t)((position & (lap_step - 1)) >> 1);
    const uint64_t next = ilk__mpmc_next(ring, position);
    if (ILK_UNLIKELY(ilk_atomic_load(&stamps[slot], memory_order_acquire) !=
                     (position | ILK__MPMC_FULL)) || /* MP1 */
        ILK_UNLIKELY(!ilk_atomic_compare_exchange_weak(&ring->head, &position, next, memory_order_relaxed,
                                                       memory_order_relaxed))) { /* MP2 */
        position = ilk__mpmc_claim_pop_slow(ring);
        if (position == ILK__MPMC_NONE) {
            return false;
        }
        slot = (size_t)((position & (lap_step - 1)) >> 1);
    }
    ilk_plain_read(slots + slot * element_size, element_size);
    memcpy(element, slots + slot * element_size, element_size);
    ilk_atomic_store(&stamps[slot], position + lap_step, memory_order_release); /* MP5 */
    ilk__mpmc_popped(ring);
    return true;
}

static inline ilk_status ilk_mpmc_push_until(ilk_mpmc *ring, const void *element, size_t element_size,
                                             uint64_t deadline_ns) {
    if (ILK_UNLIKELY(element_size != ring->element_size)) {
        ilk__mpmc_wrong_size("ilk_mpmc_push_until", ring, element_size);
    }
    if (ILK_LIKELY(ilk_mpmc_try_push(ring, element, element_size))) {
        return ILK_OK;
    }
    return ilk__mpmc_push_slow(ring, element, element_size, deadline_ns);
}

static inline ilk_status ilk_mpmc_pop_until(ilk_mpmc *ring, void *element, size_t element_size,
                                            uint64_t deadline_ns) {
    if (ILK_UNLIKELY(element_size != ring->element_size)) {
        ilk__mpmc_wrong_size("ilk_mpmc_pop_until", ring, element_size);
    }
    if (ILK_LIKELY(ilk_mpmc_try_pop(ring, element, element_size))) {
        return ILK_OK;
    }
    return ilk__mpmc_pop_slow(ring, element, element_size, deadline_ns);
}

ILK_END_DECLARATIONS

#endif
