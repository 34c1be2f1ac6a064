/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_condition: its waiters stand in the queue of its address; its word says whether there are some.
 *
 *   word   0 -> 1   a waiter that joins           under the bucket's lock
 *          1 -> 0   the thread that takes out the last    under the bucket's lock
 * A signaller reads the word without that lock. The mutex orders it: a thread that changed what is waited for took the
 * mutex after the waiter had joined, or before the waiter looked.
 *
 * A waiter that is woken while the signaller holds the mutex would only sleep again for it. So a signaller that owns
 * the waiter's mutex moves the waiter to those that wait under the mutex for a predicate (wait/conditions.h), with one
 * that always holds: the unlock wakes it, and of several some at a time.
 *
 *   waiter                            moved by
 *   in the condition's queue          the signaller, under the bucket's lock, to: granted; or, with `moved`, between
 *                                     the queues, and before it gives the mutex up in the mutex's queue
 *                                     its own thread, late, under the bucket's lock, to: out, timed out
 *   in the mutex's queue              its own thread, under the mutex, to: out
 * Must not happen: a late waiter takes itself out of a queue that it is not in. It finds `moved`, and takes the mutex,
 * which the signaller has until the waiter stands in the mutex's queue.
 */
#include "diagnostics/observe.h"
#include "platform/identity.h"
#include "platform/reaches.h"
#include "sync/mutex_awaited.h"
#include <interlock/condition.h>
#include <stddef.h>

static void raise_waits(ilk_condition *condition, uint32_t word) {
    /* CN5 relaxed: see above. */
    ilk_atomic_store(&condition->word, word, memory_order_relaxed);
}

void ilk_condition_init(ilk_condition *condition) {
    raise_waits(condition, 0);
}

struct waiter {
    struct ilk__condition_waiter entry; /* first */
    ilk_mutex *mutex;                   /* that it waits under, or NULL */
    bool moved;
    struct ilk__idle_watch watch;
};

static struct ilk__waiter *link_of(struct waiter *self) {
    return &self->entry.entry.waiter;
}

/* Watched from here on: once it is signalled, something else may lie at the condition's address. */
static void queue_up(ilk_condition *condition, struct waiter *self, uint64_t deadline_ns, const void *site) {
    ilk__watch_idle(&self->watch, condition, ILK_OBJECT_CONDITION, deadline_ns, site);
    struct ilk__address_bucket *bucket = ilk__address_lock(condition);
    (void)ilk__address_enqueue(bucket, condition, &self->entry.entry);
    raise_waits(condition, 1);
    ilk__address_unlock(bucket);
}

static void take_waiter_out(struct ilk__address_bucket *bucket, ilk_condition *condition,
                            struct waiter *waiter) {
    if (ilk__address_dequeue(bucket, condition, &waiter->entry.entry)) {
        raise_waits(condition, 0);
    }
}

static ilk_status sleep_in_queue(ilk_condition *condition, struct waiter *self, uint64_t deadline_ns) {
    if (ilk__waiter_sleep(link_of(self), deadline_ns) == ILK_OK) {
        return ILK_OK;
    }
    struct ilk__address_bucket *bucket = ilk__address_lock(condition);
    const bool moved = self->moved;
    const bool is_late = !moved && link_of(self)->queued;
    if (is_late) {
        take_waiter_out(bucket, condition, self);
    }
    ilk__address_unlock(bucket);
    ILK__REACHES(CONDITION_LATE, is_late);
    ILK__REACHES(CONDITION_LATE_AND_MOVED, moved);
    ILK__REACHES(CONDITION_LATE_AND_SIGNALLED, !is_late && !moved);
    return is_late ? ILK_TIMEDOUT : moved ? ILK_OK : ilk__waiter_sleep(link_of(self), ILK_FOREVER);
}

static ilk_status sleep_until_signalled(ilk_condition *condition, struct waiter *self, uint64_t deadline_ns) {
    const ilk_status status = sleep_in_queue(condition, self, deadline_ns);
    ilk__watch_idle_end(&self->watch);
    return status;
}

ILK_NOINLINE ilk_status ilk_condition_wait_until(ilk_condition *condition, ilk_mutex *mutex,
                                                 uint64_t deadline_ns) {
    struct waiter self = {.entry = {.predicate = ilk__condition_is_signalled}, .mutex = mutex};
    queue_up(condition, &self, deadline_ns, ILK__CALLER);
    ilk_mutex_unlock(mutex);
    const ilk_status status = sleep_until_signalled(condition, &self, deadline_ns);
    ilk_mutex_lock(mutex);
    if (self.moved) {
        const struct ilk__conditions conditions = ilk__mutex_conditions(mutex);
        (void)ilk__condition_judge_again(conditions, &self.entry);
        ilk__condition_leave(conditions, &self.entry);
    }
    return status;
}

ILK_NOINLINE ilk_status ilk_condition_write_wait_until(ilk_condition *condition, ilk_rwlock *lock,
                                                       uint64_t deadline_ns) {
    struct waiter self = {.mutex = NULL};
    queue_up(condition, &self, deadline_ns, ILK__CALLER);
    ilk_rwlock_write_unlock(lock);
    const ilk_status status = sleep_until_signalled(condition, &self, deadline_ns);
    ilk_rwlock_write_lock(lock);
    return status;
}

ILK_NOINLINE ilk_status ilk_condition_read_wait_until(ilk_condition *condition, ilk_rwlock *lock,
                                                      uint64_t deadline_ns) {
    struct waiter self = {.mutex = NULL};
    queue_up(condition, &self, deadline_ns, ILK__CALLER);
    ilk_rwlock_read_unlock(lock);
    const ilk_status status = sleep_until_signalled(condition, &self, deadline_ns);
    ilk_rwlock_read_lock(lock);
    return status;
}

/* A moved waiter stays where it is until the caller has given its mutex up. */
static void wake(struct waiter *waiter) {
    if (waiter->moved) {
        ILK__REACHES(CONDITION_MOVES, true);
        ilk__condition_join(ilk__mutex_conditions(waiter->mutex), &waiter->entry);
    } else {
        ILK__REACHES(CONDITION_SIGNALS, true);
        ilk__waiter_grant(link_of(waiter));
    }
}

static void signal_up_to(ilk_condition *condition, size_t count) {
    if (ilk_atomic_load(&condition->word, memory_order_relaxed) == 0) { /* CN5 */
        return;
    }
    struct ilk__address_waiters signalled = TAILQ_HEAD_INITIALIZER(signalled);
    struct ilk__address_bucket *bucket = ilk__address_lock(condition);
    for (; count > 0; count--) {
        struct ilk__address_queue *queue = ilk__address_find(bucket, condition);
        if (queue == NULL) {
            raise_waits(condition, 0); /* in a child of fork it is still 1 */
            break;
        }
        struct ilk__waiter *first = TAILQ_FIRST(&queue->waiters);
        struct waiter *waiter = (struct waiter *)first;
        take_waiter_out(bucket, condition, waiter);
        waiter->moved = waiter->mutex != NULL && ilk__mutex_is_of(waiter->mutex, ilk__thread_id());
        TAILQ_INSERT_TAIL(&signalled, first, link);
    }
    ilk__address_unlock(bucket);
    struct ilk__waiter *each, *following;
    TAILQ_FOREACH_SAFE(each, &signalled, link, following) {
        wake((struct waiter *)each);
    }
}

void ilk_condition_signal(ilk_condition *condition) {
    signal_up_to(condition, 1);
}

void ilk_condition_broadcast(ilk_condition *condition) {
    signal_up_to(condition, SIZE_MAX);
}
