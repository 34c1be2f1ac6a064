/* SPDX-License-Identifier: Apache-2.0
 *
 * The waking, waiting and closing of ilk_spsc, and its hook. docs/rings.md draws the protocols and what must
 * not happen; <interlock/inline/spsc.h> explains the flags. They are raised and parked on in one word: a wake
 * between the two ends the park.
 *
 * Closing. A close, a push that has passed its first probe of CLOSED, and the consumer:
 *     close                push                              consumer
 *       raise CLOSED         write the slot, publish tail      DRAINABLE, and no element:
 *       heavy fence          CLOSED up? raise LAST_PUSH          raise SEALED
 *       raise DRAINABLE
 * With ALWAYS_FENCED the close and the push execute a fence each instead. The first of LAST_PUSH and SEALED decides. A
 * reservation has no such race: reserve announces it (`reserved`) before it reads CLOSED, and a consumer does not seal
 * while one is open, but waits for its end:
 *     producer                             consumer                        close
 *       ends it without an element           raise SLEEPS or ARMING          raise DRAINABLE
 *       DRAINABLE up? wake                   DRAINABLE, but reserved: wait     a flag of a waiter up? wake
 * Must not happen: the consumer waits, and neither wakes it. It has seen DRAINABLE: the producer finds both in the one
 * word, or reads it before DRAINABLE, and close, later, finds the flag of a waiter that it then makes probe again.
 * Must not happen either: an arm goes down on an open ring, though no element came.
 */
#include "ring/spsc.h"

#include "diagnostics/misuse.h"
#include "diagnostics/observe.h"
#include "platform/clock.h"
#include "platform/reaches.h"
#include "ring/hook.h"
#include "wait/fenced.h"
#include "wait/spin.h"
#include "wait/watchers.h"
#include <interlock/park.h>

/* ---- Waking, and a push beside close ---- */

struct spsc_side {
    uint32_t sleeps;
    uint32_t arming;
    uint32_t armed;
    uint32_t fenced;
    uint32_t watched;
    uint32_t watch_fenced;
    ilk_ring_event event;
};
static const struct spsc_side spsc_consumer = {ILK__SPSC_CONSUMER_SLEEPS,
                                               ILK__SPSC_CONSUMER_ARMING,
                                               ILK__SPSC_CONSUMER_ARMED,
                                               ILK__SPSC_CONSUMER_FENCED,
                                               ILK__SPSC_CONSUMER_WATCHED,
                                               ILK__SPSC_CONSUMER_WATCH_FENCED,
                                               ILK_READABLE};
static const struct spsc_side spsc_producer = {ILK__SPSC_PRODUCER_SLEEPS,
                                               ILK__SPSC_PRODUCER_ARMING,
                                               ILK__SPSC_PRODUCER_ARMED,
                                               ILK__SPSC_PRODUCER_FENCED,
                                               ILK__SPSC_PRODUCER_WATCHED,
                                               ILK__SPSC_PRODUCER_WATCH_FENCED,
                                               ILK_WRITABLE};

/* `counter`, `*period`: the calling side's. */
static void spsc_drop_fenced(ilk_spsc *ring, const struct spsc_side *side, uint32_t flags, uint64_t counter,
                             uint64_t *period) ILK_NONBLOCKING {
    if (ilk__fenced_is_due(counter, *period)) {
        *period = ilk__fenced_period(counter);
        const uint32_t rest = flags & ~(side->fenced | side->watch_fenced);
        /* SP21 relaxed: a side that raises a flag later finds FENCED gone and executes a heavy fence. */
        if (ilk_atomic_compare_exchange(&ring->flags, &flags, rest, memory_order_relaxed,
                                        memory_order_relaxed)) {
            ILK__REACHES(SPSC_FENCED_DOWN, true);
        }
    }
}

/* The contract asks the hook, foreign code, to be quick. */
ILK_TRUSTED_NONBLOCKING_BEGIN
static void spsc_notify(ilk_spsc *ring, const struct spsc_side *side) ILK_NONBLOCKING {
    struct ilk__hook_call call;
    hook_begin(&ring->hook_calls, ring, &call);
    /* SP8 acq_rel, pairs with SP24 (release, the arm is up) and with SP25 (acquire, disarming).
     * Acquires the hook installed before; releases that this call is counted.
     * If weaker: we call by an old pointer, or set_notify does not wait for us. */
    const uint32_t flags =
        ilk_atomic_fetch_and(&ring->flags, ~(side->arming | side->armed), memory_order_acq_rel);
    if ((flags & side->armed) != 0) {
        ILK__REACHES(SPSC_NOTIFIES, true);
        ring->notify(ring->notify_context, side->event);
    }
    hook_end(&ring->hook_calls, &call);
}
ILK_TRUSTED_NONBLOCKING_END

/* Takes WATCHED down, and raises WATCH_FENCED in the same step. True: the watchers are to be notified. */
static bool take_spsc_watch(ilk_spsc *ring, const struct spsc_side *side, uint32_t flags) ILK_NONBLOCKING {
    while ((flags & side->watched) != 0) {
        const uint32_t taken = (flags & ~side->watched) | side->watch_fenced;
        /* SP29 acquire, pairs with SP28: the watchers' marks are down. Relaxed where it fails: the flags are judged
         * anew. SP20 orders WATCH_FENCED. */
        if (ilk_atomic_compare_exchange(&ring->flags, &flags, taken, memory_order_acquire,
                                        memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

/* Wakes what waits, as `flags` says; they were read behind SP20, or by a change of the flags. */
static void spsc_wake_flagged(ilk_spsc *ring, const struct spsc_side *side, uint32_t flags) ILK_NONBLOCKING {
    if ((flags & side->sleeps) != 0) {
        /* SP26 relaxed: the thread that clears the flag wakes; SP5 or SP6 carries the data. */
        ilk_atomic_fetch_and(&ring->flags, ~side->sleeps, memory_order_relaxed);
        ILK__REACHES(SPSC_WAKES, true);
        ilk_park_wake(&ring->flags, ILK_PARK_ALL);
    }
    const void *const watched_word = spsc_watched_word(ring, side->event);
    const bool is_watched = take_spsc_watch(ring, side, flags);
    if ((flags & (side->arming | side->armed)) != 0) {
        spsc_notify(ring, side); /* the ring may be gone afterwards */
    }
    if (is_watched) {
        ILK__REACHES(SPSC_NOTIFIES_SETS, true);
        ilk__watchers_notify(watched_word);
    }
}

/* `side`: the one that did not publish. */
static void spsc_wake(ilk_spsc *ring, const struct spsc_side *side, uint64_t counter, uint64_t *period)
    ILK_NONBLOCKING {
    const uint32_t waits = side->sleeps | side->arming | side->armed | side->watched;
    if ((ilk__spsc_flags(ring) & (waits | side->fenced | side->watch_fenced)) == 0) {
        return;
    }
    /* SP20 seq_cst, pairs with itself (raising flags where FENCED was up).
     * Forbids: we publish and find no flag; the other side raises it and misses what we published. */
    ilk_atomic_fence(memory_order_seq_cst);
    const uint32_t flags = ilk__spsc_flags(ring);
    if ((flags & waits) == 0) {
        spsc_drop_fenced(ring, side, flags, counter, period);
        return;
    }
    spsc_wake_flagged(ring, side, flags);
}

void ilk__spsc_wake_consumer(ilk_spsc *ring) ILK_NONBLOCKING {
    spsc_wake(ring, &spsc_consumer, own_tail(ring), &ring->push_epoch);
}

void ilk__spsc_wake_drained_consumer(ilk_spsc *ring) ILK_NONBLOCKING {
    ilk_atomic_fence(memory_order_seq_cst); /* SP20 */
    const uint32_t flags = ilk__spsc_flags(ring);
    if ((flags & ILK__SPSC_DRAINABLE) != 0) {
        spsc_wake_flagged(ring, &spsc_consumer, flags);
    }
}

size_t ilk__spsc_pushed_slow(ilk_spsc *ring, size_t count) ILK_NONBLOCKING {
    uint32_t flags = ilk__spsc_flags(ring);
    if ((flags & ILK__SPSC_ALWAYS_FENCED) != 0) {
        /* SP27 seq_cst, pairs with itself (close; a push; a reservation).
         * Forbids: a push publishes, or a reservation is announced, and misses CLOSED; a consumer that saw
         * DRAINABLE misses the push or the reservation. */
        ilk_atomic_fence(memory_order_seq_cst);
        flags = ilk__spsc_flags(ring);
    }
    if ((flags & ILK__SPSC_CLOSED) != 0) {
        /* SP9 acq_rel, pairs with SP10.
         * Release carries tail to a consumer that comes second; acquire its head to us if we do.
         * If weaker: the consumer seals over an element, or we take back one that was popped. */
        flags = ilk_atomic_fetch_or(&ring->flags, ILK__SPSC_LAST_PUSH, memory_order_acq_rel);
        ILK__REACHES(SPSC_PUSH_BESIDE_CLOSE, (flags & ILK__SPSC_SEALED) == 0);
        if ((flags & ILK__SPSC_SEALED) != 0) {
            uint64_t tail = own_tail(ring);
            /* SP11 relaxed: SP9 has read SEALED, raised after the consumer's last head (SP10), and the slots
             * are never written again. */
            uint64_t head = ilk_atomic_load(&ring->head, memory_order_relaxed);
            size_t refused = (size_t)(tail - head);
            refused = refused < count ? refused : count;
            /* SP12 relaxed: a sealed consumer does not read it; only count does. */
            ilk_atomic_store(&ring->tail, tail - refused, memory_order_relaxed);
            ILK__REACHES(SPSC_PUSH_TAKEN_BACK, refused > 0);
            count -= refused;
        }
    }
    ilk__spsc_wake_consumer(ring);
    return count;
}

void ilk__spsc_popped_slow(ilk_spsc *ring) ILK_NONBLOCKING {
    spsc_wake(ring, &spsc_producer, own_head(ring), &ring->pop_epoch);
}

static size_t probe_elements(ilk_spsc *ring) ILK_NONBLOCKING {
    ring->tail_seen = ilk_atomic_load(&ring->tail, memory_order_acquire); /* SP3 */
    return (size_t)(ring->tail_seen - own_head(ring));
}

bool ilk__spsc_find_last(ilk_spsc *ring, const char *call) ILK_NONBLOCKING {
    if (is_shown(ring)) {
        ilk__spsc_report_pop_while_shown(ring, call);
    }
    if (ring->sealed != 0) {
        return false;
    }
    /* SP13 acquire, pairs with SP15.
     * Carries: all pushes that did not see CLOSED, and the announcement of every open reservation.
     * If weaker: we seal the ring over an element in it. */
    (void)ilk_atomic_load(&ring->flags, memory_order_acquire);
    /* SP14 acquire, pairs with SP16 (ending a reservation). Before tail, which then has what an ended
     * reservation committed. */
    bool reserved = ilk_atomic_load(&ring->reserved, memory_order_acquire) != 0;
    if (probe_elements(ring) > 0) {
        return true;
    }
    ILK__REACHES(SPSC_CLOSED_OVER_RESERVATION, reserved);
    if (reserved) {
        return false;
    }
    /* SP10 acq_rel, pairs with SP9: we see the tail of a producer that came first, and it sees our head. */
    uint32_t flags = ilk_atomic_fetch_or(&ring->flags, ILK__SPSC_SEALED, memory_order_acq_rel);
    if ((flags & ILK__SPSC_LAST_PUSH) != 0 && probe_elements(ring) > 0) {
        ILK__REACHES(SPSC_SEAL_AFTER_PUSH, true);
        return true;
    }
    ring->sealed = 1;
    return false;
}

void ilk_spsc_close(ilk_spsc *ring) {
    uint32_t flags = ilk_atomic_fetch_or(&ring->flags, ILK__SPSC_CLOSED, memory_order_relaxed); /* SP1 */
    if ((flags & ILK__SPSC_ALWAYS_FENCED) != 0) {
        ilk_atomic_fence(memory_order_seq_cst); /* SP27 */
    } else {
        ilk__fence_heavy_alone(); /* forbids what SP27 forbids */
    }
    /* SP15 release, pairs with SP13: pushes and reservations that did not see CLOSED are visible to the
     * consumer that seals. */
    flags = ilk_atomic_fetch_or(&ring->flags, ILK__SPSC_DRAINABLE, memory_order_release);
    /* A side that raises a flag later finds CLOSED in the word. */
    spsc_wake_flagged(ring, &spsc_consumer, flags);
    spsc_wake_flagged(ring, &spsc_producer, flags);
}

bool ilk_spsc_is_closed(const ilk_spsc *ring) ILK_NONBLOCKING {
    return (ilk_atomic_load(&ring->flags, memory_order_acquire) & ILK__SPSC_DRAINABLE) != 0; /* SP13 */
}

/* ---- Waiting ---- */

/* From here on the other side sees the flag, or has published what we will see. The flags then. */
static uint32_t raise_flag(ilk_spsc *ring, const struct spsc_side *side, uint32_t flag) {
    /* SP18 relaxed: the fence that follows orders it before the probe of the counter. */
    uint32_t before = ilk_atomic_fetch_or(&ring->flags, flag | side->fenced, memory_order_relaxed);
    if ((before & side->fenced) != 0) {
        ilk_atomic_fence(memory_order_seq_cst); /* SP20 */
    } else {
        ILK__REACHES(SPSC_FENCED_UP, true);
        ilk__fence_heavy_alone();
    }
    return before | flag | side->fenced;
}

/* Parks unless `can_go_on` after the fence. ILK_TIMEDOUT: late. */
static ilk_status sleep_unless(ilk_spsc *ring, const struct spsc_side *side, bool (*can_go_on)(ilk_spsc *),
                               uint64_t deadline_ns) {
    if (ilk__clock_is_past(deadline_ns)) {
        return ILK_TIMEDOUT;
    }
    uint32_t flags = raise_flag(ring, side, side->sleeps);
    ilk_status status = ILK_OK;
    if (!can_go_on(ring)) {
        ILK__REACHES(SPSC_SLEEPS, true);
        status = ilk_park_wait(&ring->flags, flags, deadline_ns);
    }
    /* SP22 relaxed: seen for too long, a flag costs the other side a wake-up, no more. */
    ilk_atomic_fetch_and(&ring->flags, ~side->sleeps, memory_order_relaxed);
    return status;
}

/* Reserved slots are room, and elements shown are there. */
static bool has_room_or_closed(ilk_spsc *ring) {
    return (ilk__spsc_flags(ring) & ILK__SPSC_CLOSED) != 0 || is_reserved(ring) ||
           ilk__spsc_room(ring, own_tail(ring), 1, "ilk_spsc_arm_push") > 0;
}

static bool has_element_or_drained(ilk_spsc *ring) {
    return is_shown(ring) || ilk__spsc_ready(ring, own_head(ring), 1, "ilk_spsc_arm_pop") > 0 ||
           ring->sealed != 0;
}

/* Inlined, so that `pushes` is a constant: an attempt that need not wait pays nothing for the one body. */
ILK_ALWAYS_INLINE ilk_status await_room_or_element(ilk_spsc *ring, bool pushes, size_t element_size,
                                                   uint64_t deadline_ns) {
    uint32_t *failed_spins = pushes ? &ring->push_failed_spins : &ring->pop_failed_spins;
    const int probes = ilk__spin_probes(ILK__SPIN_RING, *failed_spins);
    int probe = 0; /* probes + 1: it has slept */
    bool late = false;
    for (;;) {
        if (pushes ? ilk__spsc_has_room(ring, element_size, "ilk_spsc_push_until")
                   : ilk__spsc_has_element(ring, element_size, "ilk_spsc_pop_until")) {
            if (probe > probes) {
                *failed_spins += 1;
            } else if (probe > 0) {
                *failed_spins = ilk__spin_succeeded(*failed_spins);
            }
            return ILK_OK;
        }
        if (pushes ? (ilk__spsc_flags(ring) & ILK__SPSC_CLOSED) != 0 : ring->sealed != 0) {
            return ILK_CLOSED;
        }
        if (late) {
            return ILK_TIMEDOUT;
        }
        if (probe < probes) {
            ilk__spin_pause(ILK__SPIN_RING, probe);
            probe++;
        } else {
            late = sleep_unless(ring, pushes ? &spsc_producer : &spsc_consumer,
                                pushes ? has_room_or_closed : has_element_or_drained,
                                deadline_ns) == ILK_TIMEDOUT;
            probe = probes + 1;
        }
    }
}

/* Diagnosis watches. */
ILK_COLD static ilk_status spsc_wait_watched(ilk_spsc *ring, bool pushes, size_t element_size,
                                             uint64_t deadline_ns, const void *site) {
    struct ilk__idle_watch watch;
    ilk__watch_ring_begin(&watch, ring, ILK_OBJECT_SPSC, pushes, deadline_ns, site);
    const ilk_status status = await_room_or_element(ring, pushes, element_size, deadline_ns);
    ilk__watch_idle_end(&watch);
    return status;
}

ILK_NOINLINE ilk_status ilk__spsc_await_room_slow(ilk_spsc *ring, size_t element_size, uint64_t deadline_ns) {
    return ilk__watches_idle() ? spsc_wait_watched(ring, true, element_size, deadline_ns, ILK__CALLER)
                               : await_room_or_element(ring, true, element_size, deadline_ns);
}

ILK_NOINLINE ilk_status ilk__spsc_await_element_slow(ilk_spsc *ring, size_t element_size,
                                                     uint64_t deadline_ns) {
    return ilk__watches_idle() ? spsc_wait_watched(ring, false, element_size, deadline_ns, ILK__CALLER)
                               : await_room_or_element(ring, false, element_size, deadline_ns);
}

/* ---- The hook ---- */

void ilk_spsc_set_notify(ilk_spsc *ring, ilk_notify function, void *context) {
    const uint32_t arms = ILK__SPSC_CONSUMER_ARMING | ILK__SPSC_CONSUMER_ARMED | ILK__SPSC_PRODUCER_ARMING |
                          ILK__SPSC_PRODUCER_ARMED;
    /* SP25 acquire, pairs with SP8: a thread that took an arm before is counted.
     * If weaker: a call is under way that we do not wait for. */
    ilk_atomic_fetch_and(&ring->flags, ~arms, memory_order_acquire);
    hook_await_calls(&ring->hook_calls, ring);
    ring->notify = function;
    ring->notify_context = context;
}

/* The last step decides the answer: it puts ARMED in the place of ARMING, if that is still up. docs/rings.md
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
        /* SP24 release, pairs with SP8: carries the hook. Relaxed where it fails: the flags are judged
         * anew. */
        if (ilk_atomic_compare_exchange(&ring->flags, &flags, (flags & ~side->arming) | side->armed,
                                        memory_order_release, memory_order_relaxed)) {
            ILK__REACHES(SPSC_ARMED, true);
            return true;
        }
    }
    ILK__REACHES(SPSC_ARM_TAKEN, true);
    return false;
}

bool ilk_spsc_arm_pop(ilk_spsc *ring) {
    return spsc_arm(ring, &spsc_consumer, has_element_or_drained, "ilk_spsc_arm_pop");
}

bool ilk_spsc_arm_push(ilk_spsc *ring) {
    return spsc_arm(ring, &spsc_producer, has_room_or_closed, "ilk_spsc_arm_push");
}
