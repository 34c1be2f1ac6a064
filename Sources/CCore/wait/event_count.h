/* SPDX-License-Identifier: Apache-2.0
 *
 * An event count on which threads sleep until something has been published, at no cost to a thread that publishes
 * while none sleeps. The sleeper pays. Its two words stand where the owner needs them, apart or together:
 *
 *   waiting   THREADS            + 1 by a thread about to sleep, which then fences as FENCED says; - 1 as it leaves
 *             FENCED             the word has not been 0 since a heavy fence. Up: by a thread about to sleep, after
 *                                that fence, while it is registered. Down: by a publisher that finds no thread, now
 *                                and then (wait/fenced.h). Up from the start where there is no membarrier
 *             the owner's flags  above FENCED. Raised with a fence as THREADS is; cleared as the owner likes
 *   epoch     slept on. Even: no wake-up is under way. Odd: one is, and no other is needed
 *             even -> odd        by a publisher that finds a registered thread, and wakes one
 *             odd -> even        by a registered thread, before each probe: it acknowledges the wake-up
 *             + 2                by wake_all
 *
 *     sleeper                                   publisher
 *       THREADS + 1 (or raises a flag)            publishes (release)
 *       heavy fence, raises FENCED                light fence
 *         or, where that was up: fence            waiting == 0? done
 *       epoch odd? makes it even, fence           fence
 *       probes for what it wants                  THREADS == 0? done
 *       parks while the epoch is as read          epoch odd? done; else makes it odd, wakes one
 *
 * Must not happen:
 *   - The sleeper misses what was published, and the publisher misses the sleeper. Each fences between its store and
 *     its load, or the sleeper executes a heavy fence for both. That interrupts the threads that run, which is too dear
 *     where threads sleep often: so the first sleeper leaves FENCED behind.
 *   - A sleeper relies on FENCED, and a publisher goes by an older 0. FENCED follows the heavy fence.
 *   - The publisher finds the epoch odd, and the thread that makes it even misses what was published. Both fence.
 *   - The epoch stays odd, and a thread sleeps. Each reads it before it parks and after it wakes, by a
 *     read-modify-write.
 *   - A wake-up ends with a thread that does not need it. A wake-up is no promise, so a thread that leaves, with
 *     something in hand or with its time up, wakes the next one if there is more.
 *
 * Source: Vyukov, "Eventcount" (2008); Dekker's handshake with an asymmetric fence (membarrier(2)).
 */
#ifndef INTERLOCK_WAIT_EVENT_COUNT_H
#define INTERLOCK_WAIT_EVENT_COUNT_H

#include "platform/reaches.h"
#include "wait/fence.h"
#include <interlock/status.h>
#include <stdint.h>

#define ILK__EVENT_THREADS UINT64_C(0xFFFFFF)
#define ILK__EVENT_FENCED UINT64_C(0x1000000)
#define ILK__EVENT_FLAGS (~(ILK__EVENT_THREADS | ILK__EVENT_FENCED)) /* the owner's */
#define ILK__EVENT_WAKE_PENDING UINT32_C(1)

/* Passed by value. */
struct ilk__event_count {
    ILK_ATOMIC(uint64_t) * waiting;
    ILK_ATOMIC(uint32_t) * epoch;
};

/* `waiting` to begin with; the epoch begins at 0. */
static inline uint64_t ilk__event_at_rest(void) ILK_NONBLOCKING {
    return ilk__fence_heavy_is_cheap() ? 0 : ILK__EVENT_FENCED;
}

/* After publishing: true if ilk__event_wake_one has something to do. */
static inline bool ilk__event_has_waiters(struct ilk__event_count event) ILK_NONBLOCKING {
    /* A light fence: pairs with the heavy fence of a thread that registers. Forbids: we publish and read 0, while the
     * thread registers and misses what we published. */
    ilk_compiler_fence();
    /* EC1 relaxed: ordered by that fence, or read again behind EC2. */
    return ilk_atomic_load(event.waiting, memory_order_relaxed) != 0;
}

/* Wakes a thread that sleeps, unless a wake-up is under way. The caller stands behind EC2, and a thread is
 * registered. */
void ilk__event_wake_registered(struct ilk__event_count event, uint32_t mark) ILK_NONBLOCKING;

/* After publishing, or where a thread leaves and there is more: wakes one, if a thread is registered and no wake-up is
 * under way; one that parked with `mark`, if it is not 0 and there is one. Answers `waiting`, with the owner's
 * flags. */
static inline uint64_t ilk__event_wake_one(struct ilk__event_count event, uint32_t mark) ILK_NONBLOCKING {
    /* EC2 seq_cst, pairs with itself (a thread that found FENCED up, or made the epoch even), with a registering
     * thread's heavy fence, and with EC5 (acquire, reading the epoch). Forbids: we publish and find no thread
     * registered, or the epoch odd, while the registered thread, or the one that made it even, misses what we
     * published. */
    ilk_atomic_fence(memory_order_seq_cst);
    const uint64_t waiting = ilk_atomic_load(event.waiting, memory_order_relaxed); /* EC1 */
    if ((waiting & ILK__EVENT_THREADS) != 0) {
        ilk__event_wake_registered(event, mark);
    }
    ILK__REACHES(EVENT_FLAGGED, (waiting & ILK__EVENT_THREADS) == 0 && (waiting & ILK__EVENT_FLAGS) != 0);
    return waiting;
}

/* After publishing: every registered thread probes again. Answers as ilk__event_wake_one. */
uint64_t ilk__event_wake_all(struct ilk__event_count event);

/* Takes FENCED down where no thread is registered: `waiting` becomes `rest`, if it has not changed since. */
void ilk__event_drop_fenced(struct ilk__event_count event, uint64_t waiting, uint64_t rest) ILK_NONBLOCKING;

/* From here on every publisher whose publication the calling thread may miss finds it registered, and `flags` of the
 * owner raised, if any. `waiting` before. */
uint64_t ilk__event_register(struct ilk__event_count event, uint64_t flags);

/* A wake-up may have been for the calling thread, and a publisher may have relied on it: it probes once more, and wakes
 * one if there is something. True: others are registered. */
bool ilk__event_unregister(struct ilk__event_count event);

/* Raises or clears a flag of the owner. Raised: a publisher whose publication the caller then misses finds it. */
void ilk__event_set_flag(struct ilk__event_count event, uint64_t flag, bool is_up);

/* By a registered thread. Acknowledges a wake-up that is under way, if there is one. The epoch to park on, if the probe
 * that follows finds nothing. */
uint32_t ilk__event_acknowledge(struct ilk__event_count event);

/* Parks until the epoch differs from `epoch`, until `deadline_ns` at most; may return spuriously. `mark`: one bit by
 * which a publisher may choose among sleepers, or 0. */
ilk_status ilk__event_park(struct ilk__event_count event, uint32_t epoch, uint64_t deadline_ns,
                           uint32_t mark);

#endif
