/* SPDX-License-Identifier: Apache-2.0
 *
 * The event count: registering, parking, waking. See event_count.h for the protocol.
 */
#include "wait/event_count.h"

#include "platform/park_marked.h"

/* ---- Sleeping ---- */

/* After a step that made the word other than 0, or found it so: `before` is what it was. */
static void fence_as_fenced_says(struct ilk__event_count event, uint64_t before) {
    ILK__REACHES(EVENT_FENCED_UP, (before & ILK__EVENT_FENCED) == 0);
    if ((before & ILK__EVENT_FENCED) != 0) {
        ilk_atomic_fence(memory_order_seq_cst); /* EC2 */
    } else {
        ilk__fence_heavy_alone();
        /* EC4 release, pairs with EC3 (acquire, registering): our heavy fence comes before the mark that
         * others rely on. */
        ilk_atomic_fetch_or(event.waiting, ILK__EVENT_FENCED, memory_order_release);
    }
}

uint64_t ilk__event_register(struct ilk__event_count event, uint64_t flags) {
    /* EC3 acquire, pairs with EC4 (release, raising FENCED).
     * Carries: what others had published before the heavy fence of the thread that raised it.
     * If weaker: we rely on that fence and miss what it has shown. */
    uint64_t before = ilk_atomic_fetch_add(event.waiting, 1, memory_order_acquire);
    if (flags != 0) {
        /* Registered first: the word is not put to rest in between. */
        before = ilk_atomic_fetch_or(event.waiting, flags, memory_order_acquire); /* EC3 */
    }
    fence_as_fenced_says(event, before);
    return before;
}

bool ilk__event_unregister(struct ilk__event_count event) {
    const uint64_t before = ilk_atomic_fetch_sub(event.waiting, 1, memory_order_relaxed); /* EC1 */
    /* A publisher that still found us registered may have woken no thread: the probe that follows sees what it
     * published. */
    ilk_atomic_fence(memory_order_seq_cst); /* EC2 */
    return (before & ILK__EVENT_THREADS) > 1;
}

void ilk__event_set_flag(struct ilk__event_count event, uint64_t flag, bool is_up) {
    if (!is_up) {
        ilk_atomic_fetch_and(event.waiting, ~flag, memory_order_relaxed);                            /* EC1 */
    } else if ((ilk_atomic_load(event.waiting, memory_order_relaxed) & flag) == 0) {                 /* EC1 */
        fence_as_fenced_says(event, ilk_atomic_fetch_or(event.waiting, flag, memory_order_acquire)); /* EC3 */
    }
}

uint32_t ilk__event_acknowledge(struct ilk__event_count event) {
    for (;;) {
        /* EC5 acquire, pairs with EC2 (the fence before a publisher steps the epoch).
         * Carries: what the wake-up is for. A read-modify-write, for a woken thread must not read the epoch as it was
         * before: it would leave it odd, and no thread would acknowledge it.
         * If weaker: we read the new epoch, miss the publication, and park on the new epoch. */
        uint32_t epoch = ilk_atomic_fetch_add(event.epoch, 0, memory_order_acquire);
        if ((epoch & ILK__EVENT_WAKE_PENDING) == 0) {
            return epoch;
        }
        /* EC6 relaxed: passes on what the step before it carried; EC2 orders it before our probe. */
        if (ilk_atomic_compare_exchange(event.epoch, &epoch, epoch + 1, memory_order_relaxed,
                                        memory_order_relaxed)) {
            ILK__REACHES(EVENT_ACKNOWLEDGED, true);
            ilk_atomic_fence(memory_order_seq_cst); /* EC2 */
            return epoch + 1;
        }
    }
}

ilk_status ilk__event_park(struct ilk__event_count event, uint32_t epoch, uint64_t deadline_ns,
                           uint32_t mark) {
    return mark == 0 ? ilk_park_wait(event.epoch, epoch, deadline_ns)
                     : ilk__park_wait_marked(event.epoch, epoch, deadline_ns, mark);
}

/* ---- Waking ---- */

void ilk__event_wake_registered(struct ilk__event_count event, uint32_t mark) ILK_NONBLOCKING {
    /* EC9 relaxed: an odd epoch ends it, and then EC2 orders what we published before the probe of the thread that
     * makes it even; an even one is a basis for EC7. */
    uint32_t epoch = ilk_atomic_load(event.epoch, memory_order_relaxed);
    do {
        if ((epoch & ILK__EVENT_WAKE_PENDING) != 0) {
            ILK__REACHES(EVENT_WAKE_PENDS, true);
            return;
        }
        /* EC7 relaxed: EC2, a release fence for it, carries the publication to EC5. */
    } while (!ilk_atomic_compare_exchange_weak(event.epoch, &epoch, epoch + 1, memory_order_relaxed,
                                               memory_order_relaxed));
    ILK__REACHES(EVENT_WAKES, true);
    if (mark == 0 || !ilk__park_wake_marked(event.epoch, mark)) {
        ilk_park_wake(event.epoch, 1);
    }
}

uint64_t ilk__event_wake_all(struct ilk__event_count event) {
    ilk_atomic_fence(memory_order_seq_cst);                                        /* EC2 */
    const uint64_t waiting = ilk_atomic_load(event.waiting, memory_order_relaxed); /* EC1 */
    /* By two: odd or even as it was. */
    ilk_atomic_fetch_add(event.epoch, 2, memory_order_relaxed); /* EC7 */
    ilk_park_wake(event.epoch, ILK_PARK_ALL);
    return waiting;
}

void ilk__event_drop_fenced(struct ilk__event_count event, uint64_t waiting, uint64_t rest) ILK_NONBLOCKING {
    /* EC8 relaxed: a thread that registers afterwards finds FENCED gone, and executes a heavy fence. */
    if (ilk_atomic_compare_exchange(event.waiting, &waiting, rest, memory_order_relaxed,
                                    memory_order_relaxed)) {
        ILK__REACHES(EVENT_FENCED_DOWN, true);
    }
}
