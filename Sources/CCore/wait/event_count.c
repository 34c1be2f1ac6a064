/* SPDX-License-Identifier: Apache-2.0
 *
 * The event count: registering, parking, waking. See event_count.h for the protocol.
 */
#include "wait/event_count.h"

#include "platform/park_marked.h"
#include "platform/reaches.h"

enum { PASSES_WITH_FENCE = 1024 };

/* After a step that made the word other than 0, or found it so: `before` is what it was. */
static void event_fence(struct ilk__event_count *event, uint32_t before) {
    if ((before & ILK__EVENT_FENCED) != 0) {
        ilk_atomic_fence(memory_order_seq_cst); /* EC2 */
    } else {
        ILK__REACHES(EVENT_FENCED_UP, true);
        ilk__fence_heavy();
        /* EC4 release, pairs with EC3 (acquire, registering): our heavy fence comes before the mark that
         * others rely on. */
        ilk_atomic_fetch_or(&event->waiting, ILK__EVENT_FENCED, memory_order_release);
    }
}

void ilk__event_register(struct ilk__event_count *event) {
    /* EC3 acquire, pairs with EC4 (release, raising FENCED).
     * Carries: what others had published before the heavy fence of the thread that raised it.
     * If weaker: we rely on that fence and miss what it has shown. */
    event_fence(event, ilk_atomic_fetch_add(&event->waiting, 1, memory_order_acquire));
}

void ilk__event_call(struct ilk__event_count *event, bool calls) {
    if (!calls) {
        ilk_atomic_fetch_and(&event->waiting, ~ILK__EVENT_CALLS, memory_order_relaxed);            /* EC1 */
    } else if ((ilk_atomic_load(&event->waiting, memory_order_relaxed) & ILK__EVENT_CALLS) == 0) { /* EC1 */
        event_fence(event,
                    ilk_atomic_fetch_or(&event->waiting, ILK__EVENT_CALLS, memory_order_acquire)); /* EC3 */
    }
}

void ilk__event_unregister(struct ilk__event_count *event) {
    ilk_atomic_fetch_sub(&event->waiting, 1, memory_order_relaxed); /* EC1 */
    /* A publisher that still found us registered may have woken no thread: the probe that follows sees what it
     * published. */
    ilk_atomic_fence(memory_order_seq_cst); /* EC2 */
}

uint32_t ilk__event_prepare(struct ilk__event_count *event) {
    for (;;) {
        /* EC5 acquire, pairs with EC2 (the fence before a publisher steps the epoch).
         * Carries: what the wake-up is for. A read-modify-write, for a woken thread must not read the epoch as it was
         * before: it would leave it odd, and no thread would acknowledge it.
         * If weaker: we read the new epoch, miss the publication, and park on the new epoch. */
        uint32_t epoch = ilk_atomic_fetch_add(&event->epoch, 0, memory_order_acquire);
        if ((epoch & 1) == 0) {
            return epoch;
        }
        /* EC6 relaxed: passes on what the step before it carried; EC2 orders it before our probe. */
        if (ilk_atomic_compare_exchange(&event->epoch, &epoch, epoch + 1, memory_order_relaxed,
                                        memory_order_relaxed)) {
            ILK__REACHES(EVENT_ACKNOWLEDGED, true);
            ilk_atomic_fence(memory_order_seq_cst); /* EC2 */
            return epoch + 1;
        }
    }
}

ilk_status ilk__event_park(struct ilk__event_count *event, uint32_t epoch, uint64_t deadline_ns,
                           uint32_t mark) {
    /* EC11 relaxed: a hint: where no sleeper has the mark, any is woken. */
    ilk_atomic_store(&event->latest, mark, memory_order_relaxed);
    const ilk_status status = ilk__park_wait_marked(&event->epoch, epoch, deadline_ns, mark);
    if (ilk_atomic_load(&event->latest, memory_order_relaxed) == mark) { /* EC11 */
        ilk_atomic_store(&event->latest, 0, memory_order_relaxed);       /* EC11 */
    }
    return status;
}

bool ilk__event_wake_one(struct ilk__event_count *event) ILK_NONBLOCKING {
    /* EC2 seq_cst, pairs with itself (a thread that found FENCED up, or made the epoch even), with a registering
     * thread's heavy fence, and with EC5 (acquire, reading the epoch). Forbids: we publish and find no thread
     * registered, or the epoch odd, while the registered thread, or the one that made it even, misses what we
     * published. */
    ilk_atomic_fence(memory_order_seq_cst);
    uint32_t waiting = ilk_atomic_load(&event->waiting, memory_order_relaxed); /* EC1 */
    if ((waiting & ILK__EVENT_THREADS) == 0) {
        /* EC7 relaxed: a count that is lost between two publishers does no harm. */
        uint32_t passes = ilk_atomic_load(&event->passes, memory_order_relaxed) + 1;
        ilk_atomic_store(&event->passes, passes, memory_order_relaxed); /* EC7 */
        if (passes % PASSES_WITH_FENCE == 0) {
            /* EC8 relaxed: a thread that registers afterwards finds FENCED gone and fences heavily. */
            (void)ilk_atomic_compare_exchange(&event->waiting, &waiting, waiting & ~ILK__EVENT_FENCED,
                                              memory_order_relaxed, memory_order_relaxed);
            ILK__REACHES(EVENT_FENCED_DOWN, true);
        }
        ILK__REACHES(EVENT_CALLS, (waiting & ILK__EVENT_CALLS) != 0);
        return (waiting & ILK__EVENT_CALLS) != 0;
    }
    /* EC9 relaxed: an odd epoch ends it, and then EC2 orders what we published before the probe of the thread that
     * makes it even; an even one is a basis for EC10. */
    uint32_t epoch = ilk_atomic_load(&event->epoch, memory_order_relaxed);
    do {
        if ((epoch & 1) != 0) {
            ILK__REACHES(EVENT_WAKE_PENDS, true);
            return false;
        }
        /* EC10 relaxed: EC2, a release fence for it, carries the publication to EC5. */
    } while (!ilk_atomic_compare_exchange_weak(&event->epoch, &epoch, epoch + 1, memory_order_relaxed,
                                               memory_order_relaxed));
    const uint32_t latest = ilk_atomic_load(&event->latest, memory_order_relaxed); /* EC11 */
    if (latest == 0 || !ilk__park_wake_marked(&event->epoch, latest)) {
        ilk_park_wake(&event->epoch, 1);
    }
    return false;
}

void ilk__event_wake_all(struct ilk__event_count *event) {
    ilk_atomic_fence(memory_order_seq_cst); /* EC2 */
    /* By two: odd or even as it was. */
    ilk_atomic_fetch_add(&event->epoch, 2, memory_order_relaxed); /* EC10 */
    ilk_park_wake(&event->epoch, ILK_PARK_ALL);
}
