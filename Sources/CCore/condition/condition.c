/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_condition: its waiters stand in the queue of its address; its word says whether there are some.
 *
 *   word   0 -> 1   a waiter that joins           under the bucket's lock
 *          1 -> 0   the thread that takes out the last    under the bucket's lock
 * A signaller reads the word without that lock. The mutex orders it: a thread that changed what is waited for took the
 * mutex after the waiter had joined, or before the waiter looked.
 */
#include "platform/reaches.h"
#include "wait/address_queue.h"
#include <interlock/condition.h>
#include <stddef.h>

static void raise(ilk_condition *condition, uint32_t word) {
    /* CN5 relaxed: see above. */
    ilk_atomic_store(&condition->word, word, memory_order_relaxed);
}

void ilk_condition_init(ilk_condition *condition) {
    raise(condition, 0);
}

static void join(ilk_condition *condition, struct ilk__address_waiter *self) {
    struct ilk__address_bucket *bucket = ilk__address_lock(condition);
    ilk__address_enqueue(bucket, condition, self);
    raise(condition, 1);
    ilk__address_unlock(bucket);
}

static void take_out(struct ilk__address_bucket *bucket, ilk_condition *condition,
                     struct ilk__address_waiter *waiter) {
    if (ilk__address_dequeue(bucket, condition, waiter)) {
        raise(condition, 0);
    }
}

static ilk_status sleep_until(ilk_condition *condition, struct ilk__address_waiter *self,
                              uint64_t deadline_ns) {
    if (ilk__waiter_sleep(&self->waiter, deadline_ns) == ILK_OK) {
        return ILK_OK;
    }
    struct ilk__address_bucket *bucket = ilk__address_lock(condition);
    const bool is_late = self->waiter.queued;
    if (is_late) {
        take_out(bucket, condition, self);
    }
    ilk__address_unlock(bucket);
    ILK__REACHES(CONDITION_LATE, is_late);
    ILK__REACHES(CONDITION_LATE_AND_SIGNALLED, !is_late);
    return is_late ? ILK_TIMEDOUT : ilk__waiter_sleep(&self->waiter, ILK_FOREVER);
}

ilk_status ilk_condition_wait_until(ilk_condition *condition, ilk_mutex *mutex, uint64_t deadline_ns) {
    struct ilk__address_waiter self = {.waiter = {.kind = 0}};
    join(condition, &self);
    ilk_mutex_unlock(mutex);
    const ilk_status status = sleep_until(condition, &self, deadline_ns);
    ilk_mutex_lock(mutex);
    return status;
}

ilk_status ilk_condition_write_wait_until(ilk_condition *condition, ilk_rwlock *lock, uint64_t deadline_ns) {
    struct ilk__address_waiter self = {.waiter = {.kind = 0}};
    join(condition, &self);
    ilk_rwlock_write_unlock(lock);
    const ilk_status status = sleep_until(condition, &self, deadline_ns);
    ilk_rwlock_write_lock(lock);
    return status;
}

ilk_status ilk_condition_read_wait_until(ilk_condition *condition, ilk_rwlock *lock, uint64_t deadline_ns) {
    struct ilk__address_waiter self = {.waiter = {.kind = 0}};
    join(condition, &self);
    ilk_rwlock_read_unlock(lock);
    const ilk_status status = sleep_until(condition, &self, deadline_ns);
    ilk_rwlock_read_lock(lock);
    return status;
}

static void signal_up_to(ilk_condition *condition, size_t count) {
    if (ilk_atomic_load(&condition->word, memory_order_relaxed) == 0) { /* CN5 */
        return;
    }
    struct ilk__address_waiters woken = TAILQ_HEAD_INITIALIZER(woken);
    struct ilk__address_bucket *bucket = ilk__address_lock(condition);
    struct ilk__address_queue *queue;
    while (count > 0 && (queue = ilk__address_find(bucket, condition)) != NULL) {
        struct ilk__waiter *first = TAILQ_FIRST(&queue->waiters);
        take_out(bucket, condition, (struct ilk__address_waiter *)first);
        TAILQ_INSERT_TAIL(&woken, first, link);
        count--;
    }
    ilk__address_unlock(bucket);
    struct ilk__waiter *waiter, *following;
    TAILQ_FOREACH_SAFE(waiter, &woken, link, following) {
        ILK__REACHES(CONDITION_SIGNALS, true);
        ilk__waiter_grant(waiter);
    }
}

void ilk_condition_signal(ilk_condition *condition) {
    signal_up_to(condition, 1);
}

void ilk_condition_broadcast(ilk_condition *condition) {
    signal_up_to(condition, SIZE_MAX);
}
