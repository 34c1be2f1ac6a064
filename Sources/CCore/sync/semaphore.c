/* SPDX-License-Identifier: Apache-2.0
 *
 * The slow paths of ilk_semaphore; docs/rings.md has what must not happen. The word is drawn in
 * <interlock/inline/semaphore.h>, the queue lock, and what a signal does that finds it held, in
 * wait/queue_lock.h.
 *
 * While HAS_WAITERS is up permits in the word belong to the queue, and every signal comes here.
 * semaphore_settle() releases the queue in the step that leaves the permits not handed over, and only then
 * tells the served: they may free the semaphore (guarantee D).
 * Must not happen: a permit lies beside waiters and an unlocked queue. Only a step from a word whose permits
 * have been handed over, as far as the queue goes, releases the queue.
 */
#include "diagnostics/misuse.h"
#include "diagnostics/names.h"
#include "diagnostics/observe.h"
#include "platform/reaches.h"
#include "sync/semaphore_queue.h"
#include "wait/queue_lock.h"
#include "wait/spin.h"
#include "wait/waiter.h"
#include <interlock/semaphore.h>
#include <stddef.h>

_Static_assert(ILK__SEMAPHORE_QUEUE_LOCKED == ILK__QUEUE_LOCKED, "the queue lock's bits are fixed");
_Static_assert(ILK__SEMAPHORE_QUEUE_CONTENDED == ILK__QUEUE_CONTENDED, "the queue lock's bits are fixed");
_Static_assert(sizeof(struct ilk__waiter_list) == sizeof(TAILQ_HEAD(, ilk__waiter)), "the list is a TAILQ");

static uint32_t permits_in(uint32_t word) {
    return word / ILK__SEMAPHORE_ONE_PERMIT;
}

ILK_COLD ILK_NORETURN static void refuse_permits(const ilk_semaphore *semaphore, uint32_t permits,
                                                 uint32_t there) {
    ilk__misuse("ilk_semaphore_signal", semaphore, "%u permits more than the %u there; the most is %u",
                (unsigned)permits, (unsigned)there, (unsigned)ILK_SEMAPHORE_MAX);
}

/* None that belongs to the queue; also while observed. */
static bool take_if_there(ilk_semaphore *semaphore) ILK_NONBLOCKING {
    uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
    while ((word & ILK__SEMAPHORE_PERMITS) != 0 && (word & ILK__SEMAPHORE_HAS_WAITERS) == 0) {
        /* SE4 acquire, pairs with SE3, SE8 and QL3. As SE2. */
        if (ilk_atomic_compare_exchange_weak(&semaphore->word, &word, word - ILK__SEMAPHORE_ONE_PERMIT,
                                             memory_order_acquire, memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

static bool has_queue(const ilk_semaphore *semaphore) {
    uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
    return (word & ILK__SEMAPHORE_HAS_WAITERS) != 0;
}

TAILQ_HEAD(served_list, ilk__waiter);

/* With the queue lock held, and `seen` what the word held then: adds `permits`, hands over what there is,
 * releases the queue lock, and wakes the served but for `self`, the caller's own waiter or NULL. Permits beyond
 * the maximum are misuse; with `fits`, it becomes false and none is added. */
static void semaphore_settle(ilk_semaphore *semaphore, uint32_t seen, uint32_t permits,
                             struct ilk__waiter *self, bool *fits) {
    struct served_list served = TAILQ_HEAD_INITIALIZER(served);
    uint32_t served_count = 0;
    struct ilk__waiter *waiter, *following;
    uint32_t next;
    ilk_plain_write(&semaphore->waiters, sizeof semaphore->waiters);
    do {
        uint64_t there = (uint64_t)permits_in(seen) + permits;
        const uint32_t takers = served_count + semaphore->waiter_count;
        if (there > (uint64_t)ILK_SEMAPHORE_MAX + takers) {
            if (fits == NULL) {
                refuse_permits(semaphore, permits - takers, permits_in(seen));
            }
            *fits = false;
            permits = 0;
            there = permits_in(seen);
        }
        /* Fewer than before only for the first waiter: a permit it saw was taken before HAS_WAITERS was
         * up. */
        while (served_count > there) {
            ILK__REACHES(SEMAPHORE_UNSERVED, true);
            waiter = TAILQ_LAST(&served, served_list);
            TAILQ_REMOVE(&served, waiter, link);
            TAILQ_INSERT_HEAD(&semaphore->waiters, waiter, link);
            waiter->queued = true;
            semaphore->waiter_count++;
            served_count--;
        }
        while (served_count < there && semaphore->waiter_count > 0) {
            waiter = TAILQ_FIRST(&semaphore->waiters);
            TAILQ_REMOVE(&semaphore->waiters, waiter, link);
            TAILQ_INSERT_TAIL(&served, waiter, link);
            waiter->queued = false;
            semaphore->waiter_count--;
            served_count++;
        }
        next =
            (seen & ILK__SEMAPHORE_OBSERVED) + (uint32_t)(there - served_count) * ILK__SEMAPHORE_ONE_PERMIT;
        if (semaphore->waiter_count > 0) {
            next |= ILK__SEMAPHORE_HAS_WAITERS;
        }
    } while (!ilk__queue_unlock(&semaphore->word, &seen, next));
    ILK__REACHES(SEMAPHORE_WAITS, self != NULL && self->queued);
    TAILQ_FOREACH_SAFE(waiter, &served, link, following) {
        ILK__REACHES(SEMAPHORE_HANDS_OVER, permits > 0);
        if (waiter == self) {
            /* SE7 relaxed: only this thread reads it. */
            ilk_atomic_store(&waiter->granted, 1, memory_order_relaxed);
        } else {
            ilk__waiter_grant(waiter);
        }
    }
}

/* Takes a permit that came meanwhile. ILK_TIMEDOUT: not even queued. */
static ilk_status enqueue_until(ilk_semaphore *semaphore, struct ilk__waiter *self, uint64_t deadline_ns) {
    uint32_t seen;
    if (ilk__queue_lock_until(&semaphore->word, deadline_ns, &seen) != ILK_OK) {
        return ILK_TIMEDOUT;
    }
    ilk_plain_write(&semaphore->waiters, sizeof semaphore->waiters);
    if ((seen & ILK__SEMAPHORE_HAS_WAITERS) == 0) {
        TAILQ_INIT(&semaphore->waiters);
        semaphore->waiter_count = 0;
    }
    TAILQ_INSERT_TAIL(&semaphore->waiters, self, link);
    semaphore->waiter_count++;
    self->queued = true;
    semaphore_settle(semaphore, seen, 0, self, NULL);
    return ILK_OK;
}

/* False: time is up, but a permit has been handed over. */
static bool leave_queue(ilk_semaphore *semaphore, struct ilk__waiter *self) {
    uint32_t seen;
    ilk__queue_lock(&semaphore->word, &seen);
    ilk_plain_write(&semaphore->waiters, sizeof semaphore->waiters);
    bool was_queued = self->queued;
    if (was_queued) {
        TAILQ_REMOVE(&semaphore->waiters, self, link);
        semaphore->waiter_count--;
        self->queued = false;
    }
    ILK__REACHES(SEMAPHORE_LATE_IN_QUEUE, was_queued);
    ILK__REACHES(SEMAPHORE_LATE_AND_SERVED, !was_queued);
    semaphore_settle(semaphore, seen, 0, NULL, NULL);
    return was_queued;
}

static ilk_status wait_slow(ilk_semaphore *semaphore, uint64_t deadline_ns) {
    for (int probe = 0; probe < ILK__SPIN_SEMAPHORE.probes && !has_queue(semaphore); probe++) {
        if (take_if_there(semaphore)) {
            return ILK_OK;
        }
        ilk__spin_pause(ILK__SPIN_SEMAPHORE, probe);
    }
    struct ilk__waiter self = {.kind = 0};
    if (enqueue_until(semaphore, &self, deadline_ns) != ILK_OK) {
        return ILK_TIMEDOUT;
    }
    if (ilk__waiter_sleep(&self, deadline_ns) == ILK_OK) {
        return ILK_OK;
    }
    if (leave_queue(semaphore, &self)) {
        return ILK_TIMEDOUT;
    }
    /* Late, but a permit is on its way. */
    return ilk__waiter_sleep(&self, ILK_FOREVER);
}

bool ilk__semaphore_join(ilk_semaphore *semaphore, struct ilk__waiter *waiter) {
    if (take_if_there(semaphore)) {
        return true;
    }
    ilk_atomic_store(&waiter->granted, ILK__WAITER_WAITS, memory_order_relaxed); /* SE7 */
    (void)enqueue_until(semaphore, waiter, ILK_FOREVER);
    return ilk__waiter_is_granted(waiter);
}

bool ilk__semaphore_leave(ilk_semaphore *semaphore, struct ilk__waiter *waiter) {
    return leave_queue(semaphore, waiter);
}

void ilk_semaphore_init(ilk_semaphore *semaphore, uint32_t permits) {
    if (permits > ILK_SEMAPHORE_MAX) {
        ilk__misuse("ilk_semaphore_init", semaphore, "%u permits; a semaphore holds at most %u",
                    (unsigned)permits, (unsigned)ILK_SEMAPHORE_MAX);
    }
    ilk__object_forget(semaphore);
    const bool watched = ilk__diagnoses_all() && ilk__object_begin(semaphore, ILK_OBJECT_SEMAPHORE, 0,
                                                                   permits == 1 ? ILK__IS_PERMIT : 0) != NULL;
    const uint32_t word = permits * ILK__SEMAPHORE_ONE_PERMIT + (watched ? ILK__SEMAPHORE_OBSERVED : 0);
    /* SE5 relaxed: not shared yet. */
    ilk_atomic_store(&semaphore->word, word, memory_order_relaxed);
    semaphore->waiter_count = 0;
    TAILQ_INIT(&semaphore->waiters);
}

void ilk_semaphore_destroy(ilk_semaphore *semaphore) {
    uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
    if ((word & ILK__SEMAPHORE_HAS_WAITERS) != 0) {
        ilk__misuse("ilk_semaphore_destroy", semaphore, "destroyed while %u threads wait for a permit",
                    (unsigned)semaphore->waiter_count);
    }
    ilk__object_forget(semaphore);
    ilk__name_forget(semaphore);
}

/* ---- Diagnosis ---- */

static void semaphore_stop_watching(ilk_semaphore *semaphore, bool may_wait) {
    /* SE9 acquire, pairs with SE10.
     * Carries: that the semaphore is watched alone.
     * If weaker: a call of ilk_semaphore_observe beside this one is lost. */
    ilk_atomic_fetch_and(&semaphore->word, ~ILK__SEMAPHORE_OBSERVED, memory_order_acquire);
    if (!ilk__object_forget_unwatched(semaphore, may_wait)) {
        /* SE11 relaxed: once more what SE10 has published. */
        ilk_atomic_fetch_or(&semaphore->word, ILK__SEMAPHORE_OBSERVED, memory_order_relaxed);
    }
}

/* With OBSERVED, which goes once the semaphore is not to be watched, or not any more. ILK_SEMAPHORE_INIT sets it: the
 * first call asks. */
ILK_COLD static bool semaphore_decide_watching(ilk_semaphore *semaphore) {
    const struct ilk__object *object = ilk__object_find(semaphore);
    if (object == NULL && ilk__diagnoses_all()) {
        uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
        object =
            ilk__object_begin(semaphore, ILK_OBJECT_SEMAPHORE, 0, permits_in(word) == 1 ? ILK__IS_PERMIT : 0);
    }
    if (object != NULL && ilk__object_watches(object) != 0) {
        return true;
    }
    semaphore_stop_watching(semaphore, true);
    return false;
}

static bool semaphore_is_watched(ilk_semaphore *semaphore) {
    uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
    return ILK_UNLIKELY((word & ILK__SEMAPHORE_OBSERVED) != 0) && semaphore_decide_watching(semaphore);
}

/* Likewise, for calls that a signal handler makes: allocates nothing and does not block. A semaphore whose first call
 * one is is met by the next that may wait. */
ILK_TRUSTED_NONBLOCKING_BEGIN
ILK_COLD static bool semaphore_is_known(ilk_semaphore *semaphore) ILK_NONBLOCKING {
    const struct ilk__object *object = ilk__object_find(semaphore);
    const bool is_watched = object != NULL && ilk__object_watches(object) != 0;
    if (!is_watched && !ilk__diagnoses_all()) {
        semaphore_stop_watching(semaphore, false);
    }
    return is_watched;
}
ILK_TRUSTED_NONBLOCKING_END

static bool semaphore_is_watched_already(ilk_semaphore *semaphore) ILK_NONBLOCKING {
    uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
    return ILK_UNLIKELY((word & ILK__SEMAPHORE_OBSERVED) != 0) && semaphore_is_known(semaphore);
}

ilk_status ilk_semaphore_observe(ilk_semaphore *semaphore, uint32_t what) {
    uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
    const uint32_t traits = permits_in(word) == 1 ? ILK__IS_PERMIT : 0;
    if (ilk__object_watch(semaphore, ILK_OBJECT_SEMAPHORE, what, traits) == NULL) {
        return ILK_NOMEM;
    }
    /* SE10 release, pairs with SE9: the semaphore is watched alone before OBSERVED says so. */
    ilk_atomic_fetch_or(&semaphore->word, ILK__SEMAPHORE_OBSERVED, memory_order_release);
    (void)semaphore_decide_watching(semaphore);
    return ILK_OK;
}

ILK_NOINLINE bool ilk__semaphore_ask_slow(ilk_semaphore *semaphore) {
    if (!semaphore_is_watched(semaphore)) {
        return take_if_there(semaphore);
    }
    struct ilk__watch watch;
    ilk__watch_begin(&watch, semaphore, ILK_OBJECT_SEMAPHORE, ILK__SHARE_WRITE, false, ILK_FOREVER,
                     ILK__CALLER);
    const bool is_taken = take_if_there(semaphore);
    ilk__watch_end(&watch, is_taken, false);
    return is_taken;
}

static ilk_status semaphore_wait_watched(ilk_semaphore *semaphore, uint64_t deadline_ns, const void *site) {
    struct ilk__watch watch;
    ilk__watch_begin(&watch, semaphore, ILK_OBJECT_SEMAPHORE, ILK__SHARE_WRITE, false, deadline_ns, site);
    if (take_if_there(semaphore)) {
        ilk__watch_end(&watch, true, false);
        return ILK_OK;
    }
    ilk__watch_contends(&watch);
    const ilk_status status = wait_slow(semaphore, deadline_ns);
    ilk__watch_end(&watch, status == ILK_OK, false);
    return status;
}

/* ---- The calls ---- */

ILK_NOINLINE void ilk__semaphore_wait_slow(ilk_semaphore *semaphore) {
    (void)(semaphore_is_watched(semaphore) ? semaphore_wait_watched(semaphore, ILK_FOREVER, ILK__CALLER)
                                           : wait_slow(semaphore, ILK_FOREVER));
}

ILK_NOINLINE bool ilk__semaphore_try_wait_slow(ilk_semaphore *semaphore) ILK_NONBLOCKING {
    const bool watched = semaphore_is_watched_already(semaphore);
    const bool is_taken = take_if_there(semaphore);
    if (is_taken && watched) {
        ilk__watch_taken(semaphore, ILK__SHARE_WRITE, ILK__CALLER);
    }
    return is_taken;
}

ILK_NOINLINE ilk_status ilk_semaphore_wait_until(ilk_semaphore *semaphore, uint64_t deadline_ns) {
    if (semaphore_is_watched(semaphore)) {
        return semaphore_wait_watched(semaphore, deadline_ns, ILK__CALLER);
    }
    return ilk_semaphore_try_wait(semaphore) ? ILK_OK : wait_slow(semaphore, deadline_ns);
}

/* Adds permits, or hands them over as semaphore_settle does. */
static void give(ilk_semaphore *semaphore, uint32_t permits, bool *fits) {
    uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
    for (;;) {
        if ((word & ILK__SEMAPHORE_HAS_WAITERS) == 0 || (word & ILK__QUEUE_LOCKED) != 0) {
            if (permits > ILK_SEMAPHORE_MAX - permits_in(word)) {
                if (fits == NULL) {
                    refuse_permits(semaphore, permits, permits_in(word));
                }
                *fits = false;
                return;
            }
            /* SE8 release, pairs with SE2 and SE4 and QL3. As SE3, where no waiter is queued, or where the
             * thread that has the queue hands the permits over. */
            if (ilk_atomic_compare_exchange_weak(&semaphore->word, &word,
                                                 word + permits * ILK__SEMAPHORE_ONE_PERMIT,
                                                 memory_order_release, memory_order_relaxed)) {
                ILK__REACHES(SEMAPHORE_LEFT_TO_HOLDER, (word & ILK__QUEUE_LOCKED) != 0);
                return;
            }
        } else if (ilk__queue_try_lock(&semaphore->word, &word)) {
            semaphore_settle(semaphore, word, permits, NULL, fits);
            return;
        }
    }
}

ILK_NOINLINE void ilk__semaphore_signal_slow(ilk_semaphore *semaphore, uint32_t permits) {
    if (permits == 0) {
        return;
    }
    if (semaphore_is_watched_already(semaphore)) {
        ilk__watch_release(semaphore, ILK__SHARE_WRITE, ILK__CALLER);
    }
    give(semaphore, permits, NULL);
}

ILK_NOINLINE bool ilk_semaphore_try_signal(ilk_semaphore *semaphore, uint32_t permits) {
    if (permits == 0) {
        return true;
    }
    bool fits = true;
    struct ilk__watch watch;
    const bool watched = semaphore_is_watched_already(semaphore);
    if (watched) {
        ilk__watch_release_begin(&watch, semaphore);
    }
    give(semaphore, permits, &fits); /* the semaphore may be gone (D) */
    if (watched && fits) {
        ilk__watch_release_end(&watch, ILK__SHARE_WRITE, ILK__CALLER);
    }
    return fits;
}

int64_t ilk_semaphore_value(ilk_semaphore *semaphore) {
    uint32_t seen;
    ilk__queue_lock(&semaphore->word, &seen);
    int64_t waiting = (seen & ILK__SEMAPHORE_HAS_WAITERS) != 0 ? (int64_t)semaphore->waiter_count : 0;
    int64_t value = (int64_t)permits_in(seen) - waiting;
    semaphore_settle(semaphore, seen, 0, NULL, NULL);
    return value;
}
