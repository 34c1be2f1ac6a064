/* SPDX-License-Identifier: Apache-2.0
 *
 * An event count on which threads sleep until something has been published, at no cost to a thread that publishes
 * while none sleeps. The sleeper pays.
 *
 *     sleeper                                   publisher
 *       registers in `waiting`                    publishes (release)
 *       heavy fence, raises FENCED                light fence (nothing at run time with membarrier)
 *         or, where FENCED is up: fence           waiting == 0? done
 *       probes for what it wants                  fence
 *       parks while the epoch is as read          a thread registered? wakes one
 *   Must not happen: the sleeper misses what was published, and the publisher misses the sleeper. A heavy fence
 *   interrupts every running thread, which threads that sleep often cannot afford: so the first one leaves FENCED
 *   behind, and publishers fence for as long as sleeping goes on.
 *
 * One wake-up at a time is under way: the epoch is odd from the wake-up to its acknowledgement.
 *     publisher                                 sleeper
 *       publishes, fence                          wakes up, or was about to park and finds the epoch changed
 *       epoch odd? done                           makes the epoch even
 *       makes it odd, wakes one                   fence
 *                                                 probes
 *   Must not happen: the publisher finds the epoch odd, and the sleeper misses what it published. A wake-up is no
 *   promise of work: a thread that leaves with work in its hands, or finds that there is more, wakes the next one.
 *
 * Source: Vyukov, "Eventcount" (2008); Dekker's handshake with an asymmetric fence (membarrier(2)).
 */
#ifndef INTERLOCK_WAIT_EVENT_COUNT_H
#define INTERLOCK_WAIT_EVENT_COUNT_H

#include <interlock/inline/fence.h>
#include <interlock/status.h>
#include <stdint.h>

/* `waiting`, from the low end:
 *   bits 0 to 15  registered threads
 *   FENCED        the word has been other than 0 since a heavy fence; publishers fence. Raised by a thread about to
 *                 sleep, after its fence; cleared by a publisher, now and then, when none is registered
 *   CALLS         the owner of the event count wants to hear of publications that find no thread registered */
#define ILK__EVENT_THREADS UINT32_C(0xFFFF)
#define ILK__EVENT_FENCED UINT32_C(0x10000)
#define ILK__EVENT_CALLS UINT32_C(0x20000)

struct ilk__event_count {
    ILK_ATOMIC(uint32_t) waiting;
    ILK_ATOMIC(uint32_t) epoch;  /* slept on; odd while a wake-up is under way */
    ILK_ATOMIC(uint32_t) latest; /* the mark of the thread that has parked last, or 0; a hint */
    ILK_ATOMIC(uint32_t) passes; /* publications that found FENCED and no thread; a hint */
};

/* After publishing: true if ilk__event_wake_one has something to do. */
static inline bool ilk__event_has_waiters(const struct ilk__event_count *event) ILK_NONBLOCKING {
    /* The light fence pairs with the heavy one of a thread that registers. Forbids: we publish and read 0, while the
     * thread registers and misses what we published. */
    ilk__fence_light();
    /* EC1 relaxed: ordered by that fence, or read again behind EC2. */
    return ilk_atomic_load(&event->waiting, memory_order_relaxed) != 0;
}

/* Wakes one registered thread, unless a wake-up is under way. True: no thread is registered, and CALLS is up. */
bool ilk__event_wake_one(struct ilk__event_count *event) ILK_NONBLOCKING;

/* Wakes every registered thread: each probes again. */
void ilk__event_wake_all(struct ilk__event_count *event);

/* From here on the calling thread is found by every publisher whose publication it may miss. */
void ilk__event_register(struct ilk__event_count *event);
/* A wake-up may have been for the calling thread: it probes once more, and wakes another one if there is work. */
void ilk__event_unregister(struct ilk__event_count *event);

/* Raises or clears CALLS. Raised: a publisher whose publication the caller then misses sees it. */
void ilk__event_call(struct ilk__event_count *event, bool calls);

/* Acknowledges a wake-up that is under way, if there is one. The epoch to park on, if the probe that follows finds
 * nothing. */
uint32_t ilk__event_prepare(struct ilk__event_count *event);

/* Parks until the epoch differs from `epoch`, until `deadline_ns` at most; may return spuriously. `mark`, one bit: of
 * several threads, the one that parked last is woken first. Its core and caches are warm: bench pool, wake-up p99. */
ilk_status ilk__event_park(struct ilk__event_count *event, uint32_t epoch, uint64_t deadline_ns,
                           uint32_t mark);

#endif
