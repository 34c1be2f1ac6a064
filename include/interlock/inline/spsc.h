/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout of ilk_spsc and the fast paths of its single-element calls. Contracts are in <interlock/spsc.h>,
 * the rest of these calls and the others in Sources/CCore/ring/spsc*.c; docs/rings.md draws the protocol.
 *
 * A fast path is inlined and has few stores. They wait in the store buffer until their cache line has come over
 * from the other core; the fewer there are, the more lines are under way at once. So no call gets the element's
 * address: compilers would keep the element in memory. And a slow path ends in a call of its own: compilers would
 * join it to the fast one, which then saves registers. docs/rings.md has the figures.
 *
 * If the capacity is a power of two, a mask gives the slot. If not, each side keeps the counter at which its
 * lap of the ring began, and moves it on by comparison: no division.
 *
 * A side decides to sleep behind a heavy fence (membarrier(2)), so a light fence, a compiler barrier, is enough
 * between the other side's publication and its look at the flags. docs/rings.md has what holds where the kernel
 * refuses membarrier.
 */
#ifndef INTERLOCK_INLINE_SPSC_H
#define INTERLOCK_INLINE_SPSC_H

#include <interlock/inline/atomic.h>
#include <interlock/inline/ring.h>
#include <interlock/spsc.h>
#include <string.h>

ILK_BEGIN_DECLARATIONS

/* flags. Both sides read them after every publication; written when a thread sleeps, arms or closes.
 *   CONSUMER_SLEEPS  set by the consumer before it parks; cleared by itself or the thread that wakes it.
 *   CONSUMER_ARMING  set as arm_pop begins; cleared as it ends, or by the producer, which then calls nothing.
 *   CONSUMER_ARMED   set by arm_pop in place of ARMING, if that is still up; cleared by the producer or
 *                    closer, which then calls the hook.
 *   CONSUMER_FENCED  set by the consumer with SLEEPS or ARMING, before its heavy fence. While it is up the producer
 *                    decides behind a fence, and the consumer needs only a fence of its own. Cleared by the
 *                    producer, once in 1,024 elements if the consumer does not wait; never without membarrier,
 *                    where it is up from the creation.
 *   CONSUMER_WATCHED set by a wait set that waits for elements, on any thread; cleared by the producer or closer, which
 *                    then notifies every set that watches the side.
 *   CONSUMER_WATCH_FENCED
 *                    set by the producer with that step: it decides behind a fence from then on, and the sets need only
 *                    fences of their own. Cleared with CONSUMER_FENCED. Not the same flag: of several threads that
 *                    raise one before their heavy fence, the second would rely on a fence that is not done yet.
 *   PRODUCER_…       the same for the other side.
 *   ALWAYS_FENCED    set at creation where membarrier is missing, for good: what close races with fences too.
 *   CLOSED           set by close, first. Later pushes fail.
 *   DRAINABLE        set by close after that fence. Pops may conclude that nothing follows.
 *   LAST_PUSH        set by a push that met CLOSED halfway, to count.
 *   SEALED           set by a consumer that found the ring drained. The first of LAST_PUSH and SEALED decides
 *                    whether that push happened. */
#define ILK__SPSC_CONSUMER_SLEEPS UINT32_C(0x01)
#define ILK__SPSC_PRODUCER_SLEEPS UINT32_C(0x02)
#define ILK__SPSC_CLOSED UINT32_C(0x04)
#define ILK__SPSC_DRAINABLE UINT32_C(0x08)
#define ILK__SPSC_LAST_PUSH UINT32_C(0x10)
#define ILK__SPSC_SEALED UINT32_C(0x20)
#define ILK__SPSC_CONSUMER_ARMED UINT32_C(0x40)
#define ILK__SPSC_PRODUCER_ARMED UINT32_C(0x80)
#define ILK__SPSC_CONSUMER_FENCED UINT32_C(0x100)
#define ILK__SPSC_PRODUCER_FENCED UINT32_C(0x200)
#define ILK__SPSC_CONSUMER_ARMING UINT32_C(0x400)
#define ILK__SPSC_PRODUCER_ARMING UINT32_C(0x800)
#define ILK__SPSC_ALWAYS_FENCED UINT32_C(0x1000)
#define ILK__SPSC_CONSUMER_WATCHED UINT32_C(0x2000)
#define ILK__SPSC_PRODUCER_WATCHED UINT32_C(0x4000)
#define ILK__SPSC_CONSUMER_WATCH_FENCED UINT32_C(0x8000)
#define ILK__SPSC_PRODUCER_WATCH_FENCED UINT32_C(0x10000)
/* Send a consumer that gives slots back to its slow path; the other flags, a producer that publishes. */
#define ILK__SPSC_PRODUCER_WAITS                                                                             \
    (ILK__SPSC_PRODUCER_SLEEPS | ILK__SPSC_PRODUCER_ARMING | ILK__SPSC_PRODUCER_ARMED |                      \
     ILK__SPSC_PRODUCER_FENCED | ILK__SPSC_PRODUCER_WATCHED | ILK__SPSC_PRODUCER_WATCH_FENCED)

/* Values of push_back_off while a reservation is open, and of pop_back_off while elements are shown; no
 * back-off is as long. Misused pushes and pops (F) back off by them, and are reported there (docs/rings.md).
 * …_kept has what the fields held before. */
#define ILK__SPSC_RESERVED UINT32_MAX
#define ILK__SPSC_SHOWN (UINT32_MAX - 1)

struct ilk_spsc {
    /* Constant after creation but for the flags: a cache line that both cores keep. */
    unsigned char *slots;
    size_t capacity;
    size_t mask; /* capacity - 1 where capacity is a power of two */
    size_t element_size;
    size_t masked_size; /* element_size where capacity is a power of two; else SIZE_MAX */
    ilk_notify notify;
    void *notify_context;
    ILK_ATOMIC(uint32_t) flags;
    ILK_ATOMIC(uint32_t) hook_calls; /* see ring/hook.h */
    ILK_ATOMIC(uint32_t) watchers;   /* members of wait sets that the ring is */
    unsigned char separate_producer[ILK__RING_SEPARATION - 7 * sizeof(size_t) - 3 * sizeof(uint32_t)];

    /* The producer's. The consumer reads tail and reserved only. */
    ILK_ATOMIC(uint64_t) tail; /* elements ever pushed */
    uint64_t push_limit;       /* the tail without room: the capacity and the head this side knows */
    uint64_t tail_lap;         /* the tail at which the lap began; where capacity is no power of two */
    size_t reserved_count;
    ILK_ATOMIC(uint32_t) reserved; /* 1 while a reservation is open */
    uint32_t push_failed_spins;    /* see wait/spin.h */
    uint32_t push_back_off;        /* pauses before the next probe for room; see ring/backoff.h */
    uint32_t push_back_off_kept;   /* see ILK__SPSC_RESERVED */
    uint64_t push_limit_kept;
    uint64_t push_epoch; /* when it last tried to clear CONSUMER_FENCED; see wait/fenced.h */
    unsigned char separate_consumer[ILK__RING_SEPARATION - 5 * sizeof(uint64_t) - sizeof(size_t) -
                                    4 * sizeof(uint32_t)];

    /* The consumer's. The producer reads head only. */
    ILK_ATOMIC(uint64_t) head;  /* elements ever popped */
    uint64_t tail_seen;         /* the tail this side knows: at most the real one */
    uint64_t head_lap;          /* as tail_lap */
    uint64_t shown;             /* head once all that peek has shown is released */
    uint64_t shown_from;        /* head as peek or release left it; differs once a pop has come between */
    uint32_t pop_failed_spins;  /* see wait/spin.h */
    uint32_t pop_back_off;      /* as push_back_off, for elements */
    uint32_t sealed;            /* 1: this side sealed the ring, and does not read tail again */
    uint32_t pop_back_off_kept; /* see ILK__SPSC_SHOWN */
    uint64_t tail_seen_kept;
    uint64_t pop_epoch; /* as push_epoch, for PRODUCER_FENCED */
    unsigned char separate_slots[ILK__RING_SEPARATION - 7 * sizeof(uint64_t) - 4 * sizeof(uint32_t)];
};

/* The producer's, then the consumer's. Whether there is room for one, or an element, where a fast path could not
 * tell; reports misuse. */
bool ilk__spsc_has_room_slow(ilk_spsc *ring, size_t element_size) ILK_NONBLOCKING;
bool ilk__spsc_has_element_slow(ilk_spsc *ring, size_t element_size) ILK_NONBLOCKING;
/* Wait until there is room for one, or an element. */
ILK_COLD ilk_status ilk__spsc_await_room_slow(ilk_spsc *ring, size_t element_size, uint64_t deadline_ns);
ILK_COLD ilk_status ilk__spsc_await_element_slow(ilk_spsc *ring, size_t element_size, uint64_t deadline_ns);
/* The producer's: publishes the element that it has copied in. Whether it counts, which a close decides. */
bool ilk__spsc_publish_slow(ilk_spsc *ring) ILK_NONBLOCKING;
/* The consumer's: gives back the slot of the element that it has copied out. */
void ilk__spsc_give_back_slow(ilk_spsc *ring) ILK_NONBLOCKING;
/* The producer's, with a flag set: wakes, or decides the race with close. The number pushed. */
ILK_COLD size_t ilk__spsc_pushed_slow(ilk_spsc *ring, size_t count) ILK_NONBLOCKING;
/* The consumer's, with a flag set: wakes. */
ILK_COLD void ilk__spsc_popped_slow(ilk_spsc *ring) ILK_NONBLOCKING;

/* The consumer's, after a pop or a peek that found nothing: whether none will come. */
static inline bool ilk__spsc_is_drained(const ilk_spsc *ring) ILK_NONBLOCKING {
    return ring->sealed != 0;
}

/* What a fast path can tell of an attempt. */
typedef enum { ILK__SPSC_GOES, ILK__SPSC_FAILS, ILK__SPSC_UNKNOWN } ilk__spsc_answer;

static inline uint32_t ilk__spsc_flags(const ilk_spsc *ring) ILK_NONBLOCKING {
    /* SP1 relaxed: a hint. Before a push it only refuses early; after a publication the fence on this thread of
     * the side that raised a flag orders it; SP9 to SP12 decide. */
    return ilk_atomic_load(&ring->flags, memory_order_relaxed);
}

/* The caller's size: where that is constant, so is the multiplication. */
static inline unsigned char *ilk__spsc_slot(const ilk_spsc *ring, size_t slot, size_t element_size)
    ILK_NONBLOCKING {
    return ring->slots + slot * element_size;
}

/* The slot in a ring whose capacity is no power of two. `lap` belongs to the side that counts by `counter`, which has
 * moved by the capacity at most. */
static inline size_t ilk__spsc_place_in_lap(const ilk_spsc *ring, uint64_t counter, uint64_t *lap)
    ILK_NONBLOCKING {
    size_t place = (size_t)(counter - *lap);
    if (place >= ring->capacity) {
        place -= ring->capacity;
        *lap += ring->capacity;
    }
    return place;
}

/* The number of the slot at `counter`; false, and 0: the size is wrong. Of a constant size one comparison tells
 * that it is right, and that a mask gives the slot. */
ILK_ALWAYS_INLINE bool ilk__spsc_find_place(const ilk_spsc *ring, uint64_t counter, uint64_t *lap,
                                            size_t element_size, size_t *place) ILK_NONBLOCKING {
    if (ILK_LIKELY(element_size == ring->masked_size && element_size != SIZE_MAX)) {
        *place = (size_t)counter & ring->mask;
        return true;
    }
    if (ILK_LIKELY(element_size == ring->element_size)) {
        *place = ilk__spsc_place_in_lap(ring, counter, lap);
        return true;
    }
    *place = 0;
    return false;
}

/* Whether a probe that found `found` elements or slots, behind no back-off, begins one: see ring/backoff.h. */
static inline bool ilk__spsc_begins_back_off(const ilk_spsc *ring, uint64_t found) ILK_NONBLOCKING {
    return found > 1 && found < ring->capacity / 4;
}

/* Probes head where no free slot is known. */
ILK_ALWAYS_INLINE ilk__spsc_answer ilk__spsc_can_push(ilk_spsc *ring, uint64_t tail, size_t element_size,
                                                      size_t *place) ILK_NONBLOCKING {
    if (!ilk__spsc_find_place(ring, tail, &ring->tail_lap, element_size, place) ||
        ILK_UNLIKELY((ilk__spsc_flags(ring) & ILK__SPSC_CLOSED) != 0)) {
        return ILK__SPSC_UNKNOWN;
    }
    if (ILK_SELDOM(ring->push_limit == tail)) {
        if (ring->push_back_off != 0) {
            return ILK__SPSC_UNKNOWN;
        }
        /* SP2 acquire, pairs with SP6 (release, popped).
         * Carries: the consumer has finished reading the slots it gave back.
         * If weaker: we overwrite a slot still being read. */
        const uint64_t limit = ilk_atomic_load(&ring->head, memory_order_acquire) + ring->capacity;
        if (ilk__spsc_begins_back_off(ring, limit - tail)) {
            return ILK__SPSC_UNKNOWN;
        }
        ring->push_limit = limit;
        return limit == tail ? ILK__SPSC_FAILS : ILK__SPSC_GOES;
    }
    return ILK__SPSC_GOES;
}

/* Likewise of elements, by tail. */
ILK_ALWAYS_INLINE ilk__spsc_answer ilk__spsc_can_pop(ilk_spsc *ring, uint64_t head, size_t element_size,
                                                     size_t *place) ILK_NONBLOCKING {
    if (!ilk__spsc_find_place(ring, head, &ring->head_lap, element_size, place)) {
        return ILK__SPSC_UNKNOWN;
    }
    if (ILK_SELDOM(ring->tail_seen == head)) {
        if (ring->pop_back_off != 0 || ILK_UNLIKELY((ilk__spsc_flags(ring) & ILK__SPSC_DRAINABLE) != 0)) {
            return ILK__SPSC_UNKNOWN;
        }
        /* SP3 acquire, pairs with SP5 (pushed).
         * Carries: the elements before it.
         * If weaker: we read a slot before its element arrives. */
        const uint64_t tail = ilk_atomic_load(&ring->tail, memory_order_acquire);
        if (ilk__spsc_begins_back_off(ring, tail - head)) {
            return ILK__SPSC_UNKNOWN;
        }
        ring->tail_seen = tail;
        return tail == head ? ILK__SPSC_FAILS : ILK__SPSC_GOES;
    }
    return ILK__SPSC_GOES;
}

/* The number pushed: all, unless a close came first. */
ILK_ALWAYS_INLINE size_t ilk__spsc_publish(ilk_spsc *ring, uint64_t tail, size_t count) ILK_NONBLOCKING {
    /* SP5 release, pairs with SP3 and SP19: the elements are in their slots before tail passes them. */
    ilk_atomic_store(&ring->tail, tail + count, memory_order_release);
    /* A light fence: pairs with the heavy fence of a consumer going to sleep, and of close.
     * Forbids: we publish and miss the flag; the other side sets it and misses the element. */
    ilk_compiler_fence();
    if (ILK_UNLIKELY((ilk__spsc_flags(ring) & ~ILK__SPSC_PRODUCER_WAITS) != 0)) {
        return ilk__spsc_pushed_slow(ring, count);
    }
    return count;
}

ILK_ALWAYS_INLINE void ilk__spsc_give_back(ilk_spsc *ring, uint64_t head, size_t count) ILK_NONBLOCKING {
    /* SP6 release, pairs with SP2 and SP19. See SP2. */
    ilk_atomic_store(&ring->head, head + count, memory_order_release);
    ilk_compiler_fence(); /* as in publish */
    if (ILK_UNLIKELY((ilk__spsc_flags(ring) & ILK__SPSC_PRODUCER_WAITS) != 0)) {
        ilk__spsc_popped_slow(ring);
    }
}

static inline void ilk__spsc_copy_in(ilk_spsc *ring, size_t place, const void *element, size_t element_size)
    ILK_NONBLOCKING {
    unsigned char *slot = ilk__spsc_slot(ring, place, element_size);
    ilk_plain_write(slot, element_size);
    memcpy(slot, element, element_size);
}

static inline void ilk__spsc_copy_out(const ilk_spsc *ring, size_t place, void *element, size_t element_size)
    ILK_NONBLOCKING {
    const unsigned char *slot = ilk__spsc_slot(ring, place, element_size);
    ilk_plain_read(slot, element_size);
    memcpy(element, slot, element_size);
}

ILK_ALWAYS_INLINE bool ilk_spsc_try_push(ilk_spsc *ring, const void *element, size_t element_size)
    ILK_NONBLOCKING {
    /* SP4 relaxed: the producer's own counter. */
    const uint64_t tail = ilk_atomic_load(&ring->tail, memory_order_relaxed);
    size_t place;
    const ilk__spsc_answer answer = ilk__spsc_can_push(ring, tail, element_size, &place);
    if (ILK_LIKELY(answer == ILK__SPSC_GOES)) {
        ilk__spsc_copy_in(ring, place, element, element_size);
        return ilk__spsc_publish(ring, tail, 1) == 1;
    }
    if (answer == ILK__SPSC_FAILS || !ilk__spsc_has_room_slow(ring, element_size)) {
        return false;
    }
    ilk__spsc_copy_in(ring, place, element, element_size);
    return ilk__spsc_publish_slow(ring);
}

ILK_ALWAYS_INLINE bool ilk_spsc_try_pop(ilk_spsc *ring, void *element, size_t element_size) ILK_NONBLOCKING {
    /* SP7 relaxed: the consumer's own counter. */
    const uint64_t head = ilk_atomic_load(&ring->head, memory_order_relaxed);
    size_t place;
    const ilk__spsc_answer answer = ilk__spsc_can_pop(ring, head, element_size, &place);
    if (ILK_LIKELY(answer == ILK__SPSC_GOES)) {
        ilk__spsc_copy_out(ring, place, element, element_size);
        ilk__spsc_give_back(ring, head, 1);
        return true;
    }
    if (answer == ILK__SPSC_FAILS || !ilk__spsc_has_element_slow(ring, element_size)) {
        return false;
    }
    ilk__spsc_copy_out(ring, place, element, element_size);
    ilk__spsc_give_back_slow(ring);
    return true;
}

ILK_ALWAYS_INLINE ilk_status ilk_spsc_push_until(ilk_spsc *ring, const void *element, size_t element_size,
                                                 uint64_t deadline_ns) {
    const uint64_t tail = ilk_atomic_load(&ring->tail, memory_order_relaxed); /* SP4 */
    size_t place;
    if (ILK_LIKELY(ilk__spsc_can_push(ring, tail, element_size, &place) == ILK__SPSC_GOES)) {
        ilk__spsc_copy_in(ring, place, element, element_size);
        return ilk__spsc_publish(ring, tail, 1) == 1 ? ILK_OK : ILK_CLOSED;
    }
    const ilk_status status = ilk__spsc_await_room_slow(ring, element_size, deadline_ns);
    if (status != ILK_OK) {
        return status;
    }
    ilk__spsc_copy_in(ring, place, element, element_size);
    return ilk__spsc_publish_slow(ring) ? ILK_OK : ILK_CLOSED;
}

ILK_ALWAYS_INLINE ilk_status ilk_spsc_pop_until(ilk_spsc *ring, void *element, size_t element_size,
                                                uint64_t deadline_ns) {
    const uint64_t head = ilk_atomic_load(&ring->head, memory_order_relaxed); /* SP7 */
    size_t place;
    if (ILK_LIKELY(ilk__spsc_can_pop(ring, head, element_size, &place) == ILK__SPSC_GOES)) {
        ilk__spsc_copy_out(ring, place, element, element_size);
        ilk__spsc_give_back(ring, head, 1);
        return ILK_OK;
    }
    const ilk_status status = ilk__spsc_await_element_slow(ring, element_size, deadline_ns);
    if (status == ILK_OK) {
        ilk__spsc_copy_out(ring, place, element, element_size);
        ilk__spsc_give_back_slow(ring);
    }
    return status;
}

ILK_END_DECLARATIONS

#endif
