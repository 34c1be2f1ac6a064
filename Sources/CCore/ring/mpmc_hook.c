/* SPDX-License-Identifier: Apache-2.0
 *
 * The hook of ilk_mpmc: arming, calling, changing it; and the wait sets that watch a side. docs/rings.md draws the
 * protocols and what must not happen.
 */
#include "diagnostics/misuse.h"
#include "platform/reaches.h"
#include "ring/hook.h"
#include "ring/mpmc_side.h"
#include "ring/watch.h"
#include "wait/watchers.h"

/* ---- Calling ---- */

/* Takes ARMED and ARMING down and counts the take in one step. True if ARMED was up: the caller must call the
 * hook. `waiting`: the word as last read. */
static bool take_arm(const struct mpmc_side *side, uint64_t waiting) ILK_NONBLOCKING {
    while ((waiting & (ILK__MPMC_ARMED | ILK__MPMC_ARMING)) != 0) {
        const uint64_t taken =
            (waiting & ~(ILK__MPMC_ARMED | ILK__MPMC_ARMING)) + ILK__MPMC_ONE_TAKE; /* wraps to 0 */
        /* MP13 acq_rel, pairs with MP14 and with MP22.
         * Acquires the hook installed before; releases that this call is counted.
         * If weaker: we call by an old pointer, or set_notify does not wait for us. Acquire where it fails:
         * set_notify finds the taker counted. */
        if (ilk_atomic_compare_exchange_weak(side->waiters.waiting, &waiting, taken, memory_order_acq_rel,
                                             memory_order_acquire)) {
            return (waiting & ILK__MPMC_ARMED) != 0;
        }
    }
    return false;
}

static bool take_mpmc_watch(const struct mpmc_side *side, uint64_t waiting) ILK_NONBLOCKING {
    /* MP24 acquire, pairs with MP25: the watchers' marks are down.
     * If weaker: we find a mark up that is about to go down, and pass its watcher over. */
    return (waiting & ILK__MPMC_WATCHED) != 0 &&
           (ilk_atomic_fetch_and(side->waiters.waiting, ~ILK__MPMC_WATCHED, memory_order_acquire) &
            ILK__MPMC_WATCHED) != 0;
}

ILK_TRUSTED_NONBLOCKING_BEGIN
static void call_hook(ilk_mpmc *ring, const struct mpmc_side *side, uint64_t waiting) ILK_NONBLOCKING {
    if ((waiting & (ILK__MPMC_ARMED | ILK__MPMC_ARMING)) == 0) {
        return;
    }
    struct ilk__hook_call call;
    hook_begin(&ring->hook_calls, ring, &call);
    if (take_arm(side, waiting)) {
        ILK__REACHES(MPMC_NOTIFIES, true);
        ring->notify(ring->notify_context, side->event);
    }
    hook_end(&ring->hook_calls, &call);
}
ILK_TRUSTED_NONBLOCKING_END

/* The ring may be gone once its hook has been called: of the watchers' side only the address is used then. */
void ilk__mpmc_notify(ilk_mpmc *ring, const struct mpmc_side *side, uint64_t waiting) ILK_NONBLOCKING {
    const bool is_watched = take_mpmc_watch(side, waiting);
    call_hook(ring, side, waiting);
    if (is_watched) {
        ILK__REACHES(MPMC_NOTIFIES_SETS, true);
        ilk__watchers_notify(side->waiters.waiting);
    }
}

/* ---- Changing and arming ---- */

static void disarm(const struct mpmc_side *side) {
    /* MP22 acquire, pairs with MP13: a thread that took an arm before is counted. A read-modify-write must
     * not read an older word.
     * If weaker: a call is under way that we do not wait for. */
    (void)take_arm(side, ilk_atomic_fetch_add(side->waiters.waiting, 0, memory_order_acquire));
}

void ilk_mpmc_set_notify(ilk_mpmc *ring, ilk_notify function, void *context) {
    const struct mpmc_side consumers = consumers_of(ring);
    const struct mpmc_side producers = producers_of(ring);
    disarm(&consumers);
    disarm(&producers);
    hook_await_calls(&ring->hook_calls, ring);
    ring->notify = function;
    ring->notify_context = context;
}

/* The last step decides the answer: it unregisters and raises ARMED, unless a thread has taken ARMING down
 * since. ARMING may stay up: it calls nothing. docs/rings.md has the states. */
static bool mpmc_arm(ilk_mpmc *ring, const struct mpmc_side *side, const char *call) {
    if (ring->notify == NULL) {
        ilk__misuse(call, ring, "no hook is installed");
    }
    if (ilk__mpmc_can_go_on(ring, side)) {
        return false;
    }
    const uint64_t takes = ilk__event_register(side->waiters, ILK__MPMC_ARMING) & ILK__MPMC_TAKES;
    if (!ilk__mpmc_can_go_on(ring, side)) {
        uint64_t now = ilk_atomic_load(side->waiters.waiting, memory_order_relaxed); /* MP6 */
        while ((now & ILK__MPMC_TAKES) == takes) {
            /* MP14 release, pairs with MP13: carries the hook. Relaxed where it fails: the word is judged
             * anew. */
            if (ilk_atomic_compare_exchange_weak(side->waiters.waiting, &now, (now | ILK__MPMC_ARMED) - 1,
                                                 memory_order_release, memory_order_relaxed)) {
                ILK__REACHES(MPMC_ARMED, true);
                return true;
            }
        }
        ILK__REACHES(MPMC_ARM_TAKEN, true);
    }
    ilk_atomic_fetch_sub(side->waiters.waiting, 1, memory_order_relaxed); /* MP6 */
    return false;
}

bool ilk_mpmc_arm_pop(ilk_mpmc *ring) {
    const struct mpmc_side side = consumers_of(ring);
    return mpmc_arm(ring, &side, "ilk_mpmc_arm_pop");
}

bool ilk_mpmc_arm_push(ilk_mpmc *ring) {
    const struct mpmc_side side = producers_of(ring);
    return mpmc_arm(ring, &side, "ilk_mpmc_arm_push");
}

/* ---- Wait sets ---- */

static struct mpmc_side side_of_event(ilk_mpmc *ring, ilk_ring_event event) {
    return event == ILK_READABLE ? consumers_of(ring) : producers_of(ring);
}

void ilk__mpmc_watch_begin(ilk_mpmc *ring, ilk_ring_event event, struct ilk__watcher *watcher) {
    /* MP26 relaxed: read by destroy, which no other call may meet. */
    ilk_atomic_fetch_add(&ring->watchers, 1, memory_order_relaxed);
    ilk__watchers_join(side_of_event(ring, event).waiters.waiting, watcher);
}

void ilk__mpmc_watch_end(ilk_mpmc *ring, ilk_ring_event event, struct ilk__watcher *watcher) {
    ilk__watchers_leave(side_of_event(ring, event).waiters.waiting, watcher);
    ilk_atomic_fetch_sub(&ring->watchers, 1, memory_order_relaxed); /* MP26 */
}

void ilk__mpmc_watch(ilk_mpmc *ring, ilk_ring_event event) {
    const struct mpmc_side side = side_of_event(ring, event);
    /* MP25 release, pairs with MP24: the watcher's mark is down before WATCHED is up. */
    ilk_atomic_fence(memory_order_release);
    (void)ilk__event_register(side.waiters, ILK__MPMC_WATCHED);
    ilk_atomic_fetch_sub(side.waiters.waiting, 1, memory_order_relaxed); /* MP6 */
}

bool ilk__mpmc_is_ready(ilk_mpmc *ring, ilk_ring_event event) {
    const struct mpmc_side side = side_of_event(ring, event);
    return ilk__mpmc_can_go_on(ring, &side);
}
