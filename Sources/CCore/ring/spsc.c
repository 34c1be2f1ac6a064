/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_spsc beyond its inline fast paths: creation and destruction, batches, access in place. See ring/spsc.h.
 */
#include "ring/spsc.h"

#include "diagnostics/misuse.h"
#include "diagnostics/names.h"
#include "diagnostics/rings.h"
#include "ring/allocate.h"
#include "ring/backoff.h"
#include "ring/copy.h"
#include "wait/fence.h"
#include <stdlib.h>

_Static_assert(offsetof(struct ilk_spsc, tail) == ILK__RING_SEPARATION, "the producer's part is apart");
_Static_assert(offsetof(struct ilk_spsc, head) == 2 * ILK__RING_SEPARATION, "the consumer's part is apart");
_Static_assert(sizeof(struct ilk_spsc) == 3 * ILK__RING_SEPARATION, "the slots are apart");

static size_t spsc_depth(const void *ring) {
    return ilk_spsc_count(ring);
}

ilk_status ilk_spsc_create(ilk_spsc **out, size_t capacity, size_t element_size) {
    void *memory;
    ilk_status status = ilk__ring_allocate(sizeof(struct ilk_spsc), capacity, element_size, &memory);
    if (status != ILK_OK) {
        return status;
    }
    ilk_spsc *ring = memory;
    memset(ring, 0, sizeof *ring);
    ring->slots = (unsigned char *)memory + ilk__ring_elements_offset(sizeof *ring);
    ring->capacity = capacity;
    ring->mask = capacity - 1;
    ring->element_size = element_size;
    ring->masked_size = (capacity & (capacity - 1)) == 0 ? element_size : SIZE_MAX;
    ring->push_limit = capacity;
    if (!ilk__fence_heavy_is_cheap()) {
        const uint32_t fenced = ILK__SPSC_CONSUMER_FENCED | ILK__SPSC_PRODUCER_FENCED;
        ilk_atomic_store(&ring->flags, ILK__SPSC_ALWAYS_FENCED | fenced,
                         memory_order_relaxed); /* SP1: not shared yet */
    }
    if (ilk__diagnoses_all()) {
        ilk__ring_begin(ring, ILK_OBJECT_SPSC, capacity, spsc_depth);
    }
    *out = ring;
    return ILK_OK;
}

ilk_status ilk_spsc_observe(ilk_spsc *ring, uint32_t what) {
    return ilk__ring_observe(ring, ILK_OBJECT_SPSC, what, ring->capacity, spsc_depth);
}

void ilk_spsc_destroy(ilk_spsc *ring) {
    if (ring == NULL) {
        return;
    }
    const uint32_t sleeps = ILK__SPSC_CONSUMER_SLEEPS | ILK__SPSC_PRODUCER_SLEEPS;
    uint32_t flags = ilk__spsc_flags(ring);
    if ((flags & sleeps) != 0) {
        ilk__misuse("ilk_spsc_destroy", ring, "destroyed while the %s waits",
                    (flags & ILK__SPSC_CONSUMER_SLEEPS) != 0 ? "consumer" : "producer");
    }
    if (ilk_atomic_load(&ring->watchers, memory_order_relaxed) > 0) { /* SP30 */
        ilk__misuse("ilk_spsc_destroy", ring, "destroyed while it is in a wait set");
    }
    if (ring->reserved_count > 0) {
        ilk__misuse("ilk_spsc_destroy", ring, "destroyed with %zu reserved slots not committed",
                    ring->reserved_count);
    }
    if (ring->pop_back_off == ILK__SPSC_SHOWN) {
        ilk__misuse("ilk_spsc_destroy", ring, "destroyed with %zu elements shown and not released",
                    (size_t)(ring->shown - ring->shown_from));
    }
    ilk__object_forget(ring);
    ilk__name_forget(ring);
    free(ring);
}

/* The number of the slot at `counter`; see ilk__spsc_place_in_lap. */
static size_t place_of(const ilk_spsc *ring, uint64_t counter, uint64_t *lap) ILK_NONBLOCKING {
    return ring->masked_size != SIZE_MAX ? (size_t)counter & ring->mask
                                         : ilk__spsc_place_in_lap(ring, counter, lap);
}

static void check_size(const char *call, const ilk_spsc *ring, size_t element_size) ILK_NONBLOCKING {
    if (ILK_UNLIKELY(element_size != ring->element_size)) {
        ilk__misuse(call, ring, "an element of %zu bytes; the ring's are of %zu", element_size,
                    ring->element_size);
    }
}

/* ---- Pushes in a reservation, pops in a peek ---- */

/* Sends pushes to the back-off, which reports them: see ILK__SPSC_RESERVED. */
static void hold_pushes(ilk_spsc *ring, uint64_t tail) ILK_NONBLOCKING {
    ring->push_limit_kept = ring->push_limit;
    ring->push_back_off_kept = ring->push_back_off;
    ring->push_limit = tail;
    ring->push_back_off = ILK__SPSC_RESERVED;
}

static void allow_pushes(ilk_spsc *ring) ILK_NONBLOCKING {
    ring->push_limit = ring->push_limit_kept;
    ring->push_back_off = ring->push_back_off_kept;
}

static void hold_pops(ilk_spsc *ring, uint64_t head) ILK_NONBLOCKING {
    ring->tail_seen_kept = ring->tail_seen;
    ring->pop_back_off_kept = ring->pop_back_off;
    ring->tail_seen = head;
    ring->pop_back_off = ILK__SPSC_SHOWN;
}

static void allow_pops(ilk_spsc *ring) ILK_NONBLOCKING {
    ring->tail_seen = ring->tail_seen_kept;
    ring->pop_back_off = ring->pop_back_off_kept;
}

static void report_push_while_reserved(const ilk_spsc *ring, const char *call) ILK_NONBLOCKING {
    ilk__misuse(call, ring, "a push while a reservation of %zu slots is open", ring->reserved_count);
}

void ilk__spsc_report_pop_while_shown(const ilk_spsc *ring, const char *call) ILK_NONBLOCKING {
    ilk__misuse(call, ring, "a pop while %zu elements are shown and not released",
                (size_t)(ring->shown - ring->shown_from));
}

/* Checks a push that finds the ring closed: none is allowed beside an open reservation there either. */
static void check_not_reserved(const ilk_spsc *ring, const char *call) ILK_NONBLOCKING {
    if (is_reserved(ring)) {
        report_push_while_reserved(ring, call);
    }
}

/* ---- Probes, with adaptive back-off (ring/backoff.h) ---- */

/* Before a probe of a side that has used up what it knew of. RESERVED and SHOWN: misuse. */
static void back_off_before(const ilk_spsc *ring, uint32_t back_off, const char *call) ILK_NONBLOCKING {
    if (back_off == ILK__SPSC_RESERVED) {
        report_push_while_reserved(ring, call);
    }
    if (back_off == ILK__SPSC_SHOWN) {
        ilk__spsc_report_pop_while_shown(ring, call);
    }
    pause_for(back_off);
}

size_t ilk__spsc_room(ilk_spsc *ring, uint64_t tail, size_t wanted, const char *call) ILK_NONBLOCKING {
    size_t room = (size_t)(ring->push_limit - tail);
    if (room < wanted) {
        const bool none = room == 0;
        if (none) {
            back_off_before(ring, ring->push_back_off, call);
        }
        ring->push_limit = ilk_atomic_load(&ring->head, memory_order_acquire) + ring->capacity; /* SP2 */
        room = (size_t)(ring->push_limit - tail);
        if (none) {
            ring->push_back_off = spsc_back_off(ring->capacity, ring->push_back_off, room);
        }
    }
    return room;
}

size_t ilk__spsc_ready(ilk_spsc *ring, uint64_t head, size_t wanted, const char *call) ILK_NONBLOCKING {
    size_t ready = (size_t)(ring->tail_seen - head);
    if (ready < wanted) {
        if (ILK_UNLIKELY((ilk__spsc_flags(ring) & ILK__SPSC_DRAINABLE) != 0)) {
            if (!ilk__spsc_find_last(ring, call)) {
                return ready;
            }
        } else {
            if (ready == 0) {
                back_off_before(ring, ring->pop_back_off, call);
            }
            ring->tail_seen = ilk_atomic_load(&ring->tail, memory_order_acquire); /* SP3 */
        }
        const bool none = ready == 0;
        ready = (size_t)(ring->tail_seen - head);
        if (none) {
            ring->pop_back_off = spsc_back_off(ring->capacity, ring->pop_back_off, ready);
        }
    }
    return ready;
}

/* ---- Single elements ---- */

bool ilk__spsc_has_room(ilk_spsc *ring, size_t element_size, const char *call) ILK_NONBLOCKING {
    check_size(call, ring, element_size);
    if ((ilk__spsc_flags(ring) & ILK__SPSC_CLOSED) != 0) {
        check_not_reserved(ring, call);
        return false;
    }
    return ilk__spsc_room(ring, own_tail(ring), 1, call) > 0;
}

bool ilk__spsc_has_element(ilk_spsc *ring, size_t element_size, const char *call) ILK_NONBLOCKING {
    check_size(call, ring, element_size);
    return ilk__spsc_ready(ring, own_head(ring), 1, call) > 0;
}

bool ilk__spsc_has_room_slow(ilk_spsc *ring, size_t element_size) ILK_NONBLOCKING {
    return ilk__spsc_has_room(ring, element_size, "ilk_spsc_try_push");
}

bool ilk__spsc_has_element_slow(ilk_spsc *ring, size_t element_size) ILK_NONBLOCKING {
    return ilk__spsc_has_element(ring, element_size, "ilk_spsc_try_pop");
}

bool ilk__spsc_publish_slow(ilk_spsc *ring) ILK_NONBLOCKING {
    return ilk__spsc_publish(ring, own_tail(ring), 1) == 1;
}

void ilk__spsc_give_back_slow(ilk_spsc *ring) ILK_NONBLOCKING {
    ilk__spsc_give_back(ring, own_head(ring), 1);
}

/* ---- Batches ---- */

/* In two spans where they wrap. */
static void spsc_copy_in(ilk_spsc *ring, size_t slot, const unsigned char *elements, size_t count,
                         size_t size) {
    size_t first = ring->capacity - slot < count ? ring->capacity - slot : count;
    copy_into_ring(ilk__spsc_slot(ring, slot, size), elements, first * size);
    if (count > first) {
        copy_into_ring(ring->slots, elements + first * size, (count - first) * size);
    }
}

static void spsc_copy_out(const ilk_spsc *ring, size_t slot, unsigned char *elements, size_t count,
                          size_t size) {
    size_t first = ring->capacity - slot < count ? ring->capacity - slot : count;
    copy_out_of_ring(elements, ilk__spsc_slot(ring, slot, size), first * size);
    if (count > first) {
        copy_out_of_ring(elements + first * size, ring->slots, (count - first) * size);
    }
}

size_t ilk_spsc_try_push_many(ilk_spsc *ring, const void *elements, size_t count, size_t element_size)
    ILK_NONBLOCKING {
    check_size("ilk_spsc_try_push_many", ring, element_size);
    uint64_t tail = own_tail(ring);
    if ((ilk__spsc_flags(ring) & ILK__SPSC_CLOSED) != 0) {
        check_not_reserved(ring, "ilk_spsc_try_push_many");
        return 0;
    }
    size_t room = ilk__spsc_room(ring, tail, count, "ilk_spsc_try_push_many");
    count = count < room ? count : room;
    if (count == 0) {
        return 0;
    }
    spsc_copy_in(ring, place_of(ring, tail, &ring->tail_lap), elements, count, element_size);
    return ilk__spsc_publish(ring, tail, count);
}

size_t ilk_spsc_try_pop_many(ilk_spsc *ring, void *elements, size_t count, size_t element_size)
    ILK_NONBLOCKING {
    check_size("ilk_spsc_try_pop_many", ring, element_size);
    uint64_t head = own_head(ring);
    size_t ready = ilk__spsc_ready(ring, head, count, "ilk_spsc_try_pop_many");
    count = count < ready ? count : ready;
    if (count == 0) {
        return 0;
    }
    spsc_copy_out(ring, place_of(ring, head, &ring->head_lap), elements, count, element_size);
    ilk__spsc_give_back(ring, head, count);
    return count;
}

/* ---- In place ---- */

static void end_reservation(ilk_spsc *ring) ILK_NONBLOCKING {
    ring->reserved_count = 0;
    /* SP16 release, pairs with SP14 (before sealing).
     * Carries: the tail that the commit published.
     * If weaker: the consumer seals over the committed elements. */
    ilk_atomic_store(&ring->reserved, 0, memory_order_release);
}

void *ilk_spsc_reserve(ilk_spsc *ring, size_t *count) ILK_NONBLOCKING {
    const uint64_t tail = own_tail(ring);
    if (is_reserved(ring)) {
        allow_pushes(ring);
    }
    /* SP17 relaxed: close's heavy fence, or SP27, orders it against CLOSED. Either we see CLOSED, or
     * a consumer that sees DRAINABLE sees this. */
    ilk_atomic_store(&ring->reserved, 1, memory_order_relaxed);
    ilk_compiler_fence();
    if ((ilk__spsc_flags(ring) & ILK__SPSC_ALWAYS_FENCED) != 0) {
        ilk_atomic_fence(memory_order_seq_cst); /* SP27 */
    }
    const size_t wanted = *count;
    /* On a closed ring no more than before. */
    size_t room = ring->reserved_count;
    if ((ilk__spsc_flags(ring) & ILK__SPSC_CLOSED) == 0) {
        room = ilk__spsc_room(ring, tail, wanted, "ilk_spsc_reserve");
    }
    const size_t slot = place_of(ring, tail, &ring->tail_lap);
    size_t to_end = ring->capacity - slot;
    room = room < to_end ? room : to_end;
    *count = wanted < room ? wanted : room;
    if (*count == 0) {
        end_reservation(ring);
        spsc_wake_flagged_consumer(ring, false);
        return NULL;
    }
    ring->reserved_count = *count;
    hold_pushes(ring, tail);
    return ilk__spsc_slot(ring, slot, ring->element_size);
}

void ilk_spsc_commit(ilk_spsc *ring, size_t count) ILK_NONBLOCKING {
    if (ILK_UNLIKELY(count > ring->reserved_count)) {
        ilk__misuse("ilk_spsc_commit", ring, "%zu elements; %zu slots are reserved", count,
                    ring->reserved_count);
    }
    if (is_reserved(ring)) {
        allow_pushes(ring);
    }
    uint64_t tail = own_tail(ring);
    ilk_atomic_store(&ring->tail, tail + count, memory_order_release); /* SP5 */
    end_reservation(ring);
    spsc_wake_flagged_consumer(ring, count > 0);
}

const void *ilk_spsc_peek(ilk_spsc *ring, size_t *count) ILK_NONBLOCKING {
    size_t wanted = *count == 0 ? ring->capacity : *count;
    const uint64_t head = own_head(ring);
    const size_t slot = place_of(ring, head, &ring->head_lap);
    if (is_shown(ring)) {
        allow_pops(ring);
    }
    size_t ready = ilk__spsc_ready(ring, head, wanted, "ilk_spsc_peek");
    size_t to_end = ring->capacity - slot;
    ready = ready < to_end ? ready : to_end;
    *count = wanted < ready ? wanted : ready;
    ring->shown_from = head;
    ring->shown = head + *count;
    if (*count == 0) {
        return NULL;
    }
    hold_pops(ring, head);
    return ilk__spsc_slot(ring, slot, ring->element_size);
}

void ilk_spsc_release(ilk_spsc *ring, size_t count) ILK_NONBLOCKING {
    const uint64_t head = own_head(ring);
    /* A pop after a release ends what was shown. */
    const size_t shown = ring->shown_from == head ? (size_t)(ring->shown - head) : 0;
    if (ILK_UNLIKELY(count > shown)) {
        ilk__misuse("ilk_spsc_release", ring, "%zu elements; %zu have been shown", count, shown);
    }
    if (is_shown(ring)) {
        allow_pops(ring);
    }
    ring->shown_from = head + count;
    if (count > 0) { /* else no arm of the producer's may go down */
        ilk__spsc_give_back(ring, head, count);
    }
}

/* ---- Figures ---- */

size_t ilk_spsc_count(const ilk_spsc *ring) ILK_NONBLOCKING {
    /* SP19 acquire, pairs with SP5 and SP6: head first, so that the tail read next is no older. If weaker: a
     * count below zero. A tail that moves on meanwhile can exceed the capacity. */
    uint64_t head = ilk_atomic_load(&ring->head, memory_order_acquire);
    /* SP23 relaxed: SP19 makes it no older than head; the slots are not read. */
    uint64_t tail = ilk_atomic_load(&ring->tail, memory_order_relaxed);
    size_t count = (size_t)(tail - head);
    return count < ring->capacity ? count : ring->capacity;
}

size_t ilk_spsc_capacity(const ilk_spsc *ring) ILK_NONBLOCKING {
    return ring->capacity;
}
