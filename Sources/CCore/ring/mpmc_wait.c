/* SPDX-License-Identifier: Apache-2.0
 *
 * The waking, waiting and closing of ilk_mpmc. docs/rings.md draws the protocols and what must
 * not happen.
 *
 * A wake-up may be spurious: its slot is behind one in progress, or taken by a thread that never slept. So a
 * waiter that leaves wakes one more if its side can go on, and the thread that completes the slot in progress
 * wakes too. Together: while the slot at head is full, or the ring is closed and drained, and a consumer
 * sleeps, a wake-up is under way; likewise for producers.
 */
#include "diagnostics/observe.h"
#include "platform/clock.h"
#include "platform/reaches.h"
#include "ring/copy.h"
#include "ring/fenced.h"
#include "ring/mpmc_side.h"
#include "wait/fence.h"
#include "wait/spin.h"
#include <interlock/park.h>

/* ---- Waking ---- */

/* Unless a wake-up is under way. Behind MP15. */
static void wake_one(const struct mpmc_side *side) ILK_NONBLOCKING {
    /* MP12 relaxed: an odd count ends it, with our publication ordered by MP15 before the probe of the waiter
     * that acknowledges; MP8 checks an even one. */
    uint32_t event_count = ilk_atomic_load(side->event_count, memory_order_relaxed);
    do {
        if ((event_count & ILK__MPMC_WAKE_PENDING) != 0) {
            ILK__REACHES(MPMC_WAKE_PENDS, true);
            return;
        }
        /* MP8 relaxed: MP15, a release fence for it, carries to MP9 the slot or closed bit that the wake-up
         * is for. */
    } while (!ilk_atomic_compare_exchange_weak(side->event_count, &event_count, event_count + 1,
                                               memory_order_relaxed, memory_order_relaxed));
    ILK__REACHES(MPMC_WAKES, true);
    ilk_park_wake(side->event_count, 1);
}

/* After a publication, or when a waiter leaves something to do: wakes a registered waiter. The side's
 * word. */
static uint64_t wake_sleeper(const struct mpmc_side *side) ILK_NONBLOCKING {
    /* MP15 seq_cst, pairs with itself (a waiter that found FENCED up, or acknowledged), with a waiter's fence
     * on every thread, and with MP9.
     * Forbids: we publish and find no waiter registered, or the event count odd; the waiter that registers or
     * acknowledges misses what we published. */
    ilk_atomic_fence(memory_order_seq_cst);
    const uint64_t waiting = ilk_atomic_load(side->waiting, memory_order_relaxed); /* MP6 */
    if ((waiting & ILK__MPMC_THREADS) != 0) {
        wake_one(side);
    }
    return waiting;
}

/* Once in FENCED_STEPS steps of the counter. */
static void mpmc_drop_fenced(const struct mpmc_side *side, uint64_t waiting) ILK_NONBLOCKING {
    const uint64_t counter = ilk_atomic_load(side->counter, memory_order_relaxed); /* MP2 */
    const uint64_t epoch = fenced_epoch(counter / ILK__MPMC_STEP);
    /* MP23 relaxed: a hint. Two threads that find it old clear FENCED twice. */
    if (ilk_atomic_load(side->epoch, memory_order_relaxed) != epoch) {
        ilk_atomic_store(side->epoch, epoch, memory_order_relaxed); /* MP23 */
        if (!ilk__fence_everywhere_is_cheap()) {
            return;
        }
        /* MP19 relaxed: a waiter that registers later finds FENCED gone and fences everywhere. */
        if (ilk_atomic_compare_exchange(side->waiting, &waiting, 0, memory_order_relaxed,
                                        memory_order_relaxed)) {
            ILK__REACHES(MPMC_FENCED_DOWN, true);
        }
    }
}

static void mpmc_wake(ilk_mpmc *ring, const struct mpmc_side *side) ILK_NONBLOCKING {
    const uint64_t waiting = wake_sleeper(side);
    if ((waiting & ~ILK__MPMC_TAKES) == ILK__MPMC_FENCED) {
        mpmc_drop_fenced(side, waiting);
    }
    ilk__mpmc_notify(ring, side, waiting);
}

void ilk__mpmc_wake_consumers(ilk_mpmc *ring) ILK_NONBLOCKING {
    const struct mpmc_side side = consumers_of(ring);
    mpmc_wake(ring, &side);
}

void ilk__mpmc_wake_producers(ilk_mpmc *ring) ILK_NONBLOCKING {
    const struct mpmc_side side = producers_of(ring);
    mpmc_wake(ring, &side);
}

/* Wakes every thread registered or about to be. Steps the event count by two: odd stays odd, for the first
 * waiter to acknowledge. Behind MP15. */
static void wake_everyone(const struct mpmc_side *side) {
    ilk_atomic_fetch_add(side->event_count, 2, memory_order_relaxed); /* MP8 */
    ilk_park_wake(side->event_count, ILK_PARK_ALL);
}

void ilk_mpmc_close(ilk_mpmc *ring) {
    /* MP10 release, pairs with MP11: what the closer did before is visible to a thread that finds the ring
     * closed. This word alone orders pushes against the close. */
    ilk_atomic_fetch_or(&ring->tail, ILK__MPMC_CLOSED, memory_order_release);
    /* Either arm finds the ring closed, or we find it armed. */
    ilk_atomic_fence(memory_order_seq_cst); /* MP15 */
    const struct mpmc_side consumers = consumers_of(ring);
    const struct mpmc_side producers = producers_of(ring);
    wake_everyone(&consumers);
    wake_everyone(&producers);
    /* Last, when close has done all else (C of notify.h). */
    ilk__mpmc_notify(ring, &consumers, ilk_atomic_load(consumers.waiting, memory_order_relaxed)); /* MP6 */
    ilk__mpmc_notify(ring, &producers, ilk_atomic_load(producers.waiting, memory_order_relaxed)); /* MP6 */
}

bool ilk_mpmc_is_closed(const ilk_mpmc *ring) ILK_NONBLOCKING {
    /* MP11 acquire, pairs with MP10: we see what the closer did before. */
    return (ilk_atomic_load(&ring->tail, memory_order_acquire) & ILK__MPMC_CLOSED) != 0;
}

/* ---- Waiting ---- */

static bool try_once(ilk_mpmc *ring, const struct mpmc_side *side, void *element, size_t element_size) {
    return side->pushes ? ilk_mpmc_try_push(ring, element, element_size)
                        : ilk_mpmc_try_pop(ring, element, element_size);
}

/* The same, but the other side is to be told: by announce(). */
static bool try_once_quietly(ilk_mpmc *ring, const struct mpmc_side *side, void *element,
                             size_t element_size) {
    const uint64_t position = side->pushes ? ilk__mpmc_claim_push_slow(ring) : ilk__mpmc_claim_pop_slow(ring);
    if (position == ILK__MPMC_NONE) {
        return false;
    }
    unsigned char *const slot = ilk__mpmc_element(ring, position, element_size);
    if (side->pushes) {
        copy_into_ring(slot, element, element_size);
        ilk__mpmc_publish(ring, position);
    } else {
        copy_out_of_ring(element, slot, element_size);
        ilk__mpmc_give_back(ring, position);
    }
    return true;
}

static void announce(ilk_mpmc *ring, const struct mpmc_side *side) {
    if (side->pushes) {
        ilk__mpmc_pushed(ring);
    } else {
        ilk__mpmc_popped(ring);
    }
}

/* After an attempt that failed: ILK_CLOSED never to be done, ILK_TIMEDOUT not now. */
static ilk_status why_not(ilk_mpmc *ring, const struct mpmc_side *side) {
    ILK__REACHES(MPMC_POP_BEFORE_DRAINED, !side->pushes && (ring->tail & ILK__MPMC_CLOSED) != 0 &&
                                              (ring->tail & ~ILK__MPMC_CLOSED) != ring->head);
    return (side->pushes ? ilk_mpmc_is_closed(ring) : is_drained(ring)) ? ILK_CLOSED : ILK_TIMEDOUT;
}

static ilk_status attempt(ilk_mpmc *ring, const struct mpmc_side *side, void *element, size_t element_size) {
    return try_once(ring, side, element, element_size) ? ILK_OK : why_not(ring, side);
}

bool ilk__mpmc_can_go_on(const ilk_mpmc *ring, const struct mpmc_side *side) ILK_NONBLOCKING {
    const ILK_ATOMIC(uint64_t) *counter = side->pushes ? &ring->tail : &ring->head;
    uint64_t position = ilk_atomic_load(counter, memory_order_relaxed); /* MP2 */
    for (;;) {
        if ((position & ILK__MPMC_CLOSED) != 0) {
            return true; /* tail only: pushes fail at once */
        }
        if (ilk__mpmc_stamp(ring, position) == (side->pushes ? position : position | ILK__MPMC_FULL)) {
            return true;
        }
        uint64_t now = ilk_atomic_load(counter, memory_order_relaxed); /* MP2 */
        if (now == position) {
            return !side->pushes && is_drained(ring);
        }
        position = now;
    }
}

uint64_t ilk__mpmc_register_waiter(const struct mpmc_side *side, uint64_t arming) {
    /* MP16 acquire, pairs with MP18.
     * Carries: what others published before the fence everywhere of the waiter that raised FENCED.
     * If weaker: we rely on that fence and miss what it has shown. */
    uint64_t before = ilk_atomic_fetch_add(side->waiting, 1, memory_order_acquire);
    if (arming != 0) {
        /* Registered first: TAKES does not start anew. */
        before = ilk_atomic_fetch_or(side->waiting, arming, memory_order_acquire); /* MP16 */
    }
    ILK__REACHES(MPMC_FENCED_UP, (before & ILK__MPMC_FENCED) == 0);
    if ((before & ILK__MPMC_FENCED) != 0) {
        ilk_atomic_fence(memory_order_seq_cst); /* MP15 */
    } else {
        ilk__fence_everywhere();
        /* MP18 release, pairs with MP16: our fence everywhere comes before the mark that others rely on. */
        ilk_atomic_fetch_or(side->waiting, ILK__MPMC_FENCED, memory_order_release);
    }
    return before;
}

/* Passes a wake-up on to one that still sleeps. Not the hook: the thread that published has called it. */
static void unregister_waiter(ilk_mpmc *ring, const struct mpmc_side *side) {
    uint64_t before = ilk_atomic_fetch_sub(side->waiting, 1, memory_order_relaxed); /* MP6 */
    if ((before & ILK__MPMC_THREADS) == 1) {
        return;
    }
    ILK__REACHES(MPMC_LEAVES_OTHERS, true);
    if (ilk__mpmc_can_go_on(ring, side)) {
        (void)wake_sleeper(side);
    }
}

/* The event count to park on, provided that a probe follows. */
static uint32_t acknowledge_wake(const struct mpmc_side *side) {
    for (;;) {
        /* MP9 acquire, pairs with MP15.
         * Carries: the slot, or closed bit, that the wake-up is for. A read-modify-write: a woken waiter that
         * read an older event count would leave it odd.
         * If weaker: we read the new event count, miss the slot, and park. */
        uint32_t event_count = ilk_atomic_fetch_add(side->event_count, 0, memory_order_acquire);
        if ((event_count & ILK__MPMC_WAKE_PENDING) == 0) {
            return event_count;
        }
        /* MP20 relaxed: passes on what the step before carried; MP15 orders it before our probe. */
        if (ilk_atomic_compare_exchange(side->event_count, &event_count, event_count + 1,
                                        memory_order_relaxed, memory_order_relaxed)) {
            ILK__REACHES(MPMC_ACKNOWLEDGED, true);
            ilk_atomic_fence(memory_order_seq_cst); /* MP15 */
            return event_count + 1;
        }
    }
}

static ilk_status sleep_until(ilk_mpmc *ring, const struct mpmc_side *side, void *element,
                              size_t element_size, uint64_t deadline_ns) {
    if (deadline_ns != ILK_FOREVER && deadline_ns <= ilk__clock_now_ns()) {
        return attempt(ring, side, element, element_size); /* once more: a closed ring comes here too */
    }
    (void)ilk__mpmc_register_waiter(side, 0);
    ilk_status status;
    bool late = false;
    for (;;) {
        uint32_t event_count = acknowledge_wake(side);
        status = try_once_quietly(ring, side, element, element_size) ? ILK_OK : why_not(ring, side);
        if (status != ILK_TIMEDOUT) {
            break;
        }
        if (late) {
            status = ILK_TIMEDOUT;
            break;
        }
        if (deadline_ns == ILK_FOREVER) {
            ilk__mpmc_refuse_own_slot(side->pushes ? "ilk_mpmc_push_until" : "ilk_mpmc_pop_until", ring,
                                      side->pushes);
        }
        ILK__REACHES(MPMC_SLEEPS, true);
        late = ilk_park_wait(side->event_count, event_count, deadline_ns) == ILK_TIMEDOUT;
    }
    ILK__REACHES(MPMC_PUSH_REFUSED, side->pushes && status == ILK_CLOSED);
    ILK__REACHES(MPMC_POP_DRAINED, !side->pushes && status == ILK_CLOSED);
    unregister_waiter(ring, side);
    if (status == ILK_OK) {
        announce(ring, side); /* may call the hook, foreign code: a wake-up has been passed on by then */
    }
    return status;
}

/* Only tail tells that the ring is closed, and a spinning consumer that reads it takes its cache line from the
 * producer it waits for. bench rings, round trip. */
enum { PROBES_PER_RECHECK = 32 };

static ilk_status spin_then_sleep(ilk_mpmc *ring, const struct mpmc_side *side, void *element,
                                  size_t element_size, uint64_t deadline_ns) {
    /* MP17 relaxed: a hint for how long to spin; a count lost between threads does no harm. */
    uint32_t failed_spins = ilk_atomic_load(side->failed_spins, memory_order_relaxed);
    const int probes = ilk__spin_probes(ILK__SPIN_RING, failed_spins);
    for (int probe = 0; probe < probes; probe++) {
        ilk__spin_pause(ILK__SPIN_RING, probe);
        const bool rechecks = probe % PROBES_PER_RECHECK == PROBES_PER_RECHECK - 1;
        const ilk_status status = rechecks ? attempt(ring, side, element, element_size)
                                  : try_once(ring, side, element, element_size) ? ILK_OK
                                                                                : ILK_TIMEDOUT;
        if (status != ILK_TIMEDOUT) {
            if (failed_spins > 0) {
                ilk_atomic_store(side->failed_spins, ilk__spin_succeeded(failed_spins),
                                 memory_order_relaxed); /* MP17 */
            }
            return status;
        }
    }
    ilk_atomic_store(side->failed_spins, failed_spins + 1, memory_order_relaxed); /* MP17 */
    return sleep_until(ring, side, element, element_size, deadline_ns);
}

static ilk_status mpmc_wait_until(ilk_mpmc *ring, const struct mpmc_side *side, void *element,
                                  size_t element_size, uint64_t deadline_ns, const void *site) {
    if (!ilk__watches_idle()) {
        return spin_then_sleep(ring, side, element, element_size, deadline_ns);
    }
    struct ilk__idle_watch watch;
    ilk__watch_ring_begin(&watch, ring, ILK_OBJECT_MPMC, side->pushes, deadline_ns, site);
    const ilk_status status = spin_then_sleep(ring, side, element, element_size, deadline_ns);
    ilk__watch_idle_end(&watch);
    return status;
}

ILK_NOINLINE ilk_status ilk__mpmc_push_slow(ilk_mpmc *ring, const void *element, size_t element_size,
                                            uint64_t deadline_ns) {
    const struct mpmc_side producers = producers_of(ring);
    /* Only read. */
    return mpmc_wait_until(ring, &producers, (void *)(uintptr_t)element, element_size, deadline_ns,
                           ILK__CALLER);
}

ILK_NOINLINE ilk_status ilk__mpmc_pop_slow(ilk_mpmc *ring, void *element, size_t element_size,
                                           uint64_t deadline_ns) {
    const struct mpmc_side consumers = consumers_of(ring);
    return mpmc_wait_until(ring, &consumers, element, element_size, deadline_ns, ILK__CALLER);
}
