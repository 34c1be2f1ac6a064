/* SPDX-License-Identifier: Apache-2.0
 *
 * The waking, waiting and closing of ilk_mpmc, and its hook. The layout, positions and stamps are explained in
 * <interlock/inline/mpmc.h>.
 *
 * Sleeping. The sleeper pays, not the other side:
 *     sleeper                                other side
 *       count itself in (…_waiting)            publish a slot (release store)
 *       heavy fence, raise FENCED              light fence (nothing at run time with membarrier)
 *         or, where FENCED is up: fence        …_waiting is 0? done
 *       look for a slot                        fence
 *       park while the event count is as read         someone counted in? wake one
 *   Must not happen: the sleeper misses the slot and the other side misses the sleeper. A heavy fence
 *   interrupts every running thread, which threads that sleep often cannot afford: so the first one leaves
 *   FENCED behind, which sends the other side through a fence of its own for as long as sleeping goes on.
 *   FENCED is raised after the heavy fence and before its raiser counts itself out: the word was never 0 in
 *   between, so every thread has been made to see it.
 *
 * Waking goes on by itself. One wake-up at a time is under way (the event count is odd), and publishing costs no
 * system call meanwhile:
 *     other side                             sleeper
 *       publish, fence                         wakes up; or was about to park, and finds the event count changed
 *       event count odd? done                         makes the event count even
 *       make it odd, wake one                  fence
 *                                              look for a slot
 *   Must not happen: the other side finds the event count odd and the sleeper misses what it published. The fences
 *   forbid it. A thread that is counted in looks at the event count before it parks and after, so an odd event count always
 *   has someone who will come round, or nobody is left to wake.
 *   A wake-up is not a promise: the slot it was for may be behind one that is still in progress, or
 *   taken by someone who never slept. So whoever leaves a wait passes on: if there is still something
 *   for a sleeper to do, or the ring is drained, it wakes one more. The one who finishes the slot in
 *   progress wakes too. Together: while the slot at head is full, or the ring is closed and
 *   drained, and somebody sleeps for it, a wake-up is under way.
 */
#include "ring/mpmc.h"

#include "diagnostics/misuse.h"
#include "platform/clock.h"
#include "ring/fenced.h"
#include "ring/hook.h"
#include "wait/spin.h"
#include <interlock/park.h>

/* ---- Waking ---- */

/* One side of the ring, for what is written once for both. */
struct mpmc_side {
    ILK_ATOMIC(uint64_t) * waiting;
    ILK_ATOMIC(uint32_t) * event_count;
    ILK_ATOMIC(uint32_t) * failed_spins;
    const ILK_ATOMIC(uint64_t) * counter; /* the other side's: it moves with every wake-up given */
    ILK_ATOMIC(uint64_t) * epoch;
    ilk_ring_event event;
    bool pushes;
};

static struct mpmc_side consumers_of(ilk_mpmc *ring) ILK_NONBLOCKING {
    return (struct mpmc_side){&ring->consumers_waiting,
                              &ring->not_empty,
                              &ring->consumers_failed_spins,
                              &ring->tail,
                              &ring->consumers_epoch,
                              ILK_READABLE,
                              false};
}

static struct mpmc_side producers_of(ilk_mpmc *ring) ILK_NONBLOCKING {
    return (struct mpmc_side){&ring->producers_waiting,
                              &ring->not_full,
                              &ring->producers_failed_spins,
                              &ring->head,
                              &ring->producers_epoch,
                              ILK_WRITABLE,
                              true};
}

/* Takes ARMED and ARMING down in one step with counting the take: true when ARMED was up, and its call is the
 * caller's to make. An arm that is under way finds the count changed. `waiting` is the word as last read. */
static bool take_arm(const struct mpmc_side *side, uint64_t waiting) ILK_NONBLOCKING {
    while ((waiting & (ILK__MPMC_ARMED | ILK__MPMC_ARMING)) != 0) {
        const uint64_t taken =
            (waiting & ~(ILK__MPMC_ARMED | ILK__MPMC_ARMING)) + ILK__MPMC_ONE_TAKE; /* wraps round to 0 */
        /* MP13 acq_rel, pairs with MP14 (release, the arm is up) and with MP22 (acquire, taking the hook
         * away). Acquires the hook installed before; releases that this call is counted.
         * If weaker: we call by an old pointer, or set_notify does not wait for us. Acquire where it fails,
         * for set_notify: another has taken the arm, and is counted. */
        if (ilk_atomic_compare_exchange_weak(side->waiting, &waiting, taken, memory_order_acq_rel,
                                             memory_order_acquire)) {
            return (waiting & ILK__MPMC_ARMED) != 0;
        }
    }
    return false;
}

/* Calls the hook if it is armed for this side: not for an arm that is only under way, which then answers
 * false. It is foreign code that the contract asks to be quick. `waiting` is read behind MP15. */
ILK_TRUSTED_NONBLOCKING_BEGIN
static void mpmc_notify(ilk_mpmc *ring, const struct mpmc_side *side, uint64_t waiting) ILK_NONBLOCKING {
    if ((waiting & (ILK__MPMC_ARMED | ILK__MPMC_ARMING)) == 0) {
        return;
    }
    struct ilk__hook_call call;
    hook_begin(&ring->hook_calls, ring, &call);
    if (take_arm(side, waiting)) {
        ring->notify(ring->notify_context, side->event);
    }
    hook_end(&ring->hook_calls, &call);
}
ILK_TRUSTED_NONBLOCKING_END

/* Wakes one who sleeps on the event count, unless one is under way. Behind MP15. */
static void wake_one(const struct mpmc_side *side) ILK_NONBLOCKING {
    /* MP12 relaxed: an odd event count ends it, and then MP15 orders what we published before the look of the one
     * who makes it even; an even one is a basis for MP8. */
    uint32_t event_count = ilk_atomic_load(side->event_count, memory_order_relaxed);
    do {
        if ((event_count & ILK__MPMC_UNDER_WAY) != 0) {
            return;
        }
        /* MP8 relaxed: MP15, a release fence for it, carries the slot or the closed bit that the wake-up is
         * for to MP9. */
    } while (!ilk_atomic_compare_exchange_weak(side->event_count, &event_count, event_count + 1,
                                               memory_order_relaxed, memory_order_relaxed));
    ilk_park_wake(side->event_count, 1);
}

/* After something has been published, or found: wakes one who sleeps for it. The word of the side, as it then
 * was. */
static uint64_t wake_sleeper(const struct mpmc_side *side) ILK_NONBLOCKING {
    /* MP15 seq_cst, pairs with itself (a sleeper that found FENCED up, or that made the event count even), with
     * a sleeper's heavy fence, and with MP9 (acquire, reading the event count). Forbids: we publish and find nobody
     * counted in, or the event count odd, while the one counted in, or that made it even, misses what we published.
     */
    ilk_atomic_fence(memory_order_seq_cst);
    const uint64_t waiting = ilk_atomic_load(side->waiting, memory_order_relaxed); /* MP6 */
    if ((waiting & ILK__MPMC_THREADS) != 0) {
        wake_one(side);
    }
    return waiting;
}

/* Takes FENCED down where no thread waits, once in FENCED_STEPS steps of the counter. */
static void mpmc_drop_fenced(const struct mpmc_side *side, uint64_t waiting) ILK_NONBLOCKING {
    const uint64_t counter = ilk_atomic_load(side->counter, memory_order_relaxed); /* MP2 */
    const uint64_t epoch = fenced_epoch(counter / ILK__MPMC_STEP);
    /* MP23 relaxed: a hint. Two threads that both find it old drop FENCED twice, no more. */
    if (ilk_atomic_load(side->epoch, memory_order_relaxed) != epoch) {
        ilk_atomic_store(side->epoch, epoch, memory_order_relaxed); /* MP23 */
        /* MP19 relaxed: whoever counts itself in afterwards finds FENCED gone and fences heavily. */
        (void)ilk_atomic_compare_exchange(side->waiting, &waiting, 0, memory_order_relaxed,
                                          memory_order_relaxed);
    }
}

static void mpmc_wake(ilk_mpmc *ring, const struct mpmc_side *side) ILK_NONBLOCKING {
    const uint64_t waiting = wake_sleeper(side);
    if ((waiting & ~ILK__MPMC_TAKES) == ILK__MPMC_FENCED) {
        mpmc_drop_fenced(side, waiting);
    }
    mpmc_notify(ring, side, waiting);
}

void ilk__mpmc_wake_consumers(ilk_mpmc *ring) ILK_NONBLOCKING {
    const struct mpmc_side side = consumers_of(ring);
    mpmc_wake(ring, &side);
}

void ilk__mpmc_wake_producers(ilk_mpmc *ring) ILK_NONBLOCKING {
    const struct mpmc_side side = producers_of(ring);
    mpmc_wake(ring, &side);
}

/* Everyone, whether counted in already or only about to be. The event count is stepped in any case, and stays odd
 * if it was: whoever comes round first makes it even. Behind MP15. */
static void wake_everyone(const struct mpmc_side *side) {
    ilk_atomic_fetch_add(side->event_count, 2, memory_order_relaxed); /* MP8 */
    ilk_park_wake(side->event_count, ILK_PARK_ALL);
}

void ilk_mpmc_close(ilk_mpmc *ring) {
    /* MP10 release, pairs with MP11 (acquire, asking whether it is closed): what the closer did before is
     * visible to those who find the ring closed. Pushes are ordered against it by this word alone. */
    ilk_atomic_fetch_or(&ring->tail, ILK__MPMC_CLOSED, memory_order_release);
    /* An armer either sees the ring closed, or we see it armed. */
    ilk_atomic_fence(memory_order_seq_cst); /* MP15 */
    const struct mpmc_side consumers = consumers_of(ring);
    const struct mpmc_side producers = producers_of(ring);
    wake_everyone(&consumers);
    wake_everyone(&producers);
    /* The hook last: all that close does is done. */
    mpmc_notify(ring, &consumers, ilk_atomic_load(consumers.waiting, memory_order_relaxed)); /* MP6 */
    mpmc_notify(ring, &producers, ilk_atomic_load(producers.waiting, memory_order_relaxed)); /* MP6 */
}

bool ilk_mpmc_is_closed(const ilk_mpmc *ring) ILK_NONBLOCKING {
    /* MP11 acquire, pairs with MP10. */
    return (ilk_atomic_load(&ring->tail, memory_order_acquire) & ILK__MPMC_CLOSED) != 0;
}

/* ---- Waiting ---- */

/* One attempt: ILK_OK done, ILK_CLOSED never, ILK_TIMEDOUT not now. */
static ilk_status attempt(ilk_mpmc *ring, const struct mpmc_side *side, void *element, size_t element_size) {
    if (side->pushes) {
        if (ilk_mpmc_try_push(ring, element, element_size)) {
            return ILK_OK;
        }
        return ilk_mpmc_is_closed(ring) ? ILK_CLOSED : ILK_TIMEDOUT;
    }
    if (ilk_mpmc_try_pop(ring, element, element_size)) {
        return ILK_OK;
    }
    return is_drained(ring) ? ILK_CLOSED : ILK_TIMEDOUT;
}

/* Could this side go on now: a free or full slot at its counter, or nothing to wait for any more? Asks the
 * counter again before it says no: a neighbour may have taken the slot it looked at and left one behind. What
 * the neighbour wrote into the slot's number (MP1) carries the counter's move. */
static bool can_go_on(const ilk_mpmc *ring, const struct mpmc_side *side) ILK_NONBLOCKING {
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

/* A thread is about to sleep, or with ARMING to arm the hook: from here on a thread that publishes sees it,
 * or has published what it will see. The word as it was before. */
static uint64_t register_waiter(const struct mpmc_side *side, uint64_t arming) {
    /* MP16 acquire, pairs with MP18 (release, raising FENCED).
     * Carries: what others had published before the heavy fence of whoever raised it.
     * If weaker: we rely on that fence and miss what it has shown. */
    uint64_t before = ilk_atomic_fetch_add(side->waiting, 1, memory_order_acquire);
    if (arming != 0) {
        /* Counted in first: TAKES does not start anew while we are. */
        before = ilk_atomic_fetch_or(side->waiting, arming, memory_order_acquire); /* MP16 */
    }
    if ((before & ILK__MPMC_FENCED) != 0) {
        ilk_atomic_fence(memory_order_seq_cst); /* MP15 */
    } else {
        ilk__fence_heavy();
        /* MP18 release, pairs with MP16 (acquire, counting in). See there. */
        ilk_atomic_fetch_or(side->waiting, ILK__MPMC_FENCED, memory_order_release);
    }
    return before;
}

/* A sleeper leaves, and passes its wake-up on to those who still sleep: see the top of this file. It does not
 * call the hook: the thread that published has done that. */
static void unregister_waiter(ilk_mpmc *ring, const struct mpmc_side *side) {
    uint64_t before = ilk_atomic_fetch_sub(side->waiting, 1, memory_order_relaxed); /* MP6 */
    if ((before & ILK__MPMC_THREADS) == 1) {
        return;
    }
    if (can_go_on(ring, side)) {
        (void)wake_sleeper(side);
    }
}

/* Takes the wake-up that is under way upon itself, if there is one. The event count to park on, if what follows is
 * a look. */
static uint32_t acknowledge_wake(const struct mpmc_side *side) {
    for (;;) {
        /* MP9 acquire, pairs with MP15 (before the event count is stepped).
         * Carries: the slot, or the closed bit, that the wake-up is for. A read-modify-write, for who has
         * been woken must not read the event count as it was before: it would leave it odd, and nobody would come.
         * If weaker: we read the new event count, miss the slot, and park on the new event count. */
        uint32_t event_count = ilk_atomic_fetch_add(side->event_count, 0, memory_order_acquire);
        if ((event_count & ILK__MPMC_UNDER_WAY) == 0) {
            return event_count;
        }
        /* MP20 relaxed: passes on what the step before it carried; MP15 orders it before our look. */
        if (ilk_atomic_compare_exchange(side->event_count, &event_count, event_count + 1,
                                        memory_order_relaxed, memory_order_relaxed)) {
            ilk_atomic_fence(memory_order_seq_cst); /* MP15 */
            return event_count + 1;
        }
    }
}

static ilk_status sleep_until(ilk_mpmc *ring, const struct mpmc_side *side, void *element,
                              size_t element_size, uint64_t deadline_ns) {
    if (deadline_ns != ILK_FOREVER && deadline_ns <= ilk__clock_now_ns()) {
        /* Asked again, because a closed ring has come here too. */
        ilk_status status = attempt(ring, side, element, element_size);
        return status == ILK_TIMEDOUT ? ILK_TIMEDOUT : status;
    }
    (void)register_waiter(side, 0);
    ilk_status status;
    bool late = false;
    for (;;) {
        uint32_t event_count = acknowledge_wake(side);
        status = attempt(ring, side, element, element_size);
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
        late = ilk_park_wait(side->event_count, event_count, deadline_ns) == ILK_TIMEDOUT;
    }
    unregister_waiter(ring, side);
    return status;
}

static ilk_status spin_then_sleep(ilk_mpmc *ring, const struct mpmc_side *side, void *element,
                                  size_t element_size, uint64_t deadline_ns) {
    /* MP17 relaxed: a hint for how long to look; a count lost between two threads does no harm. */
    uint32_t failed_spins = ilk_atomic_load(side->failed_spins, memory_order_relaxed);
    const int probes = ilk__spin_probes(ILK__SPIN_RING, failed_spins);
    for (int probe = 0; probe < probes; probe++) {
        ilk__spin_pause(ILK__SPIN_RING, probe);
        ilk_status status = attempt(ring, side, element, element_size);
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

ilk_status ilk__mpmc_push_slow(ilk_mpmc *ring, const void *element, size_t element_size,
                               uint64_t deadline_ns) {
    const struct mpmc_side producers = producers_of(ring);
    /* The element is only read: attempt() takes both directions through one pointer. */
    return spin_then_sleep(ring, &producers, (void *)(uintptr_t)element, element_size, deadline_ns);
}

ilk_status ilk__mpmc_pop_slow(ilk_mpmc *ring, void *element, size_t element_size, uint64_t deadline_ns) {
    const struct mpmc_side consumers = consumers_of(ring);
    return spin_then_sleep(ring, &consumers, element, element_size, deadline_ns);
}

/* ---- The hook ---- */

/* Disarms a side for good. */
static void disarm(const struct mpmc_side *side) {
    /* MP22 acquire, pairs with MP13 (acq_rel, taking an arm down): the thread that took one before is
     * counted. A read-modify-write, for it must not read the word as it was before that.
     * If weaker: a call is under way that we do not wait for. */
    (void)take_arm(side, ilk_atomic_fetch_add(side->waiting, 0, memory_order_acquire));
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

/* Registers as a sleeper does, with ARMING, and probes the ring; if there is nothing, ARMED goes up in the
 * step that unregisters, provided nobody has taken ARMING down since. That step, the last atomic one, decides
 * the answer. ARMING may stay up: it calls nobody. docs/rings.md has the states. */
static bool mpmc_arm(ilk_mpmc *ring, const struct mpmc_side *side, const char *call) {
    if (ring->notify == NULL) {
        ilk__misuse(call, ring, "no hook is installed");
    }
    if (can_go_on(ring, side)) {
        return false;
    }
    const uint64_t takes = register_waiter(side, ILK__MPMC_ARMING) & ILK__MPMC_TAKES;
    if (!can_go_on(ring, side)) {
        uint64_t now = ilk_atomic_load(side->waiting, memory_order_relaxed); /* MP6 */
        while ((now & ILK__MPMC_TAKES) == takes) {
            /* MP14 release, pairs with MP13 (acq_rel, taking the arm down): carries the hook. See there.
             * Relaxed where it fails: the word has changed, and is judged anew. */
            if (ilk_atomic_compare_exchange_weak(side->waiting, &now, (now | ILK__MPMC_ARMED) - 1,
                                                 memory_order_release, memory_order_relaxed)) {
                return true;
            }
        }
    }
    ilk_atomic_fetch_sub(side->waiting, 1, memory_order_relaxed); /* MP6 */
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
