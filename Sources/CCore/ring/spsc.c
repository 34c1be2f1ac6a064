/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_spsc beyond its inline fast paths: batches, in-place access, waiting, closing. The layout and
 * the meaning of every flag are in <interlock/inline/spsc.h>.
 *
 * Sleeping. The sleeper pays, not the other side:
 *     sleeper                                other side
 *       raise SLEEPS and FENCED                publish its counter (release store)
 *       heavy fence                            light fence (nothing at run time with membarrier)
 *         or, where FENCED was up: fence       look at the flags; none up: done
 *       look at the counter once more          fence, look at them again; SLEEPS: take it down, wake
 *       park while the flags are as raised
 *   Must not happen: the sleeper misses the counter and the other side misses SLEEPS. The fences
 *   forbid it; raising and parking are one word, so a wake between them makes the park return. A heavy fence
 *   interrupts the other side wherever it runs, which a side that sleeps often cannot afford: so it leaves
 *   FENCED behind, which sends the other side through a fence of its own for as long as sleeping goes on.
 *
 * Closing. Any thread may close while a push is halfway, and both may be told the truth only once:
 *     close                                  a push that passed its first look at CLOSED
 *       raise CLOSED                           write the slot, publish tail
 *       heavy fence                            light fence
 *       raise DRAINABLE, wake                  look at the flags: CLOSED up?
 *   After DRAINABLE is seen, every push that did not see CLOSED after publishing is visible. One push
 *   at most (there is one producer) can have published late and seen it. The consumer that finds the
 *   ring empty and DRAINABLE raises SEALED; that push raises LAST_PUSH; both by fetch_or on one word:
 *     LAST_PUSH first   the push counts; the consumer, who sees LAST_PUSH, looks at tail again
 *     SEALED first      the consumer never looks at tail again. If it had popped the elements before
 *                       it sealed, the push counts all the same; otherwise the producer takes tail back.
 *   A reservation needs no such race: reserve announces itself (`reserved`) before its look at CLOSED,
 *   and a consumer does not seal while one is open.
 */
#include "diagnostics/misuse.h"
#include "diagnostics/names.h"
#include "ring/allocate.h"
#include "ring/copy.h"
#include "ring/hook.h"
#include "ring/patience.h"
#include "threads/clock.h"
#include <interlock/park.h>
#include <interlock/spsc.h>
#include <stdlib.h>

_Static_assert(offsetof(struct ilk_spsc, tail) == ILK__RING_SEPARATION, "the producer's part is apart");
_Static_assert(offsetof(struct ilk_spsc, head) == 2 * ILK__RING_SEPARATION, "the consumer's part is apart");
_Static_assert(sizeof(struct ilk_spsc) == 3 * ILK__RING_SEPARATION, "the slots are apart");

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
    ring->mask = (capacity & (capacity - 1)) == 0 ? capacity - 1 : 0;
    ring->element_size = element_size;
    *out = ring;
    return ILK_OK;
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
    if (ring->reserved_count > 0) {
        ilk__misuse("ilk_spsc_destroy", ring, "destroyed with %zu reserved slots not committed",
                    ring->reserved_count);
    }
    if (ring->pop_lull == ILK__SPSC_SHOWN) {
        ilk__misuse("ilk_spsc_destroy", ring, "destroyed with %zu elements shown and not released",
                    (size_t)(ring->shown - ring->shown_from));
    }
    ilk__name_forget(ring);
    free(ring);
}

void ilk__spsc_wrong_size(const char *call, const ilk_spsc *ring, size_t element_size) {
    ilk__misuse(call, ring, "an element of %zu bytes; the ring's are of %zu", element_size,
                ring->element_size);
}

static void spsc_check_size(const char *call, const ilk_spsc *ring, size_t element_size) {
    if (ILK_UNLIKELY(element_size != ring->element_size)) {
        ilk__spsc_wrong_size(call, ring, element_size);
    }
}

static uint64_t own_tail(const ilk_spsc *ring) ILK_NONBLOCKING {
    return ilk_atomic_load(&ring->tail, memory_order_relaxed); /* SP4 */
}

static uint64_t own_head(const ilk_spsc *ring) ILK_NONBLOCKING {
    return ilk_atomic_load(&ring->head, memory_order_relaxed); /* SP7 */
}

/* ---- Pushes beside a reservation, pops beside a peek ---- */

/* Sends pushes to pause, where they are reported; see ILK__SPSC_RESERVED. */
static void hold_pushes(ilk_spsc *ring, uint64_t tail) ILK_NONBLOCKING {
    ring->head_seen_kept = ring->head_seen;
    ring->push_lull_kept = ring->push_lull;
    ring->head_seen = tail - ring->capacity;
    ring->push_lull = ILK__SPSC_RESERVED;
}

static void allow_pushes(ilk_spsc *ring) ILK_NONBLOCKING {
    ring->head_seen = ring->head_seen_kept;
    ring->push_lull = ring->push_lull_kept;
}

static void hold_pops(ilk_spsc *ring, uint64_t head) ILK_NONBLOCKING {
    ring->tail_seen_kept = ring->tail_seen;
    ring->pop_lull_kept = ring->pop_lull;
    ring->tail_seen = head;
    ring->pop_lull = ILK__SPSC_SHOWN;
}

static void allow_pops(ilk_spsc *ring) ILK_NONBLOCKING {
    ring->tail_seen = ring->tail_seen_kept;
    ring->pop_lull = ring->pop_lull_kept;
}

static bool is_reserved(const ilk_spsc *ring) ILK_NONBLOCKING {
    return ring->reserved_count > 0;
}

static bool is_shown(const ilk_spsc *ring) ILK_NONBLOCKING {
    return ring->pop_lull == ILK__SPSC_SHOWN;
}

static void report_push_while_reserved(const ilk_spsc *ring, const char *call) ILK_NONBLOCKING {
    ilk__misuse(call, ring, "a push while a reservation of %zu slots is open", ring->reserved_count);
}

static void report_pop_while_shown(const ilk_spsc *ring, const char *call) ILK_NONBLOCKING {
    ilk__misuse(call, ring, "a pop while %zu elements are shown and not released",
                (size_t)(ring->shown - ring->shown_from));
}

void ilk__spsc_push_closed_slow(const ilk_spsc *ring, const char *call) ILK_NONBLOCKING {
    if (is_reserved(ring)) {
        report_push_while_reserved(ring, call);
    }
}

/* ---- Lulls ---- */

void ilk__spsc_pause_slow(const ilk_spsc *ring, uint32_t lull, const char *call) ILK_NONBLOCKING {
    if (lull == ILK__SPSC_RESERVED) {
        report_push_while_reserved(ring, call);
    }
    if (lull == ILK__SPSC_SHOWN) {
        report_pop_while_shown(ring, call);
    }
    pause_for(lull);
}

/* Longer as long as a lull finds less than much: a quarter of the ring, or 64 elements, or four batches for
 * one who asks for more. 31 pauses at most, timed by bench rings. Shorter where it finds more than half of
 * the ring. Chosen by bench rings, try and batches. */
uint32_t ilk__spsc_next_lull_slow(const ilk_spsc *ring, uint32_t lull, size_t found, size_t wanted)
    ILK_NONBLOCKING {
    const size_t quarter = ring->capacity / 4;
    if (found > 2 * quarter) {
        return lull / 2;
    }
    const bool much = found >= quarter || (found >= 64 && found / 4 >= wanted);
    return !much && lull < LONGEST_LULL ? lull * 2 + 1 : lull;
}

/* ---- Waking and settling with close ---- */

/* The flags of a side that waits, and what its hook is told. */
struct spsc_side {
    uint32_t sleeps;
    uint32_t arming;
    uint32_t armed;
    uint32_t fenced;
    ilk_ring_event event;
};
static const struct spsc_side spsc_consumer = {ILK__SPSC_CONSUMER_SLEEPS, ILK__SPSC_CONSUMER_ARMING,
                                               ILK__SPSC_CONSUMER_ARMED, ILK__SPSC_CONSUMER_FENCED,
                                               ILK_READABLE};
static const struct spsc_side spsc_producer = {ILK__SPSC_PRODUCER_SLEEPS, ILK__SPSC_PRODUCER_ARMING,
                                               ILK__SPSC_PRODUCER_ARMED, ILK__SPSC_PRODUCER_FENCED,
                                               ILK_WRITABLE};

/* Clears the side's FENCED flag, where nobody of it waits, once in FENCED_STEPS elements of the calling side:
 * `epoch` is the caller's, and tells when that was last. Quotients are compared, for a batch may step over
 * any one number. */
static void spsc_drop_fenced(ilk_spsc *ring, const struct spsc_side *side, uint32_t flags, uint64_t counter,
                             uint64_t *epoch) ILK_NONBLOCKING {
    if (counter / FENCED_STEPS != *epoch) {
        *epoch = counter / FENCED_STEPS;
        /* SP21 relaxed: who raises a flag afterwards finds FENCED gone and fences heavily. */
        (void)ilk_atomic_compare_exchange(&ring->flags, &flags, flags & ~side->fenced, memory_order_relaxed,
                                          memory_order_relaxed);
    }
}

/* Takes the side's arm down, and calls the hook if it was up: not for one that is only going up, whose arm
 * call then answers false. The hook is foreign code that the contract asks to be quick. */
ILK_TRUSTED_NONBLOCKING_BEGIN
static void spsc_notify(ilk_spsc *ring, const struct spsc_side *side) ILK_NONBLOCKING {
    struct ilk__hook_call call;
    hook_begin(&ring->hook_calls, ring, &call);
    /* SP8 acq_rel, pairs with SP24 (release, the arm is up) and with SP25 (acquire, taking the hook away).
     * Acquires the hook installed before; releases that this call is counted.
     * If weaker: we call by an old pointer, or set_notify does not wait for us. */
    const uint32_t flags =
        ilk_atomic_fetch_and(&ring->flags, ~(side->arming | side->armed), memory_order_acq_rel);
    if ((flags & side->armed) != 0) {
        ring->notify(ring->notify_context, side->event);
    }
    hook_end(&ring->hook_calls, &call);
}
ILK_TRUSTED_NONBLOCKING_END

/* Wakes or notifies a side that waits. Behind SP20, or a change of the flags. */
static void spsc_wake_flagged(ilk_spsc *ring, const struct spsc_side *side, uint32_t flags) ILK_NONBLOCKING {
    if ((flags & side->sleeps) != 0) {
        /* SP26 relaxed: only the one who takes the flag down wakes for it; the data travels by SP5 or SP6. */
        ilk_atomic_fetch_and(&ring->flags, ~side->sleeps, memory_order_relaxed);
        ilk_park_wake(&ring->flags, ILK_PARK_ALL);
    }
    if ((flags & (side->arming | side->armed)) != 0) {
        spsc_notify(ring, side);
    }
}

/* After the calling side has published: wakes or notifies the other one. */
static void spsc_wake(ilk_spsc *ring, const struct spsc_side *side, uint64_t counter, uint64_t *epoch)
    ILK_NONBLOCKING {
    const uint32_t waits = side->sleeps | side->arming | side->armed;
    if ((ilk__spsc_flags(ring) & (waits | side->fenced)) == 0) {
        return;
    }
    /* SP20 seq_cst, pairs with itself (raising flags where FENCED was up). Forbids: we publish and find no
     * flag, while the other side raises it and misses what we published. */
    ilk_atomic_fence(memory_order_seq_cst);
    const uint32_t flags = ilk__spsc_flags(ring);
    if ((flags & waits) == 0) {
        spsc_drop_fenced(ring, side, flags, counter, epoch);
        return;
    }
    spsc_wake_flagged(ring, side, flags);
}

static void wake_consumer(ilk_spsc *ring) ILK_NONBLOCKING {
    spsc_wake(ring, &spsc_consumer, own_tail(ring), &ring->push_epoch);
}

static void wake_producer(ilk_spsc *ring) ILK_NONBLOCKING {
    spsc_wake(ring, &spsc_producer, own_head(ring), &ring->pop_epoch);
}

size_t ilk__spsc_pushed_slow(ilk_spsc *ring, size_t count) ILK_NONBLOCKING {
    uint32_t flags = ilk__spsc_flags(ring);
    if ((flags & ILK__SPSC_CLOSED) != 0) {
        /* SP9 acq_rel, pairs with SP10 (acq_rel, sealing).
         * Release carries tail to a consumer that comes second; acquire its head to us if we do.
         * If weaker: the consumer seals over an element, or we take back one that was popped. */
        flags = ilk_atomic_fetch_or(&ring->flags, ILK__SPSC_LAST_PUSH, memory_order_acq_rel);
        if ((flags & ILK__SPSC_SEALED) != 0) {
            uint64_t tail = own_tail(ring);
            /* SP11 relaxed: SP9 has read SEALED, which the consumer raised after its last head (SP10), and
             * the slots are never written again. */
            uint64_t head = ilk_atomic_load(&ring->head, memory_order_relaxed);
            size_t refused = (size_t)(tail - head);
            refused = refused < count ? refused : count;
            ilk__spsc_move(ring, &ring->tail_slot, ring->capacity - refused);
            /* SP12 relaxed: a sealed consumer never looks; only the count reads it. */
            ilk_atomic_store(&ring->tail, tail - refused, memory_order_relaxed);
            count -= refused;
        }
    }
    wake_consumer(ring);
    return count;
}

void ilk__spsc_popped_slow(ilk_spsc *ring) ILK_NONBLOCKING {
    wake_producer(ring);
}

/* Elements the consumer has not popped, as tail says now. */
static size_t look_for_elements(ilk_spsc *ring) ILK_NONBLOCKING {
    ring->tail_seen = ilk_atomic_load(&ring->tail, memory_order_acquire); /* SP3 */
    return (size_t)(ring->tail_seen - own_head(ring));
}

bool ilk__spsc_find_last_slow(ilk_spsc *ring, const char *call) ILK_NONBLOCKING {
    if (is_shown(ring)) {
        report_pop_while_shown(ring, call);
    }
    if (ring->sealed != 0) {
        return false;
    }
    /* SP13 acquire, pairs with SP15 (release, raising DRAINABLE).
     * Carries: all pushes that did not see CLOSED, and the announcement of every open reservation.
     * If weaker: we seal over an element that close found in the ring. */
    (void)ilk_atomic_load(&ring->flags, memory_order_acquire);
    /* SP14 acquire, pairs with SP16 (release, ending a reservation). Before tail, so that a reservation
     * that has ended is in the tail we read. */
    bool reserved = ilk_atomic_load(&ring->reserved, memory_order_acquire) != 0;
    if (look_for_elements(ring) > 0) {
        return true;
    }
    if (reserved) {
        return false;
    }
    /* SP10 acq_rel, pairs with SP9 (acq_rel, the last push). See there. */
    uint32_t flags = ilk_atomic_fetch_or(&ring->flags, ILK__SPSC_SEALED, memory_order_acq_rel);
    if ((flags & ILK__SPSC_LAST_PUSH) != 0 && look_for_elements(ring) > 0) {
        return true;
    }
    ring->sealed = 1;
    return false;
}

void ilk_spsc_close(ilk_spsc *ring) {
    ilk_atomic_fetch_or(&ring->flags, ILK__SPSC_CLOSED, memory_order_relaxed); /* SP1 */
    /* Pairs with the light fence of publish and of reserve. Forbids: a push publishes late and misses
     * CLOSED, while a consumer that saw DRAINABLE misses the push. */
    ilk__fence_heavy();
    /* SP15 release, pairs with SP13 (acquire, concluding). See there. */
    const uint32_t flags = ilk_atomic_fetch_or(&ring->flags, ILK__SPSC_DRAINABLE, memory_order_release);
    /* A flag that is raised afterwards is raised in a word that says closed. */
    spsc_wake_flagged(ring, &spsc_consumer, flags);
    spsc_wake_flagged(ring, &spsc_producer, flags);
}

bool ilk_spsc_is_closed(const ilk_spsc *ring) ILK_NONBLOCKING {
    return (ilk_atomic_load(&ring->flags, memory_order_acquire) & ILK__SPSC_DRAINABLE) != 0; /* SP13 */
}

/* ---- Batches ---- */

/* Between `count` slots from `slot` on and `elements`, in two spans where they wrap. */
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
    spsc_check_size("ilk_spsc_try_push_many", ring, element_size);
    uint64_t tail = own_tail(ring);
    if ((ilk__spsc_flags(ring) & ILK__SPSC_CLOSED) != 0) {
        ilk__spsc_push_closed_slow(ring, "ilk_spsc_try_push_many");
        return 0;
    }
    size_t room = ilk__spsc_room(ring, tail, count, "ilk_spsc_try_push_many");
    count = count < room ? count : room;
    if (count == 0) {
        return 0;
    }
    spsc_copy_in(ring, ilk__spsc_place(ring, tail, ring->tail_slot), elements, count, element_size);
    return ilk__spsc_publish(ring, tail, count);
}

size_t ilk_spsc_try_pop_many(ilk_spsc *ring, void *elements, size_t count, size_t element_size)
    ILK_NONBLOCKING {
    spsc_check_size("ilk_spsc_try_pop_many", ring, element_size);
    uint64_t head = own_head(ring);
    size_t ready = ilk__spsc_ready(ring, head, count, "ilk_spsc_try_pop_many");
    count = count < ready ? count : ready;
    if (count == 0) {
        return 0;
    }
    spsc_copy_out(ring, ilk__spsc_place(ring, head, ring->head_slot), elements, count, element_size);
    ilk__spsc_give_back(ring, head, count);
    return count;
}

/* ---- In place ---- */

/* Ends the reservation, if one is open, for the consumer to see. */
static void end_reservation(ilk_spsc *ring) ILK_NONBLOCKING {
    ring->reserved_count = 0;
    /* SP16 release, pairs with SP14 (acquire, before sealing).
     * Carries: the tail that the commit published.
     * If weaker: the consumer seals over the committed elements. */
    ilk_atomic_store(&ring->reserved, 0, memory_order_release);
}

void *ilk_spsc_reserve(ilk_spsc *ring, size_t *count) ILK_NONBLOCKING {
    const uint64_t tail = own_tail(ring);
    if (is_reserved(ring)) {
        allow_pushes(ring);
    }
    /* SP17 relaxed: the light fence and close's heavy one order it against CLOSED: either we see
     * CLOSED, or a consumer that sees DRAINABLE sees this. */
    ilk_atomic_store(&ring->reserved, 1, memory_order_relaxed);
    ilk__fence_light();
    const size_t wanted = *count;
    /* On a closed ring, what an open reservation was made for before, and no more. */
    size_t room = ring->reserved_count;
    if ((ilk__spsc_flags(ring) & ILK__SPSC_CLOSED) == 0) {
        room = ilk__spsc_room(ring, tail, wanted, "ilk_spsc_reserve");
    }
    const size_t slot = ilk__spsc_place(ring, tail, ring->tail_slot);
    size_t to_end = ring->capacity - slot;
    room = room < to_end ? room : to_end;
    *count = wanted < room ? wanted : room;
    if (*count == 0) {
        end_reservation(ring);
        ilk__fence_light();
        wake_consumer(ring); /* it may wait for this reservation to end */
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
    ilk__spsc_move(ring, &ring->tail_slot, count);
    ilk_atomic_store(&ring->tail, tail + count, memory_order_release); /* SP5 */
    end_reservation(ring);
    ilk__fence_light();
    wake_consumer(ring);
}

const void *ilk_spsc_peek(ilk_spsc *ring, size_t *count) ILK_NONBLOCKING {
    size_t wanted = *count == 0 ? ring->capacity : *count;
    const uint64_t head = own_head(ring);
    const size_t slot = ilk__spsc_place(ring, head, ring->head_slot);
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
    /* Nothing is shown any more once a pop has come after an earlier release. */
    const size_t shown = ring->shown_from == head ? (size_t)(ring->shown - head) : 0;
    if (ILK_UNLIKELY(count > shown)) {
        ilk__misuse("ilk_spsc_release", ring, "%zu elements; %zu have been shown", count, shown);
    }
    if (is_shown(ring)) {
        allow_pops(ring);
    }
    ring->shown_from = head + count;
    ilk__spsc_give_back(ring, head, count);
}

/* ---- Waiting ---- */

/* Raises a flag for the other side to see: from here on it sees the flag, or has published what we will see.
 * What the flags were, and are. */
static uint32_t raise_flag(ilk_spsc *ring, const struct spsc_side *side, uint32_t flag) {
    /* SP18 relaxed: the fence that follows orders it before the recheck of the counter. */
    uint32_t before = ilk_atomic_fetch_or(&ring->flags, flag | side->fenced, memory_order_relaxed);
    if ((before & side->fenced) != 0) {
        ilk_atomic_fence(memory_order_seq_cst); /* SP20 */
    } else {
        ilk__fence_heavy();
    }
    return before | flag | side->fenced;
}

/* Raises SLEEPS, and parks unless `can_go_on` says so after the fence. ILK_TIMEDOUT: time is up. */
static ilk_status sleep_unless(ilk_spsc *ring, const struct spsc_side *side, bool (*can_go_on)(ilk_spsc *),
                               uint64_t deadline_ns) {
    if (deadline_ns != ILK_FOREVER && deadline_ns <= ilk__clock_now_ns()) {
        return ILK_TIMEDOUT;
    }
    uint32_t flags = raise_flag(ring, side, side->sleeps);
    ilk_status status = ILK_OK;
    if (!can_go_on(ring)) {
        status = ilk_park_wait(&ring->flags, flags, deadline_ns);
    }
    /* SP22 relaxed: a flag that is found up in vain costs its finder a wake-up, no more. */
    ilk_atomic_fetch_and(&ring->flags, ~side->sleeps, memory_order_relaxed);
    return status;
}

/* What is reserved is room, and what is shown is there. */
static bool has_room_or_closed(ilk_spsc *ring) {
    return (ilk__spsc_flags(ring) & ILK__SPSC_CLOSED) != 0 || is_reserved(ring) ||
           ilk__spsc_room(ring, own_tail(ring), 1, "ilk_spsc_arm_push") > 0;
}

static bool has_element_or_drained(ilk_spsc *ring) {
    return is_shown(ring) || ilk__spsc_ready(ring, own_head(ring), 1, "ilk_spsc_arm_pop") > 0 ||
           ring->sealed != 0;
}

/* After the wait of a side: it slept, or it saved that by looking. */
static void note_looks(uint32_t *in_vain, int turn, int looks) {
    if (turn > looks) {
        *in_vain += 1;
    } else if (turn > 0) {
        *in_vain = after_success(*in_vain);
    }
}

ilk_status ilk__spsc_push_slow(ilk_spsc *ring, const void *element, size_t element_size,
                               uint64_t deadline_ns) {
    bool late = false;
    const int looks = looks_before_sleep(ring->pushes_in_vain);
    int turn = 0; /* looks + 1: it has slept */
    for (;;) {
        if (ilk__spsc_push_one(ring, element, element_size, "ilk_spsc_push_until")) {
            note_looks(&ring->pushes_in_vain, turn, looks);
            return ILK_OK;
        }
        if ((ilk__spsc_flags(ring) & ILK__SPSC_CLOSED) != 0) {
            return ILK_CLOSED;
        }
        if (late) {
            return ILK_TIMEDOUT;
        }
        if (turn < looks) {
            ring_pause_before_look(turn);
            turn++;
        } else {
            late = sleep_unless(ring, &spsc_producer, has_room_or_closed, deadline_ns) == ILK_TIMEDOUT;
            turn = looks + 1;
        }
    }
}

ilk_status ilk__spsc_pop_slow(ilk_spsc *ring, void *element, size_t element_size, uint64_t deadline_ns) {
    bool late = false;
    const int looks = looks_before_sleep(ring->pops_in_vain);
    int turn = 0; /* looks + 1: it has slept */
    for (;;) {
        if (ilk__spsc_pop_one(ring, element, element_size, "ilk_spsc_pop_until")) {
            note_looks(&ring->pops_in_vain, turn, looks);
            return ILK_OK;
        }
        if (ring->sealed != 0) {
            return ILK_CLOSED;
        }
        if (late) {
            return ILK_TIMEDOUT;
        }
        if (turn < looks) {
            ring_pause_before_look(turn);
            turn++;
        } else {
            late = sleep_unless(ring, &spsc_consumer, has_element_or_drained, deadline_ns) == ILK_TIMEDOUT;
            turn = looks + 1;
        }
    }
}

/* ---- The hook ---- */

void ilk_spsc_set_notify(ilk_spsc *ring, ilk_notify function, void *context) {
    const uint32_t arms = ILK__SPSC_CONSUMER_ARMING | ILK__SPSC_CONSUMER_ARMED | ILK__SPSC_PRODUCER_ARMING |
                          ILK__SPSC_PRODUCER_ARMED;
    /* SP25 acquire, pairs with SP8 (acq_rel, taking an arm down): the thread that took one before is counted.
     * If weaker: a call is under way that we do not wait for. */
    ilk_atomic_fetch_and(&ring->flags, ~arms, memory_order_acquire);
    hook_await_calls(&ring->hook_calls, ring);
    ring->notify = function;
    ring->notify_context = context;
}

/* Raises ARMING as a sleeper raises SLEEPS, and probes the ring; if there is nothing, ARMED takes its place
 * in one step, provided nobody has cleared it since. The last atomic step decides the answer. docs/rings.md
 * has the states. */
static bool spsc_arm(ilk_spsc *ring, const struct spsc_side *side, bool (*can_go_on)(ilk_spsc *),
                     const char *call) {
    if (ring->notify == NULL) {
        ilk__misuse(call, ring, "no hook is installed");
    }
    uint32_t flags = raise_flag(ring, side, side->arming);
    if (can_go_on(ring)) {
        ilk_atomic_fetch_and(&ring->flags, ~side->arming, memory_order_relaxed); /* SP22 */
        return false;
    }
    while ((flags & side->arming) != 0) {
        /* SP24 release, pairs with SP8 (acq_rel, taking the arm down): carries the hook. See there.
         * Relaxed where it fails: another bit has changed, or the other side has come, after all. */
        if (ilk_atomic_compare_exchange(&ring->flags, &flags, (flags & ~side->arming) | side->armed,
                                        memory_order_release, memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

bool ilk_spsc_arm_pop(ilk_spsc *ring) {
    return spsc_arm(ring, &spsc_consumer, has_element_or_drained, "ilk_spsc_arm_pop");
}

bool ilk_spsc_arm_push(ilk_spsc *ring) {
    return spsc_arm(ring, &spsc_producer, has_room_or_closed, "ilk_spsc_arm_push");
}

/* ---- Figures ---- */

size_t ilk_spsc_count(const ilk_spsc *ring) ILK_NONBLOCKING {
    /* SP19 acquire, pairs with SP5 and SP6 (release, publishing and giving back): head first, so that the
     * tail read after it is no older. If weaker: a count below zero. A tail that moved on meanwhile can make
     * it more than fits. */
    uint64_t head = ilk_atomic_load(&ring->head, memory_order_acquire);
    /* SP23 relaxed: no older than head for SP19's sake; what stands in the slots is nobody's business here.
     */
    uint64_t tail = ilk_atomic_load(&ring->tail, memory_order_relaxed);
    size_t count = (size_t)(tail - head);
    return count < ring->capacity ? count : ring->capacity;
}

size_t ilk_spsc_capacity(const ilk_spsc *ring) ILK_NONBLOCKING {
    return ring->capacity;
}
