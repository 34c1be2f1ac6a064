/* SPDX-License-Identifier: Apache-2.0
 *
 * The permits of an ilk_semaphore and the queue for them; docs/rings.md has what must not happen. The word is drawn in
 * <interlock/inline/semaphore.h>, the queue lock, and what a signal does that finds it held, in wait/queue_lock.h.
 *
 * In order of arrival: while HAS_WAITERS is up permits in the word belong to the queue, and every signal comes here.
 * settle() releases the queue in the step that leaves the permits not handed over, and only then tells the served: they
 * may free the semaphore (guarantee D).
 * Must not happen: a permit lies beside waiters and an unlocked queue. Only a step from a word whose permits
 * have been handed over, as far as the queue goes, releases the queue.
 *
 * A semaphore that barges: permits beside the queue are any thread's, and settle() calls waiters instead. A called
 * waiter stays in the queue, awake; it takes the queue lock, and is handed a permit if one is left, or sleeps again.
 *
 *   waiter     moved by                                             to
 *   asleep     settle(), for each permit and waiter from the front  called
 *   called     itself, with the queue lock: a permit is left        served
 *   called     itself, with the queue lock: none is left            asleep, passed once more
 *   asleep     itself, late                                         gone
 * Must not happen: permits lie beside waiters of whom fewer are called, and no thread has the queue lock.
 *
 * When the first in the queue has been passed ILK__SEMAPHORE_MOST_PASSED times, IN_TURN is up, and a thread that
 * sees it takes no permit beside the queue until that waiter is served. So each waiter comes to the front, and then
 * has a permit.
 */
#include "sync/semaphore_queue.h"
#include "diagnostics/misuse.h"
#include "platform/reaches.h"
#include "wait/queue_lock.h"
#include "wait/spin.h"
#include <stddef.h>

/* Calls of a waiter for which no permit was left. bench mutex. */
#ifndef ILK__SEMAPHORE_MOST_PASSED
#define ILK__SEMAPHORE_MOST_PASSED ((uint32_t)ILK__SPIN_PROBES(16))
#endif

_Static_assert(ILK__SEMAPHORE_QUEUE_LOCKED == ILK__QUEUE_LOCKED, "the queue lock's bits are fixed");
_Static_assert(ILK__SEMAPHORE_QUEUE_CONTENDED == ILK__QUEUE_CONTENDED, "the queue lock's bits are fixed");
_Static_assert(sizeof(struct ilk__waiter_list) == sizeof(TAILQ_HEAD(, ilk__waiter)), "the list is a TAILQ");

/* A thread in the queue. */
struct sleeper {
    struct ilk__waiter waiter;
    struct sleeper *next_called; /* of those that one settle() has called; the caller's alone */
    bool called;                 /* guarded by the queue lock; the owner reads it after its grant */
    uint32_t passed;             /* calls after which no permit was left; guarded likewise */
};

/* Waiters with a `resume` are no sleepers. */
static struct sleeper *sleeper_of(struct ilk__waiter *waiter) {
    return waiter->resume == NULL ? (struct sleeper *)(void *)waiter : NULL;
}

ILK_COLD ILK_NORETURN static void refuse_permits(const ilk_semaphore *semaphore, uint32_t permits,
                                                 uint32_t there) {
    ilk__misuse("ilk_semaphore_signal", semaphore, "%u permits more than the %u there; the most is %u",
                (unsigned)permits, (unsigned)there, (unsigned)ILK_SEMAPHORE_MAX);
}

/* SE12 relaxed: the count belongs to the queue lock; BARGES does not change; IN_TURN is a hint without the
 * lock: one that sees it late passes the waiter once more. */
static uint32_t queue_word(const ilk_semaphore *semaphore) ILK_NONBLOCKING {
    return ilk_atomic_load(&semaphore->queue, memory_order_relaxed); /* SE12 */
}

/* Whether any thread may take a permit that lies beside waiters: a hint for those without the queue lock. */
static bool barges(const ilk_semaphore *semaphore) ILK_NONBLOCKING {
    return (queue_word(semaphore) & (ILK__SEMAPHORE_BARGES | ILK__SEMAPHORE_IN_TURN)) ==
           ILK__SEMAPHORE_BARGES;
}

static bool may_take(const ilk_semaphore *semaphore, uint32_t word) ILK_NONBLOCKING {
    return (word & ILK__SEMAPHORE_PERMITS) != 0 &&
           ((word & ILK__SEMAPHORE_HAS_WAITERS) == 0 || barges(semaphore));
}

bool ilk__semaphore_take(ilk_semaphore *semaphore) ILK_NONBLOCKING {
    uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
    while (may_take(semaphore, word)) {
        /* SE4 acquire, pairs with SE3, SE8 and QL3. It carries what SE2 does. */
        if (ilk_atomic_compare_exchange_weak(&semaphore->word, &word, word - ILK__SEMAPHORE_ONE_PERMIT,
                                             memory_order_acquire, memory_order_relaxed)) {
            ILK__REACHES(SEMAPHORE_BARGED, (word & ILK__SEMAPHORE_HAS_WAITERS) != 0);
            return true;
        }
    }
    return false;
}

uint32_t ilk__semaphore_waiters(const ilk_semaphore *semaphore) {
    return queue_word(semaphore) & ILK__SEMAPHORE_WAITER_COUNT;
}

TAILQ_HEAD(served_list, ilk__waiter);

/* A change of the queue, by the thread that has its lock. */
struct change {
    ilk_semaphore *semaphore;
    uint32_t seen;   /* what the semaphore's word held */
    uint32_t before; /* what the queue's word held */
    uint32_t queue;  /* what it will hold when the lock is released */
    /* Those that learn of the change then. */
    struct served_list served;
    uint32_t served_count;
    struct sleeper *called;
    struct ilk__waiter *self; /* the caller's own, or NULL */
};

static uint32_t waiters_in(const struct change *change) {
    return change->queue & ILK__SEMAPHORE_WAITER_COUNT;
}

static bool is_in_order(const struct change *change) {
    return (change->queue & ILK__SEMAPHORE_BARGES) == 0;
}

/* Whether the first waiter has been passed often enough. */
static bool is_first_in_turn(const struct change *change) {
    struct ilk__waiter *first = TAILQ_FIRST(&change->semaphore->waiters);
    return first != NULL && sleeper_of(first) != NULL &&
           sleeper_of(first)->passed >= ILK__SEMAPHORE_MOST_PASSED;
}

/* With the queue lock. IN_TURN stays up through the change that serves the waiter: its permit is in the word until the
 * queue is released. */
static void begin_change(struct change *change) {
    ilk_plain_write(&change->semaphore->waiters, sizeof change->semaphore->waiters);
    change->queue = change->before = queue_word(change->semaphore);
    TAILQ_INIT(&change->served);
    if ((change->seen & ILK__SEMAPHORE_HAS_WAITERS) == 0) {
        TAILQ_INIT(&change->semaphore->waiters);
        change->queue &= ILK__SEMAPHORE_BARGES;
    }
    if (!is_first_in_turn(change)) {
        change->queue &= ~ILK__SEMAPHORE_IN_TURN;
    }
}

static void insert(struct change *change, struct ilk__waiter *waiter) {
    TAILQ_INSERT_TAIL(&change->semaphore->waiters, waiter, link);
    waiter->queued = true;
    change->queue++;
}

/* The last one taken out, to where it stood. */
static void put_back(struct change *change, struct ilk__waiter *waiter) {
    if (waiter->before != NULL) {
        TAILQ_INSERT_AFTER(&change->semaphore->waiters, waiter->before, waiter, link);
    } else {
        TAILQ_INSERT_HEAD(&change->semaphore->waiters, waiter, link);
    }
    waiter->queued = true;
    change->queue++;
}

static void remove_waiter(struct change *change, struct ilk__waiter *waiter) {
    waiter->before = TAILQ_PREV(waiter, ilk__waiter_list, link);
    TAILQ_REMOVE(&change->semaphore->waiters, waiter, link);
    waiter->queued = false;
    change->queue--;
}

/* Whether a permit is handed to this waiter; otherwise it is called. */
static bool is_handed_permits(const struct change *change, struct ilk__waiter *waiter) {
    const struct sleeper *sleeper = sleeper_of(waiter);
    return is_in_order(change) || sleeper == NULL || waiter == change->self ||
           sleeper->passed >= ILK__SEMAPHORE_MOST_PASSED;
}

/* Hands out, or calls for, `there` permits. */
static void serve(struct change *change, uint64_t there) {
    struct ilk__waiter *waiter, *following;
    /* Fewer than before: a permit was taken before HAS_WAITERS was up, or by a thread that barged. */
    while (change->served_count > there) {
        ILK__REACHES(SEMAPHORE_UNSERVED, true);
        waiter = TAILQ_LAST(&change->served, served_list);
        TAILQ_REMOVE(&change->served, waiter, link);
        put_back(change, waiter);
        change->served_count--;
    }
    uint64_t left = there - change->served_count;
    TAILQ_FOREACH_SAFE(waiter, &change->semaphore->waiters, link, following) {
        if (left == 0) {
            return;
        }
        left--;
        if (is_handed_permits(change, waiter)) {
            remove_waiter(change, waiter);
            TAILQ_INSERT_TAIL(&change->served, waiter, link);
            change->served_count++;
        } else if (!sleeper_of(waiter)->called) {
            ILK__REACHES(SEMAPHORE_CALLS, true);
            sleeper_of(waiter)->called = true;
            sleeper_of(waiter)->next_called = change->called;
            change->called = sleeper_of(waiter);
        }
    }
}

/* Touches the waiters alone: the semaphore may be gone. */
static void tell(struct change *change) {
    struct ilk__waiter *waiter, *following;
    TAILQ_FOREACH_SAFE(waiter, &change->served, link, following) {
        if (waiter == change->self) {
            /* SE7 relaxed: only this thread reads it. */
            ilk_atomic_store(&waiter->granted, ILK__WAITER_GRANTED, memory_order_relaxed);
        } else {
            ilk__waiter_grant(waiter);
        }
    }
    for (struct sleeper *sleeper = change->called; sleeper != NULL;) {
        /* Read before its owner may be gone. */
        struct sleeper *next = sleeper->next_called;
        ilk__waiter_grant(&sleeper->waiter);
        sleeper = next;
    }
}

/* Adds `permits`, hands over what there is, or calls for it, releases the queue lock, and wakes the served and the
 * called. Permits beyond the maximum are misuse; with `fits`, it becomes false and none is added. */
static void settle(struct change *change, uint32_t permits, bool *fits) {
    ilk_semaphore *semaphore = change->semaphore;
    uint32_t next, stored = change->before;
    do {
        uint64_t there = (uint64_t)ilk__semaphore_permits(change->seen) + permits;
        const uint32_t takers = is_in_order(change) ? change->served_count + waiters_in(change) : 0;
        if (there > (uint64_t)ILK_SEMAPHORE_MAX + takers) {
            if (fits == NULL) {
                refuse_permits(semaphore, permits - takers, ilk__semaphore_permits(change->seen));
            }
            *fits = false;
            permits = 0;
            there = ilk__semaphore_permits(change->seen);
        }
        serve(change, there);
        if (is_first_in_turn(change)) {
            ILK__REACHES(SEMAPHORE_IN_TURN, true);
            change->queue |= ILK__SEMAPHORE_IN_TURN;
        }
        if (change->queue != stored) {
            stored = change->queue;
            ilk_atomic_store(&semaphore->queue, stored, memory_order_relaxed); /* SE12 */
        }
        next = (change->seen & ILK__SEMAPHORE_OBSERVED) +
               (uint32_t)(there - change->served_count) * ILK__SEMAPHORE_ONE_PERMIT +
               (waiters_in(change) > 0 ? ILK__SEMAPHORE_HAS_WAITERS : 0);
    } while (!ilk__queue_unlock(&semaphore->word, &change->seen, next));
    ILK__REACHES(SEMAPHORE_WAITS, change->self != NULL && change->self->queued);
    ILK__REACHES(SEMAPHORE_HANDS_OVER, permits > 0 && change->served_count > 0);
    tell(change);
}

/* Takes a permit that came meanwhile. ILK_TIMEDOUT: not even queued. */
static ilk_status enqueue_until(ilk_semaphore *semaphore, struct ilk__waiter *self, uint64_t deadline_ns) {
    struct change change = {.semaphore = semaphore, .self = self};
    if (ilk__queue_lock_until(&semaphore->word, deadline_ns, &change.seen) != ILK_OK) {
        return ILK_TIMEDOUT;
    }
    begin_change(&change);
    insert(&change, self);
    settle(&change, 0, NULL);
    return ILK_OK;
}

/* Whether the waiter has left the queue. Otherwise a permit or a call is on its way. */
static bool leave_queue(ilk_semaphore *semaphore, struct ilk__waiter *self) {
    struct change change = {.semaphore = semaphore};
    ilk__queue_lock(&semaphore->word, &change.seen);
    begin_change(&change);
    const struct sleeper *sleeper = sleeper_of(self);
    const bool is_queued = self->queued, leaves = is_queued && (sleeper == NULL || !sleeper->called);
    if (leaves) {
        remove_waiter(&change, self);
    }
    ILK__REACHES(SEMAPHORE_LATE_IN_QUEUE, leaves);
    ILK__REACHES(SEMAPHORE_LATE_AND_SERVED, !is_queued);
    ILK__REACHES(SEMAPHORE_LATE_AND_CALLED, is_queued && !leaves);
    settle(&change, 0, NULL);
    return leaves;
}

/* After a call: is served, or sleeps again. */
static void answer_call(ilk_semaphore *semaphore, struct sleeper *self) {
    struct change change = {.semaphore = semaphore, .self = &self->waiter};
    ilk__queue_lock(&semaphore->word, &change.seen);
    begin_change(&change);
    self->called = false;
    /* Unless it is served now. */
    self->passed++;
    ILK__REACHES(SEMAPHORE_PASSED, ilk__semaphore_permits(change.seen) == 0);
    /* SE13 relaxed: the queue lock orders it before the next grant. */
    ilk_atomic_store(&self->waiter.granted, ILK__WAITER_WAITS, memory_order_relaxed);
    settle(&change, 0, NULL);
}

static bool is_queue_before(const ilk_semaphore *semaphore) {
    uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
    return (word & ILK__SEMAPHORE_HAS_WAITERS) != 0 && !barges(semaphore);
}

ilk_status ilk__semaphore_wait_until(ilk_semaphore *semaphore, uint64_t deadline_ns) {
    for (int probe = 0; probe < ILK__SPIN_SEMAPHORE.probes && !is_queue_before(semaphore); probe++) {
        if (ilk__semaphore_take(semaphore)) {
            return ILK_OK;
        }
        ilk__spin_pause(ILK__SPIN_SEMAPHORE, probe);
    }
    struct sleeper self = {.waiter = {.kind = 0}};
    if (enqueue_until(semaphore, &self.waiter, deadline_ns) != ILK_OK) {
        return ILK_TIMEDOUT;
    }
    for (;;) {
        if (ilk__waiter_sleep(&self.waiter, deadline_ns) != ILK_OK) {
            if (leave_queue(semaphore, &self.waiter)) {
                return ILK_TIMEDOUT;
            }
            (void)ilk__waiter_sleep(&self.waiter, ILK_FOREVER);
        }
        if (!self.called) {
            return ILK_OK;
        }
        answer_call(semaphore, &self);
    }
}

bool ilk__semaphore_join(ilk_semaphore *semaphore, struct ilk__waiter *waiter) {
    if (ilk__semaphore_take(semaphore)) {
        return true;
    }
    ilk_atomic_store(&waiter->granted, ILK__WAITER_WAITS, memory_order_relaxed); /* SE7 */
    (void)enqueue_until(semaphore, waiter, ILK_FOREVER);
    return ilk__waiter_is_granted(waiter);
}

bool ilk__semaphore_leave(ilk_semaphore *semaphore, struct ilk__waiter *waiter) {
    return leave_queue(semaphore, waiter);
}

void ilk__semaphore_give(ilk_semaphore *semaphore, uint32_t permits, bool *fits) {
    uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
    for (;;) {
        if ((word & ILK__SEMAPHORE_HAS_WAITERS) == 0 || (word & ILK__QUEUE_LOCKED) != 0) {
            if (permits > ILK_SEMAPHORE_MAX - ilk__semaphore_permits(word)) {
                if (fits == NULL) {
                    refuse_permits(semaphore, permits, ilk__semaphore_permits(word));
                }
                *fits = false;
                return;
            }
            /* SE8 release, pairs with SE2 and SE4 and QL3. It carries what SE3 does, where no waiter is
             * queued, or where the thread that has the queue hands the permits over. */
            if (ilk_atomic_compare_exchange_weak(&semaphore->word, &word,
                                                 word + permits * ILK__SEMAPHORE_ONE_PERMIT,
                                                 memory_order_release, memory_order_relaxed)) {
                ILK__REACHES(SEMAPHORE_LEFT_TO_HOLDER, (word & ILK__QUEUE_LOCKED) != 0);
                return;
            }
        } else if (ilk__queue_try_lock(&semaphore->word, &word)) {
            struct change change = {.semaphore = semaphore, .seen = word};
            begin_change(&change);
            settle(&change, permits, fits);
            return;
        }
    }
}

int64_t ilk_semaphore_value(ilk_semaphore *semaphore) {
    struct change change = {.semaphore = semaphore};
    ilk__queue_lock(&semaphore->word, &change.seen);
    begin_change(&change);
    const int64_t value = (int64_t)ilk__semaphore_permits(change.seen) - (int64_t)waiters_in(&change);
    settle(&change, 0, NULL);
    return value;
}
