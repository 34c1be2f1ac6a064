/* SPDX-License-Identifier: Apache-2.0
 *
 * The timers of a pool: a pairing heap of the callers' nodes, and a thread that sleeps until the soonest is due and
 * submits its job. All under one mutex, which is taken before the pool's.
 *
 * Source: Fredman, Sedgewick, Sleator, Tarjan, "The pairing heap: a new form of self-adjusting heap" (1986).
 */
#include "pool/timers.h"

#include "diagnostics/misuse.h"
#include "platform/clock.h"
#include <interlock/park.h>
#include <stdio.h>
#include <stdlib.h>

struct pool_timers {
    ilk_pool *pool;
    ilk_mutex mutex;
    ilk_timer *soonest;
    uint32_t count;
    bool ends;                    /* the pool is destroyed */
    ILK_ATOMIC(uint32_t) changes; /* of the soonest timer; the thread sleeps on it */
    ilk__thread thread;
};

/* ---- The heap ---- */

/* The sooner root takes the other as its first child. */
static ilk_timer *meld(ilk_timer *one, ilk_timer *other) {
    if (one == NULL || other == NULL) {
        return one == NULL ? other : one;
    }
    if (other->deadline_ns < one->deadline_ns) {
        ilk_timer *swapped = one;
        one = other;
        other = swapped;
    }
    other->previous = one;
    other->sibling = one->child;
    if (one->child != NULL) {
        one->child->previous = other;
    }
    one->child = other;
    return one;
}

/* Siblings melded in pairs from the front, and the pairs from the back. */
static ilk_timer *meld_children(ilk_timer *child) {
    ilk_timer *pairs = NULL; /* linked by sibling, the last pair first */
    while (child != NULL) {
        ilk_timer *second = child->sibling;
        ilk_timer *next = second == NULL ? NULL : second->sibling;
        child->sibling = child->previous = NULL;
        if (second != NULL) {
            second->sibling = second->previous = NULL;
        }
        ilk_timer *pair = meld(child, second);
        pair->sibling = pairs;
        pairs = pair;
        child = next;
    }
    ilk_timer *root = NULL;
    while (pairs != NULL) {
        ilk_timer *next = pairs->sibling;
        pairs->sibling = NULL;
        root = meld(root, pairs);
        pairs = next;
    }
    return root;
}

static void take_out(struct pool_timers *timers, ilk_timer *timer) {
    ilk_timer *children = meld_children(timer->child);
    if (timer == timers->soonest) {
        timers->soonest = children;
    } else {
        /* `previous` is the parent of a first child, and the sibling before any other. */
        if (timer->previous->child == timer) {
            timer->previous->child = timer->sibling;
        } else {
            timer->previous->sibling = timer->sibling;
        }
        if (timer->sibling != NULL) {
            timer->sibling->previous = timer->previous;
        }
        timers->soonest = meld(timers->soonest, children);
    }
    timer->child = timer->sibling = timer->previous = NULL;
    timer->pool = NULL;
    timers->count--;
}

/* ---- The thread ---- */

static void changed(struct pool_timers *timers) {
    /* TM1 relaxed: under the mutex; a park compares the word. */
    ilk_atomic_fetch_add(&timers->changes, 1, memory_order_relaxed);
    ilk_park_wake(&timers->changes, 1);
}

/* Submits the timers that are due, or all, in the order of their deadlines. With the mutex held. */
static void hand_over_due(ilk_pool *pool, struct pool_timers *timers, bool all) {
    const uint64_t now_ns = ilk__clock_now_ns();
    while (timers->soonest != NULL && (all || timers->soonest->deadline_ns <= now_ns)) {
        ilk_timer *timer = timers->soonest;
        take_out(timers, timer);
        ilk__pool_push_promised(pool, &timer->job);
    }
}

static void keep_time(void *context) {
    struct pool_timers *timers = context;
    ilk_mutex_lock(&timers->mutex);
    while (!timers->ends) {
        hand_over_due(timers->pool, timers, false);
        const uint32_t changes = ilk_atomic_load(&timers->changes, memory_order_relaxed); /* TM1 */
        const uint64_t next_ns = timers->soonest == NULL ? ILK_FOREVER : timers->soonest->deadline_ns;
        ilk_mutex_unlock(&timers->mutex);
        (void)ilk_park_wait(&timers->changes, changes, next_ns);
        ilk_mutex_lock(&timers->mutex);
    }
    ilk_mutex_unlock(&timers->mutex);
}

/* The only code on the thread that is not ours is hand_back. */
static void never_called(void *context) {
    const struct pool_timers *timers = context;
    ilk__misuse("ilk_pool_close_now", timers->pool,
                "the function that jobs are handed back to has ended its thread");
}

/* The pool's timers; NULL before the first one. */
static struct pool_timers *existing_timers(ilk_pool *pool) {
    /* TM2 acquire, pairs with TM3 (release, making the timers).
     * Carries: their mutex and heap.
     * If weaker: we change a heap that is not there yet. */
    return ilk_atomic_load(&pool->timers, memory_order_acquire);
}

/* With the first timer, which waits for the thread's start: NULL where the system refuses it. */
ILK_COLD static struct pool_timers *make_timers(ilk_pool *pool) {
    ilk_mutex_lock(&pool->mutex);
    struct pool_timers *timers = existing_timers(pool);
    if (timers == NULL && (timers = calloc(1, sizeof *timers)) != NULL) {
        timers->pool = pool;
        ilk_mutex_init(&timers->mutex, false);
        char name[24];
        snprintf(name, sizeof name, "%.8s-timers", pool->name);
        struct ilk__thread_options options = pool->thread_options;
        options.name = name;
        options.ended_early = never_called;
        if (ilk__thread_start(&timers->thread, &options, keep_time, timers)) {
            /* TM3 release, pairs with TM2 (acquire, looking for the timers). See there. */
            ilk_atomic_store(&pool->timers, timers, memory_order_release);
        } else {
            free(timers);
            timers = NULL;
        }
    }
    ilk_mutex_unlock(&pool->mutex);
    return timers;
}

/* ---- The calls ---- */

void ilk_timer_init(ilk_timer *timer, void (*function)(void *context), void *context) {
    *timer = (ilk_timer){.pool = NULL};
    ilk_job_init(&timer->job, function, context);
}

ilk_job *ilk_timer_job(ilk_timer *timer) {
    return &timer->job;
}

ilk_status ilk_pool_submit_at(ilk_pool *pool, ilk_timer *timer, uint64_t deadline_ns) {
    struct pool_timers *timers = existing_timers(pool);
    if (ILK_UNLIKELY(timers == NULL) && (timers = make_timers(pool)) == NULL) {
        return ILK_NOMEM;
    }
    if (!ilk__pool_promise(pool)) {
        return ILK_CLOSED;
    }
    ilk_mutex_lock(&timers->mutex);
    if (timer->pool != NULL) {
        ilk__misuse("ilk_pool_submit_at", pool, "the timer %p is set already", (const void *)timer);
    }
    if (timer->job.group != NULL) {
        ilk__group_enter(timer->job.group, pool, 1);
    }
    timer->pool = pool;
    timer->deadline_ns = deadline_ns;
    timers->soonest = meld(timers->soonest, timer);
    timers->count++;
    if (ilk_atomic_load(&pool->hands_back, memory_order_acquire)) { /* PL11 */
        hand_over_due(pool, timers, true); /* close_now came between the promise and the mutex */
    } else if (timers->soonest == timer) {
        changed(timers);
    }
    ilk_mutex_unlock(&timers->mutex);
    return ILK_OK;
}

bool ilk_pool_cancel(ilk_pool *pool, ilk_timer *timer) {
    struct pool_timers *timers = existing_timers(pool);
    if (timers == NULL) {
        return false;
    }
    ilk_mutex_lock(&timers->mutex);
    const bool was_set = timer->pool == pool;
    if (was_set && pool->is_childs) {
        timer->pool = NULL; /* a thread of the parent may have left the heap half done */
    } else if (was_set) {
        take_out(timers, timer);
    }
    ilk_mutex_unlock(&timers->mutex);
    if (was_set) {
        if (timer->job.group != NULL) {
            ilk__group_leave(timer->job.group, pool);
        }
        ilk__pool_promise_kept(pool);
    }
    return was_set;
}

uint32_t ilk__pool_timers_count(ilk_pool *pool) {
    struct pool_timers *timers = existing_timers(pool);
    if (timers == NULL) {
        return 0;
    }
    ilk_mutex_lock(&timers->mutex);
    const uint32_t count = timers->count;
    ilk_mutex_unlock(&timers->mutex);
    return count;
}

void ilk__pool_timers_forget(ilk_pool *pool) {
    struct pool_timers *timers = existing_timers(pool);
    if (timers != NULL) {
        ilk_mutex_init(&timers->mutex, false);
        timers->soonest = NULL;
        timers->count = 0;
    }
}

void ilk__pool_timers_hand_back(ilk_pool *pool) {
    /* Closing has taken the pool's mutex: timers that are made after it find the pool closed. */
    struct pool_timers *timers = existing_timers(pool);
    if (timers != NULL) {
        ilk_mutex_lock(&timers->mutex);
        hand_over_due(pool, timers, true);
        ilk_mutex_unlock(&timers->mutex);
    }
}

void ilk__pool_timers_end(ilk_pool *pool, bool has_thread) {
    struct pool_timers *timers = existing_timers(pool);
    if (timers == NULL) {
        return;
    }
    if (has_thread) {
        ilk_mutex_lock(&timers->mutex);
        timers->ends = true;
        changed(timers);
        ilk_mutex_unlock(&timers->mutex);
        ilk__thread_join(&timers->thread);
    }
    free(timers);
}
