/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mpmc beyond its inline fast paths: creation and destruction, claims, batches. See ring/mpmc.h.
 */
#include "ring/mpmc.h"

#include "diagnostics/misuse.h"
#include "diagnostics/names.h"
#include "diagnostics/rings.h"
#include "ring/allocate.h"
#include "ring/backoff.h"
#include "ring/copy.h"
#include "ring/prefetch.h"
#include "wait/event_count.h"
#include <stdlib.h>

_Static_assert(offsetof(struct ilk_mpmc, tail) == ILK__RING_SEPARATION, "tail is apart");
_Static_assert(offsetof(struct ilk_mpmc, head) == 2 * ILK__RING_SEPARATION, "head is apart");
_Static_assert(offsetof(struct ilk_mpmc, not_empty) == 3 * ILK__RING_SEPARATION,
               "the event counts are apart");
_Static_assert(sizeof(struct ilk_mpmc) == 4 * ILK__RING_SEPARATION, "the stamps are apart");
_Static_assert(ILK__MPMC_THREADS == ILK__EVENT_THREADS && ILK__MPMC_FENCED == ILK__EVENT_FENCED &&
                   ILK__MPMC_WAKE_PENDING == ILK__EVENT_WAKE_PENDING,
               "the event count's bits");

void ilk__mpmc_fetch_ahead(const ilk_mpmc *ring, size_t slot) ILK_NONBLOCKING {
    const size_t group = ring->group_mask + 1;
    const size_t next = (slot & ~ring->group_mask) + group;
    const size_t first = next < ring->capacity ? next : 0;
    if (group > 0 && ring->capacity - first >= group) {
        prefetch_for_writing(ring->stamps + first, group * sizeof *ring->stamps);
        prefetch_for_writing(ring->slots + first * ring->element_size, group * ring->element_size);
    }
}

/* ---- Creation and destruction ---- */

/* The header is followed by the stamps, then by the elements. */
static size_t header_size(size_t capacity) {
    return sizeof(struct ilk_mpmc) + capacity * sizeof(ILK_ATOMIC(uint64_t));
}

static size_t mpmc_depth(const void *ring) {
    return ilk_mpmc_count(ring);
}

ilk_status ilk_mpmc_create(ilk_mpmc **out, size_t capacity, size_t element_size) {
    if (capacity > ((size_t)PTRDIFF_MAX - sizeof(struct ilk_mpmc)) / sizeof(struct ilk__slot_stamp)) {
        return ILK_INVALID; /* the stamps alone exceed it */
    }
    void *memory;
    ilk_status status = ilk__ring_allocate(header_size(capacity), capacity, element_size, &memory);
    if (status != ILK_OK) {
        return status;
    }
    ilk_mpmc *ring = memory;
    memset(ring, 0, sizeof *ring);
    ring->stamps = (struct ilk__slot_stamp *)((unsigned char *)memory + sizeof *ring);
    ring->slots = (unsigned char *)memory + ilk__ring_elements_offset(header_size(capacity));
    ring->capacity = capacity;
    ring->element_size = element_size;
    ring->lap_step = ILK__MPMC_STEP;
    while (ring->lap_step / ILK__MPMC_STEP < capacity) {
        ring->lap_step *= 2;
    }
    ring->skip = ring->lap_step - capacity * ILK__MPMC_STEP;
    ring->group_mask = prefetch_group(capacity, element_size) - 1;
    for (size_t slot = 0; slot < capacity; slot++) {
        /* MP7 relaxed: not shared yet. */
        ilk_atomic_store(&ring->stamps[slot].word, slot * ILK__MPMC_STEP, memory_order_relaxed);
    }
    const uint64_t at_rest = ilk__event_at_rest();
    ilk_atomic_store(&ring->consumers_waiting, at_rest, memory_order_relaxed); /* MP7 */
    ilk_atomic_store(&ring->producers_waiting, at_rest, memory_order_relaxed); /* MP7 */
    if (ilk__diagnoses_all()) {
        ilk__ring_begin(ring, ILK_OBJECT_MPMC, capacity, mpmc_depth);
    }
    *out = ring;
    return ILK_OK;
}

ilk_status ilk_mpmc_observe(ilk_mpmc *ring, uint32_t what) {
    return ilk__ring_observe(ring, ILK_OBJECT_MPMC, what, ring->capacity, mpmc_depth);
}

/* Without claims every slot from head to tail is full, and from tail to head free. */
static bool has_open_claims(const ilk_mpmc *ring) {
    uint64_t position = ilk_atomic_load(&ring->head, memory_order_relaxed);                 /* MP2 */
    uint64_t tail = ilk_atomic_load(&ring->tail, memory_order_relaxed) & ~ILK__MPMC_CLOSED; /* MP2 */
    size_t count = distance(ring, tail, position);
    for (size_t index = 0; index < ring->capacity; index++) {
        if (ilk__mpmc_stamp(ring, position) != (index < count ? position | ILK__MPMC_FULL : position)) {
            return true;
        }
        position = ilk__mpmc_next(ring, position);
    }
    return false;
}

void ilk_mpmc_destroy(ilk_mpmc *ring) {
    if (ring == NULL) {
        return;
    }
    /* An armed hook is no waiter: destroying the ring gives it up. */
    uint64_t consumers =
        ilk_atomic_load(&ring->consumers_waiting, memory_order_relaxed) & ILK__MPMC_THREADS; /* MP6 */
    uint64_t producers =
        ilk_atomic_load(&ring->producers_waiting, memory_order_relaxed) & ILK__MPMC_THREADS; /* MP6 */
    if (consumers + producers > 0) {
        ilk__misuse("ilk_mpmc_destroy", ring, "destroyed while %u consumers and %u producers wait",
                    (unsigned)consumers, (unsigned)producers);
    }
    if (ilk_atomic_load(&ring->watchers, memory_order_relaxed) > 0) { /* MP26 */
        ilk__misuse("ilk_mpmc_destroy", ring, "destroyed while it is in a wait set");
    }
    if (has_open_claims(ring)) {
        ilk__misuse("ilk_mpmc_destroy", ring, "destroyed with slots reserved or shown and not given back");
    }
    ilk__object_forget(ring);
    ilk__name_forget(ring);
    free(ring);
}

void ilk__mpmc_wrong_size(const char *call, const ilk_mpmc *ring, size_t element_size) {
    ilk__misuse(call, ring, "an element of %zu bytes; the ring's are of %zu", element_size,
                ring->element_size);
}

/* ---- Claims of one slot ---- */

/* A thread that lost its slot to another steps back, longer each time (docs/rings.md): threads that claim at
 * once hand over their counter's cache line. A stamp tells how far the other side has got, not its counter,
 * whose line it needs most. */
enum { LONGEST_STEP_BACK = 32 }; /* chosen by bench rings, try */

static bool is_ready(const ilk_mpmc *ring, const struct claims *claims, uint64_t position) ILK_NONBLOCKING {
    return ilk__mpmc_stamp(ring, position) == (position | claims->state);
}

/* `count` is at most the capacity. */
static uint64_t ahead(const ilk_mpmc *ring, uint64_t position, size_t count) ILK_NONBLOCKING {
    uint64_t skip = ilk__mpmc_slot(ring, position) + count >= ring->capacity ? ring->skip : 0;
    return position + count * ILK__MPMC_STEP + skip;
}

/* After a probe that found nothing: false where no back-off is due. */
static bool back_off(ilk_mpmc *ring, const struct claims *claims, uint64_t position) ILK_NONBLOCKING {
    if (ring->capacity < SMALLEST_WITH_BACK_OFF) {
        return false;
    }
    /* MP21 relaxed: hints for how long to pause; one lost between threads does no harm. */
    const uint64_t missed = ilk_atomic_load(claims->miss, memory_order_relaxed);
    const uint32_t before = ilk_atomic_load(claims->back_off, memory_order_relaxed); /* MP21 */
    uint32_t pauses = before;
    if (position != missed) {
        ilk_atomic_store(claims->miss, position, memory_order_relaxed); /* MP21 */
        pauses = mpmc_back_off(before, distance(ring, position, missed));
    }
    pause_for(pauses);
    uint32_t after = pauses;
    if (pauses > 0) {
        const uint64_t far = ahead(ring, position, far_enough(ring->capacity));
        if (!is_ready(ring, claims, position) &&
            ilk_atomic_load(claims->counter, memory_order_relaxed) == position) { /* MP2 */
            after = 0;                                                            /* failed */
        } else if (!is_ready(ring, claims, far)) {
            after = longer_back_off(pauses, ring->capacity);
        }
    }
    if (after != before) {
        ilk_atomic_store(claims->back_off, after, memory_order_relaxed); /* MP21 */
    }
    return pauses > 0;
}

static uint64_t claim_one(ilk_mpmc *ring, const struct claims *claims) ILK_NONBLOCKING {
    uint32_t step_back = 1;
    bool backed_off = false;
    uint64_t position = ilk_atomic_load(claims->counter, memory_order_relaxed); /* MP2 */
    for (;;) {
        if ((position & ILK__MPMC_CLOSED) != 0) {
            return ILK__MPMC_NONE; /* tail only: head is never odd */
        }
        if (is_ready(ring, claims, position)) {
            if (ilk_atomic_compare_exchange_weak(claims->counter, &position, ilk__mpmc_next(ring, position),
                                                 memory_order_relaxed, memory_order_relaxed)) { /* MP2 */
                return position;
            }
            pause_for(step_back);
            step_back = step_back < LONGEST_STEP_BACK ? step_back * 2 : step_back;
            position = ilk_atomic_load(claims->counter, memory_order_relaxed); /* MP2 */
        } else {
            uint64_t now = ilk_atomic_load(claims->counter, memory_order_relaxed); /* MP2 */
            if (now == position) {
                if (backed_off || !back_off(ring, claims, position)) {
                    return ILK__MPMC_NONE;
                }
                backed_off = true;
                now = ilk_atomic_load(claims->counter, memory_order_relaxed); /* MP2 */
            }
            position = now;
        }
    }
}

uint64_t ilk__mpmc_claim_push_slow(ilk_mpmc *ring) ILK_NONBLOCKING {
    const struct claims pushes = pushes_of(ring);
    return claim_one(ring, &pushes);
}

uint64_t ilk__mpmc_claim_pop_slow(ilk_mpmc *ring) ILK_NONBLOCKING {
    const struct claims pops = pops_of(ring);
    return claim_one(ring, &pops);
}

/* ---- Claims of several slots ---- */

/* How many of `most` adjacent slots have the stamps from `stamp`, a step apart. */
static size_t count_ready(const struct ilk__slot_stamp *stamps, uint64_t stamp, size_t most) ILK_NONBLOCKING {
    size_t count = 0;
    while (count < most && ilk_atomic_load(&stamps[count].word, memory_order_acquire) == stamp) { /* MP1 */
        count++;
        stamp += ILK__MPMC_STEP;
    }
    return count;
}

/* From the last one: a thread that comes for the first finds all. Else the batches of a full ring break up
 * into single elements. */
static void stamp_slots(struct ilk__slot_stamp *stamps, uint64_t stamp, size_t count) ILK_NONBLOCKING {
    stamp += count * ILK__MPMC_STEP;
    while (count-- > 0) {
        stamp -= ILK__MPMC_STEP;
        ilk_atomic_store(&stamps[count].word, stamp, memory_order_release); /* MP4, MP5 */
    }
}

size_t ilk__mpmc_claim_many(ilk_mpmc *ring, const struct claims *claims, size_t wanted, bool to_end,
                            uint64_t *position) ILK_NONBLOCKING {
    uint64_t first = ilk_atomic_load(claims->counter, memory_order_relaxed); /* MP2 */
    for (;;) {
        if ((first & ILK__MPMC_CLOSED) != 0) {
            return 0; /* tail only: head is never odd */
        }
        const size_t slot = ilk__mpmc_slot(ring, first);
        const size_t to_wrap = ring->capacity - slot;
        const size_t straight = wanted < to_wrap ? wanted : to_wrap;
        size_t count = count_ready(ring->stamps + slot, first | claims->state, straight);
        if (count == to_wrap && count < wanted && !to_end) {
            count += count_ready(ring->stamps, ahead(ring, first, count) | claims->state, wanted - count);
        }
        if (count > 0) {
            if (ilk_atomic_compare_exchange_weak(claims->counter, &first, ahead(ring, first, count),
                                                 memory_order_relaxed, memory_order_relaxed)) { /* MP2 */
                *position = first;
                return count;
            }
        } else {
            uint64_t now = ilk_atomic_load(claims->counter, memory_order_relaxed); /* MP2 */
            if (now == first) {
                return 0;
            }
            first = now;
        }
    }
}

/* Claimed slots that do not wrap. */
static void mpmc_copy_in(ilk_mpmc *ring, size_t slot, const unsigned char *elements, size_t count,
                         size_t size) ILK_NONBLOCKING {
    if (count > 0) {
        copy_into_ring(ring->slots + slot * size, elements, count * size);
    }
}

static void mpmc_copy_out(const ilk_mpmc *ring, size_t slot, unsigned char *elements, size_t count,
                          size_t size) ILK_NONBLOCKING {
    if (count > 0) {
        copy_out_of_ring(elements, ring->slots + slot * size, count * size);
    }
}

size_t ilk_mpmc_try_push_many(ilk_mpmc *ring, const void *elements, size_t count, size_t element_size)
    ILK_NONBLOCKING {
    mpmc_check_size("ilk_mpmc_try_push_many", ring, element_size);
    uint64_t position;
    size_t wanted = count < ring->capacity ? count : ring->capacity;
    const struct claims pushes = pushes_of(ring);
    size_t claimed = wanted == 0 ? 0 : ilk__mpmc_claim_many(ring, &pushes, wanted, false, &position);
    if (claimed == 0) {
        return 0;
    }
    const size_t slot = ilk__mpmc_slot(ring, position);
    const size_t first = ring->capacity - slot < claimed ? ring->capacity - slot : claimed;
    if (((slot + claimed) & ~ring->group_mask) != (slot & ~ring->group_mask)) {
        ilk__mpmc_fetch_ahead(ring, slot + first - 1);
    }
    mpmc_copy_in(ring, slot, elements, first, element_size);
    mpmc_copy_in(ring, 0, (const unsigned char *)elements + first * element_size, claimed - first,
                 element_size);
    stamp_slots(ring->stamps, ahead(ring, position, first) | ILK__MPMC_FULL, claimed - first);
    stamp_slots(ring->stamps + slot, position | ILK__MPMC_FULL, first);
    ilk__mpmc_pushed(ring);
    return claimed;
}

size_t ilk_mpmc_try_pop_many(ilk_mpmc *ring, void *elements, size_t count, size_t element_size)
    ILK_NONBLOCKING {
    mpmc_check_size("ilk_mpmc_try_pop_many", ring, element_size);
    uint64_t position;
    size_t wanted = count < ring->capacity ? count : ring->capacity;
    const struct claims pops = pops_of(ring);
    size_t claimed = wanted == 0 ? 0 : ilk__mpmc_claim_many(ring, &pops, wanted, false, &position);
    if (claimed == 0) {
        return 0;
    }
    const size_t slot = ilk__mpmc_slot(ring, position);
    const size_t first = ring->capacity - slot < claimed ? ring->capacity - slot : claimed;
    mpmc_copy_out(ring, slot, elements, first, element_size);
    mpmc_copy_out(ring, 0, (unsigned char *)elements + first * element_size, claimed - first, element_size);
    stamp_slots(ring->stamps, ahead(ring, position, first) + ring->lap_step, claimed - first);
    stamp_slots(ring->stamps + slot, position + ring->lap_step, first);
    ilk__mpmc_popped(ring);
    return claimed;
}

/* ---- Figures ---- */

size_t ilk_mpmc_count(const ilk_mpmc *ring) ILK_NONBLOCKING {
    uint64_t head = ilk_atomic_load(&ring->head, memory_order_relaxed);                     /* MP2 */
    uint64_t tail = ilk_atomic_load(&ring->tail, memory_order_relaxed) & ~ILK__MPMC_CLOSED; /* MP2 */
    /* The loads are not ordered: a tail older than the head counts as empty, one far ahead as full. */
    if ((int64_t)(tail - head) <= 0) {
        return 0;
    }
    size_t count = distance(ring, tail, head);
    return count < ring->capacity ? count : ring->capacity;
}

size_t ilk_mpmc_capacity(const ilk_mpmc *ring) ILK_NONBLOCKING {
    return ring->capacity;
}
