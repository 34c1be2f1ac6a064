/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_barrier. One 64-bit word holds the number of the round and its arrivals, so that arriving, completing a
 * round and taking an arrival back are one step each. Parties sleep on a second word, which counts the parties
 * that have left complete rounds and is read first. docs/rings.md has what must not happen.
 *
 *   state            moved by                                to
 *   (r, n)           a party, n + 1 < parties                (r, n + 1)
 *   (r, parties-1)   the last party                          (r + 1, 0); then leaves and wakes
 *   (r, n)           a party of round r whose time is up     (r, n - 1)
 *
 *   left             moved by                                to
 *   2d + b           a party of a complete round             2(d + 1) + b: its last touch; wakes by address if b
 *   2d               a destroyer, d < rounds * parties       2d + 1, and sleeps
 * The barrier is at rest, and may be freed, where d = rounds * parties.
 *
 * A party mistakes a round for its own only if 2^32 rounds of other threads fit between two of its probes, and sleeps
 * past the end of its own only if as many departures as `left` counts, 2^31, fit between its probe and its sleep.
 */
#include "diagnostics/misuse.h"
#include "diagnostics/names.h"
#include "diagnostics/observe.h"
#include "platform/reaches.h"
#include "wait/spin.h"
#include <interlock/barrier.h>
#include <interlock/park.h>
#include <stddef.h>

static const uint32_t DESTROYER_SLEEPS = 1;
static const uint32_t ONE_DEPARTURE = 2;

static uint32_t round_of(uint64_t state) {
    return (uint32_t)(state >> 32);
}

static uint32_t arrived_in(uint64_t state) {
    return (uint32_t)state;
}

void ilk_barrier_init(ilk_barrier *barrier, uint32_t parties) {
    if (parties == 0) {
        ilk__misuse("ilk_barrier_init", barrier, "0 parties; a barrier needs at least one");
    }
    /* BR1 relaxed: not shared yet. */
    ilk_atomic_store(&barrier->state, 0, memory_order_relaxed);
    ilk_atomic_store(&barrier->left, 0, memory_order_relaxed); /* BR1 */
    barrier->parties = parties;
}

/* The caller's last touch of a barrier whose round is complete, but for the wake-up by address. */
static void depart(ilk_barrier *barrier, uint32_t wakes) {
    /* BR5 release, pairs with BR6 (before sleeping) and BR8 (destroying).
     * Carries: the completed round; that we have finished with the barrier.
     * If weaker: a party reads the new `left` and the old round, and sleeps for the next one; or the memory is used
     * anew beside our last read of it. */
    uint32_t before = ilk_atomic_fetch_add(&barrier->left, ONE_DEPARTURE, memory_order_release);
    if (wakes > 0 || ILK_UNLIKELY((before & DESTROYER_SLEEPS) != 0)) {
        ilk_park_wake(&barrier->left, wakes > 0 ? wakes : 1);
    }
}

void ilk_barrier_destroy(ilk_barrier *barrier) {
    const uint64_t state = ilk_atomic_load(&barrier->state, memory_order_relaxed); /* BR2 */
    if (arrived_in(state) != 0) {
        ilk__misuse("ilk_barrier_destroy", barrier,
                    "destroyed while %u parties wait for the rest of their round",
                    (unsigned)arrived_in(state));
    }
    const uint32_t at_rest = round_of(state) * barrier->parties * ONE_DEPARTURE;
    for (;;) {
        /* BR8 acquire, pairs with BR5: every party has finished with the barrier. */
        uint32_t left = ilk_atomic_load(&barrier->left, memory_order_acquire);
        if ((left & ~DESTROYER_SLEEPS) == at_rest) {
            break;
        }
        ILK__REACHES(BARRIER_DESTROYER_WAITS, true);
        /* BR9 relaxed: publishes only the wake request; BR5 reads it, both being read-modify-writes of one word. */
        if ((left & DESTROYER_SLEEPS) != 0 ||
            ilk_atomic_compare_exchange(&barrier->left, &left, left | DESTROYER_SLEEPS, memory_order_relaxed,
                                        memory_order_relaxed)) {
            (void)ilk_park_wait(&barrier->left, left | DESTROYER_SLEEPS, ILK_FOREVER);
        }
    }
    ilk__name_forget(barrier);
}

/* False if the round is complete. */
static bool withdraw(ilk_barrier *barrier, uint32_t round) {
    for (;;) {
        uint64_t state = ilk_atomic_load(&barrier->state, memory_order_relaxed); /* BR2 */
        ILK__REACHES(BARRIER_LATE_AND_DONE, round_of(state) != round);
        if (round_of(state) != round) {
            return false;
        }
        /* BR7 release, pairs with BR3 (the next arrival). Passes on what earlier arrivals released.
         * Carries: that we have finished with the barrier.
         * If weaker: the memory is used anew beside our last read of it. */
        if (ilk_atomic_compare_exchange(&barrier->state, &state, state - 1, memory_order_release,
                                        memory_order_relaxed)) {
            ILK__REACHES(BARRIER_WITHDRAWS, true);
            return true;
        }
    }
}

/* Until the round `round` is complete. */
static ilk_status wait_for_round(ilk_barrier *barrier, uint32_t round, uint64_t deadline_ns) {
    for (int probe = 0;;) {
        /* BR6 acquire, pairs with BR5: the round that a party's departure has completed is visible
         * below. */
        uint32_t left = ilk_atomic_load(&barrier->left, memory_order_acquire);
        /* BR4 acquire, pairs with BR3 (release, completing the round): we see the work of all parties. */
        if (round_of(ilk_atomic_load(&barrier->state, memory_order_acquire)) != round) {
            return ILK_OK;
        }
        if (probe < ILK__SPIN_BARRIER.probes) {
            ilk__spin_pause(ILK__SPIN_BARRIER, probe);
            probe++; /* counts no wake-ups: they have no bound */
        } else if (ilk_park_wait(&barrier->left, left, deadline_ns) == ILK_TIMEDOUT &&
                   withdraw(barrier, round)) {
            return ILK_TIMEDOUT;
        }
    }
}

static ilk_status barrier_wait_at(ilk_barrier *barrier, uint64_t deadline_ns, bool *last, const void *site) {
    /* BR2 relaxed: a hint; BR3, BR4 and BR7 decide. */
    uint64_t state = ilk_atomic_load(&barrier->state, memory_order_relaxed);
    bool is_last;
    uint64_t next;
    do {
        is_last = arrived_in(state) + 1 == barrier->parties;
        next = is_last ? (uint64_t)(round_of(state) + 1) << 32 : state + 1;
        /* BR3 acq_rel, pairs with itself, with BR4 and with BR7 (taking an arrival back).
         * Carries: each party's work to the last, and from there to all.
         * If weaker: a party leaves the round without the others' work. */
    } while (!ilk_atomic_compare_exchange_weak(&barrier->state, &state, next, memory_order_acq_rel,
                                               memory_order_relaxed));
    if (last != NULL) {
        *last = is_last;
    }
    if (is_last) {
        depart(barrier, ILK_PARK_ALL);
        return ILK_OK;
    }
    struct ilk__idle_watch watch = ILK__IDLE_WATCH_NONE;
    ilk__watch_idle(&watch, barrier, ILK_OBJECT_BARRIER, deadline_ns, site);
    const ilk_status status = wait_for_round(barrier, round_of(state), deadline_ns);
    ilk__watch_idle_end(&watch);
    if (status == ILK_OK) {
        depart(barrier, 0);
    }
    return status;
}

ILK_NOINLINE ilk_status ilk_barrier_wait_until(ilk_barrier *barrier, uint64_t deadline_ns, bool *last) {
    return barrier_wait_at(barrier, deadline_ns, last, ILK__CALLER);
}

ILK_NOINLINE bool ilk_barrier_wait(ilk_barrier *barrier) {
    bool last;
    return barrier_wait_at(barrier, ILK_FOREVER, &last, ILK__CALLER) == ILK_OK && last;
}
