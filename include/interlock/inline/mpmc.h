/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout of ilk_mpmc and the fast paths of its single-element calls. Contracts are in <interlock/mpmc.h>,
 * the other calls in Sources/CCore/ring/mpmc*.c; docs/rings.md draws the protocol.
 *
 * A position is (lap << index_bits | slot) << 1, with index_bits just enough for the capacity. The step from
 * the last slot skips the unused values: a mask finds the slot, and no capacity costs a division. Bit 0 is 0;
 * in `tail` it means closed. Positions wrap after 2^63; but for counting, they are only compared for
 * equality.
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
#include <interlock/inline/ring.h>
#include <interlock/mpmc.h>
#include <string.h>

ILK_BEGIN_DECLARATIONS

#define ILK__MPMC_CLOSED UINT64_C(1)
#define ILK__MPMC_FULL UINT64_C(1)
#define ILK__MPMC_STEP UINT64_C(2)
/* The answer of a claim that found none. */
#define ILK__MPMC_NONE UINT64_MAX

/* consumers_waiting and producers_waiting, from the low end:
 *   bits 0 to 23  threads that sleep or are in an arm call, or are about to
 *   FENCED        the word has not been 0 since before a heavy fence: no thread can still act on an older 0.
 *                 Set by a waiter after that fence; the next waiters need only a fence of their own.
 *                 Cleared with TAKES by the other side, once in 1,024 positions if no thread waits and the
 *                 side is not armed; never where membarrier is refused. Up from the creation where it is
 *                 missing.
 *   ARMED         the hook is armed. Set by the last step of an arm; cleared by the thread that then calls
 *                 the hook.
 *   ARMING        a thread is, or was, in an arm call. Cleared by the next thread of the other side, which
 *                 calls nothing.
 *   WATCHED       a wait set waits. Set by it before it probes; cleared by the next thread of the other side, which
 *                 notifies every set that watches this one.
 *   TAKES         how often ARMED or ARMING was taken down: an arm that finds it changed has lost its ARMING. 2^36
 *                 values, from 0 again only while no thread arms. */
#define ILK__MPMC_THREADS UINT64_C(0x0FFFFFF)
#define ILK__MPMC_FENCED UINT64_C(0x1000000)
#define ILK__MPMC_ARMED UINT64_C(0x2000000)
#define ILK__MPMC_ARMING UINT64_C(0x4000000)
#define ILK__MPMC_WATCHED UINT64_C(0x8000000)
#define ILK__MPMC_ONE_TAKE UINT64_C(0x10000000)
#define ILK__MPMC_TAKES (~(ILK__MPMC_ONE_TAKE - 1))
/* The lowest bit of an event count's epoch. Odd: a wake-up is under way, not yet acknowledged; no other is sent. */
#define ILK__MPMC_WAKE_PENDING UINT32_C(1)

/* A struct: Swift's importer says of each pointer to a bare atomic that it does not know the type. */
struct ilk__slot_stamp {
    ILK_ATOMIC(uint64_t) word;
};

struct ilk_mpmc {
    /* Constant after creation, but for the words of waiters, which change only around sleeping: a cache line
     * that every core keeps. */
    unsigned char *slots;
    struct ilk__slot_stamp *stamps;
    size_t capacity;
    size_t element_size;
    uint64_t lap_step;                      /* from a position to the same slot's in the next lap */
    uint64_t skip;                          /* what the step from the last slot adds */
    size_t group_mask;                      /* of a group to fetch ahead; see ring/prefetch.h */
    ILK_ATOMIC(uint64_t) consumers_waiting; /* see ILK__MPMC_THREADS */
    ILK_ATOMIC(uint64_t) producers_waiting;
    ilk_notify notify;
    void *notify_context;
    unsigned char separate_tail[ILK__RING_SEPARATION - 7 * sizeof(size_t) - 4 * sizeof(uint64_t)];

    ILK_ATOMIC(uint64_t) tail;          /* the next position to push at, and the closed bit; producers */
    ILK_ATOMIC(uint64_t) push_miss;     /* of the last push that found no room; see ring/backoff.h */
    ILK_ATOMIC(uint32_t) push_back_off; /* pauses before the next probe */
    unsigned char separate_head[ILK__RING_SEPARATION - 2 * sizeof(uint64_t) - sizeof(uint32_t)];

    ILK_ATOMIC(uint64_t) head;     /* the next position to pop at; consumers */
    ILK_ATOMIC(uint64_t) pop_miss; /* of the last that found nothing */
    ILK_ATOMIC(uint32_t) pop_back_off;
    unsigned char separate_event_counts[ILK__RING_SEPARATION - 2 * sizeof(uint64_t) - sizeof(uint32_t)];

    /* Used by waiters and the threads that wake them. */
    ILK_ATOMIC(uint32_t) not_empty; /* the event counts' epochs, which waiters park on */
    ILK_ATOMIC(uint32_t) not_full;
    ILK_ATOMIC(uint32_t) consumers_failed_spins; /* see wait/spin.h */
    ILK_ATOMIC(uint32_t) producers_failed_spins;
    ILK_ATOMIC(uint64_t) consumers_epoch; /* when clearing FENCED was last tried; see wait/fenced.h */
    ILK_ATOMIC(uint64_t) producers_epoch;
    ILK_ATOMIC(uint32_t) hook_calls; /* see ring/hook.h */
    ILK_ATOMIC(uint32_t) watchers;   /* members of wait sets that the ring is */
    unsigned char separate_stamps[ILK__RING_SEPARATION - 2 * sizeof(uint64_t) - 6 * sizeof(uint32_t)];
};

ILK_COLD ILK_NORETURN void ilk__mpmc_wrong_size(const char *call, const ilk_mpmc *ring, size_t element_size);
/* With the word of waiters not 0: wakes one unless a wake-up is under way; calls an armed hook. */
ILK_COLD void ilk__mpmc_wake_consumers(ilk_mpmc *ring) ILK_NONBLOCKING;
ILK_COLD void ilk__mpmc_wake_producers(ilk_mpmc *ring) ILK_NONBLOCKING;
/* By the push at the first slot of a group: fetches the next group's cache lines. */
ILK_COLD void ilk__mpmc_fetch_ahead(const ilk_mpmc *ring, size_t slot) ILK_NONBLOCKING;
/* After a failed attempt: the position, or ILK__MPMC_NONE when full, empty or closed. */
ILK_COLD uint64_t ilk__mpmc_claim_push_slow(ilk_mpmc *ring) ILK_NONBLOCKING;
ILK_COLD uint64_t ilk__mpmc_claim_pop_slow(ilk_mpmc *ring) ILK_NONBLOCKING;
/* After one failed attempt. */
ILK_COLD ilk_status ilk__mpmc_push_slow(ilk_mpmc *ring, const void *element, size_t element_size,
                                        uint64_t deadline_ns);
ILK_COLD ilk_status ilk__mpmc_pop_slow(ilk_mpmc *ring, void *element, size_t element_size,
                                       uint64_t deadline_ns);

static inline size_t ilk__mpmc_slot(const ilk_mpmc *ring, uint64_t position) ILK_NONBLOCKING {
    return (size_t)((position & (ring->lap_step - 1)) >> 1);
}

static inline uint64_t ilk__mpmc_next(const ilk_mpmc *ring, uint64_t position) ILK_NONBLOCKING {
    uint64_t skip = ilk__mpmc_slot(ring, position) == ring->capacity - 1 ? ring->skip : 0;
    return position + ILK__MPMC_STEP + skip;
}

/* The caller's size: where that is constant, so is the multiplication. */
static inline unsigned char *ilk__mpmc_element(const ilk_mpmc *ring, uint64_t position, size_t element_size)
    ILK_NONBLOCKING {
    return ring->slots + ilk__mpmc_slot(ring, position) * element_size;
}

static inline uint64_t ilk__mpmc_stamp(const ilk_mpmc *ring, uint64_t position) ILK_NONBLOCKING {
    /* MP1 acquire, pairs with MP4 and MP5.
     * Carries: the element, or that its reader has finished.
     * If weaker: we read a slot before its element arrives, or overwrite one still being read. */
    return ilk_atomic_load(&ring->stamps[ilk__mpmc_slot(ring, position)].word, memory_order_acquire);
}

/* ilk__mpmc_pushed must follow. */
static inline void ilk__mpmc_publish(ilk_mpmc *ring, uint64_t position) ILK_NONBLOCKING {
    /* MP4 release, pairs with MP1: the element is in its slot before the stamp says FULL. */
    ilk_atomic_store(&ring->stamps[ilk__mpmc_slot(ring, position)].word, position | ILK__MPMC_FULL,
                     memory_order_release);
}

/* ilk__mpmc_popped must follow. */
static inline void ilk__mpmc_give_back(ilk_mpmc *ring, uint64_t position) ILK_NONBLOCKING {
    /* MP5 release, pairs with MP1: we have read the slot before its stamp gives it back. */
    ilk_atomic_store(&ring->stamps[ilk__mpmc_slot(ring, position)].word, position + ring->lap_step,
                     memory_order_release);
}

static inline void ilk__mpmc_pushed(ilk_mpmc *ring) ILK_NONBLOCKING {
    /* A light fence: pairs with the heavy fence of a consumer going to sleep (mpmc_wait.c).
     * Forbids: we publish and read 0; the consumer registers and misses the element. */
    ilk_compiler_fence();
    /* MP6 relaxed: ordered by that fence, or read again behind EC2. */
    if (ILK_UNLIKELY(ilk_atomic_load(&ring->consumers_waiting, memory_order_relaxed) != 0)) {
        ilk__mpmc_wake_consumers(ring);
    }
}

/* What ilk__mpmc_pushed does, for the other side. */
static inline void ilk__mpmc_popped(ilk_mpmc *ring) ILK_NONBLOCKING {
    ilk_compiler_fence();
    if (ILK_UNLIKELY(ilk_atomic_load(&ring->producers_waiting, memory_order_relaxed) != 0)) { /* MP6 */
        ilk__mpmc_wake_producers(ring);
    }
}

/* A claim is attempted once in line; the rest is one call. The ring's constants are read before the slot's
 * stamp: compilers read them again after an acquire. */

ILK_ALWAYS_INLINE bool ilk_mpmc_try_push(ilk_mpmc *ring, const void *element, size_t element_size)
    ILK_NONBLOCKING {
    if (ILK_UNLIKELY(element_size != ring->element_size)) {
        ilk__mpmc_wrong_size("ilk_mpmc_try_push", ring, element_size);
    }
    unsigned char *const slots = ring->slots;
    struct ilk__slot_stamp *const stamps = ring->stamps;
    const uint64_t lap_step = ring->lap_step;
    /* MP2 relaxed: tail and head only hand out positions; MP1 carries the data. The compare-and-swap refuses
     * a stale value; full and empty are answered after a recheck. */
    uint64_t position = ilk_atomic_load(&ring->tail, memory_order_relaxed);
    size_t slot = (size_t)((position & (lap_step - 1)) >> 1);
    const uint64_t next = ilk__mpmc_next(ring, position);
    /* No slot has the stamp of a closed tail, which is odd: a stamp is only once the push at its position is
     * done. So this comparison tells that the ring is open. */
    if (ILK_UNLIKELY(ilk_atomic_load(&stamps[slot].word, memory_order_acquire) != position) || /* MP1 */
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
    ilk_atomic_store(&stamps[slot].word, position | ILK__MPMC_FULL, memory_order_release); /* MP4 */
    ilk__mpmc_pushed(ring);
    return true;
}

ILK_ALWAYS_INLINE bool ilk_mpmc_try_pop(ilk_mpmc *ring, void *element, size_t element_size) ILK_NONBLOCKING {
    if (ILK_UNLIKELY(element_size != ring->element_size)) {
        ilk__mpmc_wrong_size("ilk_mpmc_try_pop", ring, element_size);
    }
    const unsigned char *const slots = ring->slots;
    struct ilk__slot_stamp *const stamps = ring->stamps;
    const uint64_t lap_step = ring->lap_step;
    uint64_t position = ilk_atomic_load(&ring->head, memory_order_relaxed); /* MP2 */
    size_t slot = (size_t)((position & (lap_step - 1)) >> 1);
    const uint64_t next = ilk__mpmc_next(ring, position);
    if (ILK_UNLIKELY(ilk_atomic_load(&stamps[slot].word, memory_order_acquire) !=
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
    ilk_atomic_store(&stamps[slot].word, position + lap_step, memory_order_release); /* MP5 */
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
