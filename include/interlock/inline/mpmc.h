/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout of ilk_mpmc and the fast paths of its single-element calls. Contracts are in
 * <interlock/mpmc.h>; batches, in-place access, overwriting, waiting and closing in
 * Sources/CCore/ring/mpmc.c.
 *
 * A position says which turn of the ring and which slot: it is (turn << index_bits | slot) << 1, where
 * index_bits is just enough for the capacity. Stepping past the last slot skips the unused numbers, so
 * a slot is found by a mask and no capacity costs a division. Bit 0 is 0 in a position; in `tail` it
 * means closed. Positions wrap after 2^63 of them, and comparing for equality is all that is done, but
 * for counting.
 *
 * sequences[slot], for the push at position p and the pop of its element:
 *     p                   free: the push at p may write the slot
 *     p | 1               full: the pop at p may read the slot
 *     p of the next turn  free again
 * Only the thread that claimed p, by moving tail or head past it, changes the slot and its number.
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
/* No position: a claim's answer when there is nothing to claim. */
#define ILK__MPMC_NONE UINT64_MAX

/* The words of waiters, one a side, from the low end:
 *   bits 0 to 23  threads that sleep or arm the hook, or are about to
 *   FENCED        "fence for real": this word has been other than 0 since a heavy fence that followed, so no
 *                 thread can still act on a 0 from before. Set by a thread about to sleep, after its heavy
 *                 fence; while it is up the next ones need only a fence of their own. Taken down by the
 *                 other side, once in a while when nobody waits; the count of TAKES goes back to 0 with it.
 *   ARMED         the hook is armed. Set by arm_pop or arm_push in its last step, taken down by the one of
 *                 the other side who then calls the hook.
 *   ARMING        a thread is in arm_pop or arm_push, or was. Taken down by the next one of the other side,
 *                 who calls nobody for it alone.
 *   TAKES         how often ARMED or ARMING was taken down: an arm that finds the count changed has lost its
 *                 ARMING. It starts at 0 again only while nobody arms, and has 2^37 numbers. */
#define ILK__MPMC_THREADS UINT64_C(0x0FFFFFF)
#define ILK__MPMC_FENCED UINT64_C(0x1000000)
#define ILK__MPMC_ARMED UINT64_C(0x2000000)
#define ILK__MPMC_ARMING UINT64_C(0x4000000)
#define ILK__MPMC_ONE_TAKE UINT64_C(0x8000000)
#define ILK__MPMC_TAKES (~(ILK__MPMC_ONE_TAKE - 1))
/* The event counts. Odd: a thread has been woken and has not looked yet; nobody else need be woken meanwhile. */
#define ILK__MPMC_UNDER_WAY UINT32_C(1)

struct ilk_mpmc {
    /* Constant after creation, but for the counts of waiters, which change only around sleeping: a line
     * that everyone keeps in their caches. */
    unsigned char *slots;
    ILK_ATOMIC(uint64_t) * stamps;
    size_t capacity;
    size_t element_size;
    uint64_t lap_step;                      /* from a position to the same slot's next */
    uint64_t skip;                          /* what the step from the last slot adds to ILK__MPMC_STEP */
    size_t group_mask;                      /* slots are fetched ahead in groups; see ring/mpmc.c */
    ILK_ATOMIC(uint64_t) consumers_waiting; /* see ILK__MPMC_THREADS */
    ILK_ATOMIC(uint64_t) producers_waiting;
    ilk_notify notify;
    void *notify_context;
    unsigned char separate_tail[ILK__RING_SEPARATION - 7 * sizeof(size_t) - 4 * sizeof(uint64_t)];

    ILK_ATOMIC(uint64_t) tail;      /* the next position to push at, and the closed bit; producers */
    ILK_ATOMIC(uint64_t) push_miss; /* the position of the last push that found no room; see ring/mpmc.c */
    ILK_ATOMIC(uint32_t) push_back_off; /* pauses before looking for room again */
    unsigned char separate_head[ILK__RING_SEPARATION - 2 * sizeof(uint64_t) - sizeof(uint32_t)];

    ILK_ATOMIC(uint64_t) head;         /* the next position to pop at; consumers */
    ILK_ATOMIC(uint64_t) pop_miss;     /* the position of the last pop that found nothing */
    ILK_ATOMIC(uint32_t) pop_back_off; /* pauses before looking for elements again */
    unsigned char separate_event_counts[ILK__RING_SEPARATION - 2 * sizeof(uint64_t) - sizeof(uint32_t)];

    /* What only those who wait use, and those who wake them. */
    ILK_ATOMIC(uint32_t) not_empty; /* words slept on; see ILK__MPMC_UNDER_WAY */
    ILK_ATOMIC(uint32_t) not_full;
    ILK_ATOMIC(uint32_t) consumers_failed_spins; /* see wait/spin.h */
    ILK_ATOMIC(uint32_t) producers_failed_spins;
    ILK_ATOMIC(uint64_t) consumers_epoch; /* when FENCED was last up for being taken down; see ring/mpmc.c */
    ILK_ATOMIC(uint64_t) producers_epoch;
    ILK_ATOMIC(uint32_t) hook_calls; /* see ring/hook.h */
    unsigned char separate_stamps[ILK__RING_SEPARATION - 2 * sizeof(uint64_t) - 5 * sizeof(uint32_t)];
};

ILK_COLD ILK_NORETURN void ilk__mpmc_wrong_size(const char *call, const ilk_mpmc *ring, size_t element_size);
/* Wakes one of those who wait for elements, or for room, unless one is under way already; it sees to the
 * others. */
ILK_COLD void ilk__mpmc_wake_consumers(ilk_mpmc *ring) ILK_NONBLOCKING;
ILK_COLD void ilk__mpmc_wake_producers(ilk_mpmc *ring) ILK_NONBLOCKING;
/* For a push that has the first slot of a group: asks for the lines of the next one. */
ILK_COLD void ilk__mpmc_fetch_ahead(const ilk_mpmc *ring, size_t slot) ILK_NONBLOCKING;
/* A claim whose first attempt did not succeed: the position, or ILK__MPMC_NONE when full, empty or closed. */
ILK_COLD uint64_t ilk__mpmc_claim_push_slow(ilk_mpmc *ring) ILK_NONBLOCKING;
ILK_COLD uint64_t ilk__mpmc_claim_pop_slow(ilk_mpmc *ring) ILK_NONBLOCKING;
/* The waiting calls, after one attempt in vain. */
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

/* Makes the element at a claimed position visible. Call ilk__mpmc_pushed afterwards. */
static inline void ilk__mpmc_publish(ilk_mpmc *ring, uint64_t position) ILK_NONBLOCKING {
    /* MP4 release, pairs with MP1. See there. */
    ilk_atomic_store(&ring->stamps[ilk__mpmc_slot(ring, position)], position | ILK__MPMC_FULL,
                     memory_order_release);
}

/* Gives the slot at a claimed position back. Call ilk__mpmc_popped afterwards. */
static inline void ilk__mpmc_give_back(ilk_mpmc *ring, uint64_t position) ILK_NONBLOCKING {
    /* MP5 release, pairs with MP1. See there. */
    ilk_atomic_store(&ring->stamps[ilk__mpmc_slot(ring, position)], position + ring->lap_step,
                     memory_order_release);
}

/* After publishing elements: wakes those who wait for them. */
static inline void ilk__mpmc_pushed(ilk_mpmc *ring) ILK_NONBLOCKING {
    /* The light fence pairs with the heavy one of a consumer going to sleep (mpmc.c). Forbids: we publish
     * and find nobody and no FENCED, while it counts itself in and misses the element. */
    ilk__fence_light();
    /* MP6 relaxed: ordered by that fence, or looked at again behind MP15. */
    if (ILK_UNLIKELY(ilk_atomic_load(&ring->consumers_waiting, memory_order_relaxed) != 0)) {
        ilk__mpmc_wake_consumers(ring);
    }
}

/* After giving slots back: wakes those who wait for room. As ilk__mpmc_pushed. */
static inline void ilk__mpmc_popped(ilk_mpmc *ring) ILK_NONBLOCKING {
    ilk__fence_light();
    if (ILK_UNLIKELY(ilk_atomic_load(&ring->producers_waiting, memory_order_relaxed) != 0)) { /* MP6 */
        ilk__mpmc_wake_producers(ring);
    }
}

/* The single-element calls attempt their claim once in line; all that may come of it otherwise is one call,
 * out of line. The constants are read before the slot's number: an acquire has everything read again that
 * follows it. */

ILK_ALWAYS_INLINE bool ilk_mpmc_try_push(ilk_mpmc *ring, const void *element, size_t element_size)
    ILK_NONBLOCKING {
    if (ILK_UNLIKELY(element_size != ring->element_size)) {
        ilk__mpmc_wrong_size("ilk_mpmc_try_push", ring, element_size);
    }
    unsigned char *const slots = ring->slots;
    ILK_ATOMIC(uint64_t) *const stamps = ring->stamps;
    const uint64_t lap_step = ring->lap_step;
    /* MP2 relaxed: tail and head only deal out positions; MP1 carries the data. A stale value is found
     * out by the compare-and-swap, and before full or empty is answered by looking again. */
    uint64_t position = ilk_atomic_load(&ring->tail, memory_order_relaxed);
    size_t slot = (size_t)((position & (lap_step - 1)) >> 1);
    const uint64_t next = ilk__mpmc_next(ring, position);
    /* No slot has the number of a closed tail: that is one where the push at it is done, and it never will
     * be. So the first comparison also tells that the ring is open. */
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
