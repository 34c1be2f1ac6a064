/* SPDX-License-Identifier: Apache-2.0
 *
 * The waking, waiting and closing of ilk_mpmc, by one event count for each side (wait/event_count.h).
 * docs/rings.md says what else must not happen.
 */
#include "diagnostics/observe.h"
#include "platform/clock.h"
#include "platform/reaches.h"
#include "ring/copy.h"
#include "ring/mpmc_side.h"
#include "wait/fenced.h"
#include "wait/spin.h"

/* ---- Waking ---- */

static void mpmc_drop_fenced(const struct mpmc_side *side, uint64_t waiting) ILK_NONBLOCKING {
    const uint64_t position = ilk_atomic_load(side->counter, memory_order_relaxed); /* MP2 */
    const uint64_t counter = position / ILK__MPMC_STEP;
    /* MP23 relaxed: a hint. Two threads that find it old clear FENCED twice. */
    if (ilk__fenced_is_due(counter, ilk_atomic_load(side->period, memory_order_relaxed))) {
        ilk_atomic_store(side->period, ilk__fenced_period(counter), memory_order_relaxed); /* MP23 */
        ilk__event_drop_fenced(side->waiters, waiting, 0);
    }
}

/* After a publication: wakes a registered waiter, calls an armed hook. */
static void mpmc_wake(ilk_mpmc *ring, const struct mpmc_side *side) ILK_NONBLOCKING {
    const uint64_t waiting = ilk__event_wake_one(side->waiters, 0);
    if ((waiting & ~ILK__MPMC_TAKES) == ILK__MPMC_FENCED) { /* TAKES may begin anew: no thread arms */
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

void ilk_mpmc_close(ilk_mpmc *ring) {
    /* MP10 release, pairs with MP11: what the closer did before is visible to a thread that finds the ring
     * closed. This word alone orders pushes against the close. */
    ilk_atomic_fetch_or(&ring->tail, ILK__MPMC_CLOSED, memory_order_release);
    const struct mpmc_side consumers = consumers_of(ring);
    const struct mpmc_side producers = producers_of(ring);
    /* Either arm finds the ring closed, or we find it armed. */
    const uint64_t consumers_waiting = ilk__event_wake_all(consumers.waiters);
    const uint64_t producers_waiting = ilk__event_wake_all(producers.waiters);
    /* Last, when close has done all else (C of notify.h). */
    ilk__mpmc_notify(ring, &consumers, consumers_waiting);
    ilk__mpmc_notify(ring, &producers, producers_waiting);
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

/* Tries once and wakes no thread of the other side: the caller does, by announce(). */
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

/* Passes a wake-up on to one that still sleeps. Not the hook: the thread that published has called it. */
static void unregister_waiter(ilk_mpmc *ring, const struct mpmc_side *side) {
    if (!ilk__event_unregister(side->waiters)) {
        return;
    }
    ILK__REACHES(MPMC_LEAVES_OTHERS, true);
    if (ilk__mpmc_can_go_on(ring, side)) {
        (void)ilk__event_wake_one(side->waiters, 0);
    }
}

static ilk_status sleep_until(ilk_mpmc *ring, const struct mpmc_side *side, void *element,
                              size_t element_size, uint64_t deadline_ns) {
    if (ilk__clock_is_past(deadline_ns)) {
        return attempt(ring, side, element, element_size); /* once more: a closed ring comes here too */
    }
    (void)ilk__event_register(side->waiters, 0);
    ilk_status status;
    bool late = false;
    for (;;) {
        const uint32_t epoch = ilk__event_acknowledge(side->waiters);
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
        late = ilk__event_park(side->waiters, epoch, deadline_ns, 0) == ILK_TIMEDOUT;
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
