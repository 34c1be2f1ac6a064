/* SPDX-License-Identifier: Apache-2.0
 *
 * See conditions.h.
 */
#include "wait/conditions.h"

#include "diagnostics/misuse.h"
#include "platform/local.h"
#include "platform/reaches.h"
#include <interlock/deadline.h>
#include <stddef.h>

/* Signalled waiters that are on their way to the lock at once. With one, threads at a buffer wait for each
 * other's wake-ups, and an element of four producers and four consumers takes 580 ns of one core, with four 300. With
 * no limit the unlock after a broadcast would wake a hundred, to sleep for the lock. bench condition. */
#ifndef ILK__MOST_SIGNALLED
#define ILK__MOST_SIGNALLED 4
#endif

static bool is_task(const struct ilk__condition_waiter *waiter) {
    return waiter->entry.waiter.resume != NULL;
}

/* In four bytes, for a thread's memory is short (platform/local_native.c); never 0, which is for none. Locks that are
 * 16 GB apart have one name: a predicate that waits for the other blocks, which it must not either. */
static uint32_t name_of(const void *lock) {
    const uint32_t name = (uint32_t)((uintptr_t)lock / _Alignof(uint32_t));
    return name != 0 ? name : 1;
}

uint32_t ilk__conditions_begin_judging(const void *lock) {
    struct ilk__thread_state *thread = ilk__thread_state();
    const uint32_t outer = thread->judges;
    thread->judges = name_of(lock);
    return outer;
}

void ilk__conditions_end_judging(uint32_t outer) {
    ilk__thread_state()->judges = outer;
}

bool ilk__condition_holds(const void *lock, const struct ilk__condition_waiter *waiter) {
    const uint32_t outer = ilk__conditions_begin_judging(lock);
    const bool holds = waiter->predicate(waiter->context);
    ilk__conditions_end_judging(outer);
    return holds;
}

void ilk__conditions_report_wait(const void *lock, const char *call) {
    if (ilk__thread_state()->judges == name_of(lock)) {
        ilk__misuse(call, lock, "called by the predicate of a thread that waits under this lock");
    }
}

void ilk__condition_join(struct ilk__conditions conditions, struct ilk__condition_waiter *waiter) {
    struct ilk__address_bucket *bucket = ilk__address_lock(conditions.lock);
    ilk__address_enqueue(bucket, conditions.lock, &waiter->entry)->marks = conditions.marks;
    /* CN1 relaxed: the lock orders it before the next writer's look. */
    ilk_atomic_fetch_or(conditions.marks, conditions.mark, memory_order_relaxed);
    ilk__address_unlock(bucket);
}

bool ilk__condition_is_signalled(void *unused) {
    (void)unused;
    return true;
}

/* How many that write and are like this one are woken, and on their way. Counted apart: threads that signal each other
 * would keep a predicate from its turn for good. */
static uint32_t *woken_like(const struct ilk__condition_waiter *waiter, struct ilk__address_queue *queue) {
    return waiter->predicate == ilk__condition_is_signalled ? &queue->woken_signalled : &queue->woken;
}

/* No writer passes this waiter over for its own sake any more. */
static void arrive(struct ilk__address_bucket *bucket, struct ilk__conditions conditions,
                   struct ilk__condition_waiter *waiter) {
    struct ilk__address_queue *queue = ilk__address_find(bucket, conditions.lock);
    if (waiter->woken && !waiter->reads && !is_task(waiter) && queue != NULL) {
        --*woken_like(waiter, queue);
    }
    waiter->woken = false;
}

void ilk__condition_leave(struct ilk__conditions conditions, struct ilk__condition_waiter *waiter) {
    struct ilk__address_bucket *bucket = ilk__address_lock(conditions.lock);
    arrive(bucket, conditions, waiter);
    if (ilk__address_dequeue(bucket, conditions.lock, &waiter->entry)) {
        ilk_atomic_fetch_and(conditions.marks, ~conditions.mark, memory_order_relaxed); /* CN1 */
    }
    ilk__address_unlock(bucket);
}

bool ilk__condition_judge_again(struct ilk__conditions conditions, struct ilk__condition_waiter *waiter) {
    if (waiter->woken && !is_task(waiter)) {
        ILK__REACHES(CONDITION_LATE_AND_CHOSEN,
                     waiter->entry.waiter.granted != ILK__WAITER_GRANTED); /* the grant is on its way */
        (void)ilk__waiter_sleep(&waiter->entry.waiter, ILK_FOREVER);
    }
    if (ilk__condition_holds(conditions.lock, waiter)) {
        return true;
    }
    ILK__REACHES(CONDITION_WOKEN_TOO_LATE, waiter->woken);
    struct ilk__address_bucket *bucket = ilk__address_lock(conditions.lock);
    arrive(bucket, conditions, waiter);
    /* CN2 relaxed: under the lock: a waiter that is not chosen is not granted. */
    ilk_atomic_store(&waiter->entry.waiter.granted, ILK__WAITER_WAITS, memory_order_relaxed);
    ilk__address_unlock(bucket);
    return false;
}

bool ilk__condition_claim(struct ilk__condition_waiter *waiter) {
    uint32_t waits = ILK__WAITER_WAITS;
    /* CN3 relaxed: decides between writer and canceller. The lock orders the rest. */
    return ilk_atomic_compare_exchange(&waiter->entry.waiter.granted, &waits, ILK__WAITER_GRANTED,
                                       memory_order_relaxed, memory_order_relaxed);
}

/* A task may have to wait for a thread to run on, which waits here: it is never the only one that is woken. `task`: one
 * that writes has been chosen. */
static bool may_be_chosen(const struct ilk__condition_waiter *waiter, struct ilk__address_queue *queue,
                          bool task) {
    if (waiter->woken || waiter->reads) {
        return !waiter->woken;
    }
    const uint32_t most = waiter->predicate == ilk__condition_is_signalled ? ILK__MOST_SIGNALLED : 1;
    return *woken_like(waiter, queue) < most && !(is_task(waiter) && task);
}

struct ilk__condition_waiter *ilk__conditions_choose(struct ilk__conditions conditions, const char *call) {
    ilk__conditions_report_wait(conditions.lock, call);
    struct ilk__address_bucket *bucket = ilk__address_lock(conditions.lock);
    struct ilk__address_queue *queue = ilk__address_find(bucket, conditions.lock);
    if (queue == NULL) { /* in a child of fork */
        ilk_atomic_fetch_and(conditions.marks, ~conditions.mark, memory_order_relaxed); /* CN1 */
    }
    ilk__address_unlock(bucket);
    struct ilk__condition_waiter *chosen = NULL, **next = &chosen;
    if (queue == NULL) {
        return NULL;
    }
    /* The lock is held for writing: none joins, leaves or migrates. */
    bool task = false;
    ILK__REACHES(CONDITION_LEFT_TO_WOKEN, queue->woken > 0);
    struct ilk__waiter *each;
    TAILQ_FOREACH(each, &queue->waiters, link) {
        struct ilk__condition_waiter *waiter = (struct ilk__condition_waiter *)each;
        if (!may_be_chosen(waiter, queue, task) || !ilk__condition_holds(conditions.lock, waiter) ||
            (is_task(waiter) && !ilk__condition_claim(waiter))) {
            continue;
        }
        ILK__REACHES(CONDITION_CHOSEN, true);
        waiter->woken = true;
        if (!waiter->reads && is_task(waiter)) {
            task = true;
        } else if (!waiter->reads) {
            ++*woken_like(waiter, queue);
            ILK__REACHES(CONDITION_MOST_SIGNALLED, queue->woken_signalled == ILK__MOST_SIGNALLED);
        }
        *next = waiter;
        next = &waiter->chosen;
        waiter->chosen = NULL;
    }
    return chosen;
}

void ilk__conditions_wake(struct ilk__condition_waiter *chosen) {
    while (chosen != NULL) {
        struct ilk__condition_waiter *const waiter = chosen;
        chosen = waiter->chosen;
        ilk__waiter_grant(&waiter->entry.waiter);
    }
}

bool ilk__conditions_retake(struct ilk__conditions conditions, ILK_ATOMIC(uint32_t) * word, uint32_t bit,
                            uint32_t self) {
    struct ilk__address_bucket *bucket = ilk__address_lock(conditions.lock);
    const struct ilk__address_queue *queue = ilk__address_find(bucket, conditions.lock);
    bool is_taken = false;
    /* The lock may be gone: then the queue is that of what lies there now, a lock of this kind or with other marks. */
    if (queue != NULL && queue->marks == conditions.marks) {
        ilk_atomic_fetch_or(word, bit, memory_order_relaxed); /* CN1 */
        uint32_t is_free = bit;
        /* CN4 acquire, pairs with MX3. It carries what MX2 does. */
        is_taken = ilk_atomic_compare_exchange(word, &is_free, self | bit, memory_order_acquire,
                                               memory_order_relaxed);
        ILK__REACHES(CONDITION_RETAKEN, is_taken);
    }
    ilk__address_unlock(bucket);
    return is_taken;
}
