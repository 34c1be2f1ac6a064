/* SPDX-License-Identifier: Apache-2.0
 *
 * The timers of a pool: pairing heaps of the callers' nodes, and a thread that sleeps until the soonest is due and
 * submits its job. The heaps are under one mutex. What is due is taken out in batches and submitted without it: no
 * other call waits for more than a batch.
 *
 * Source: Fredman, Sedgewick, Sleator, Tarjan, "The pairing heap: a new form of self-adjusting heap" (1986). New timers
 * are melded like carries of a binary counter, as in the auxiliary area of Stasko and Vitter, "Pairing heaps:
 * experiments and analysis" (1987). Melded with one root each, a million would be its children, and the next call that
 * takes it out would meld them all under the mutex.
 */
#include "pool/pool.h"

#include "diagnostics/misuse.h"
#include "diagnostics/names.h"
#include "platform/clock.h"
#include <interlock/park.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So many timers are taken out at a time. timers_are_handed_over_in_batches. */
enum { BATCH = 64, HEAPS = 32 };

struct pool_timers {
    ilk_pool *pool;
    ilk_mutex mutex;
    ilk_timer *heaps
        [HEAPS]; /* heap i has been melded from 2^i timers, of which some may be gone; the last from more */
    uint32_t filled;    /* bit i: heap i is not empty */
    ilk_timer *soonest; /* the root of one */
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

static void set_heap(struct pool_timers *timers, unsigned heap, ilk_timer *root) {
    timers->heaps[heap] = root;
    const uint32_t bit = UINT32_C(1) << heap;
    timers->filled = root != NULL ? timers->filled | bit : timers->filled & ~bit;
}

static void put_in(struct pool_timers *timers, ilk_timer *timer) {
    ilk_timer *root = timer;
    unsigned heap = 0;
    for (; heap < HEAPS - 1 && timers->heaps[heap] != NULL; heap++) {
        root = meld(timers->heaps[heap], root);
        set_heap(timers, heap, NULL);
    }
    root = meld(timers->heaps[heap], root);
    set_heap(timers, heap, root);
    /* Or as soon: the one before may be among its children. */
    if (timers->soonest == NULL || root->deadline_ns <= timers->soonest->deadline_ns) {
        timers->soonest = root;
    }
    timers->count++;
}

/* A root goes, and `children` are its heap. */
static void replace_root(struct pool_timers *timers, const ilk_timer *timer, ilk_timer *children) {
    ilk_timer *soonest = NULL;
    for (uint32_t rest = timers->filled; rest != 0; rest &= rest - 1) {
        const unsigned heap = (unsigned)__builtin_ctz(rest);
        if (timers->heaps[heap] == timer) {
            set_heap(timers, heap, children);
        }
        ilk_timer *root = timers->heaps[heap];
        if (soonest == NULL || (root != NULL && root->deadline_ns < soonest->deadline_ns)) {
            soonest = root;
        }
    }
    timers->soonest = soonest;
}

/* `children` take the place of a timer that is no root: no other timer has more children by it. */
static void replace_child(const ilk_timer *timer, ilk_timer *children) {
    ilk_timer *previous = timer->previous; /* the parent of a first child, else the sibling before */
    ilk_timer *next = timer->sibling;
    ilk_timer *last = children == NULL ? previous : children;
    ilk_timer *replacement = children == NULL ? next : children;
    if (previous->child == timer) {
        previous->child = replacement;
    } else {
        previous->sibling = replacement;
    }
    if (children != NULL) {
        children->previous = previous;
        children->sibling = next;
    }
    if (next != NULL) {
        next->previous = last;
    }
}

static void take_out(struct pool_timers *timers, ilk_timer *timer) {
    ilk_timer *children = meld_children(timer->child);
    if (timer->previous == NULL) {
        replace_root(timers, timer, children);
    } else {
        replace_child(timer, children);
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

/* A batch of the timers that are due, or of all, in the order of their deadlines, linked by `sibling`; NULL: there is
 * none. With the mutex held. */
static ilk_timer *take_batch(struct pool_timers *timers, bool all) {
    const uint64_t now_ns = ilk__clock_now_ns();
    ilk_timer *first = NULL, **link = &first;
    for (int count = 0; count < BATCH; count++) {
        ilk_timer *timer = timers->soonest;
        if (timer == NULL || (!all && timer->deadline_ns > now_ns)) {
            break;
        }
        take_out(timers, timer);
        *link = timer;
        link = &timer->sibling;
    }
    return first;
}

/* Without the mutex. */
static void hand_over(ilk_pool *pool, ilk_timer *timer) {
    while (timer != NULL) {
        ilk_timer *next = timer->sibling; /* the job may free the timer */
        ilk__pool_push_outstanding(pool, &timer->job);
        timer = next;
    }
}

static void hand_over_all(ilk_pool *pool, struct pool_timers *timers) {
    ilk_timer *batch;
    do {
        ilk_mutex_lock(&timers->mutex);
        batch = take_batch(timers, true);
        ilk_mutex_unlock(&timers->mutex);
        hand_over(pool, batch);
    } while (batch != NULL);
}

static void keep_time(void *context) {
    struct pool_timers *timers = context;
    ilk_mutex_lock(&timers->mutex);
    while (!timers->ends) {
        ilk_timer *due = take_batch(timers, false);
        const uint32_t changes = ilk_atomic_load(&timers->changes, memory_order_relaxed); /* TM1 */
        const uint64_t next_ns = timers->soonest == NULL ? ILK_FOREVER : timers->soonest->deadline_ns;
        ilk_mutex_unlock(&timers->mutex);
        if (due != NULL) {
            hand_over(timers->pool, due);
        } else {
            (void)ilk_park_wait(&timers->changes, changes, next_ns);
        }
        ilk_mutex_lock(&timers->mutex);
    }
    ilk_mutex_unlock(&timers->mutex);
}

/* All code on the thread is ours. */
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
        timers->pool = pool; /* its mutex is free: ilk__pool_free_mutex */
        char name[24];
        snprintf(name, sizeof name, "%.*s-timers", ilk__name_cut(pool->name, 8), pool->name);
        struct ilk__thread_options options = pool->thread_options;
        options.name = name;
        options.ended_early = never_called;
        if (ilk__thread_start(&timers->thread, &options, keep_time, timers)) {
            /* TM3 release, pairs with TM2 (acquire, looking for the timers): mutex and heap are made
             * before the timers are found. */
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
    if (!ilk__pool_outstanding_add(pool)) {
        return ILK_CLOSED; /* before a thread is started for nothing; in a child of fork it would outlive the pool */
    }
    struct pool_timers *timers = existing_timers(pool);
    if (ILK_UNLIKELY(timers == NULL) && (timers = make_timers(pool)) == NULL) {
        ilk__pool_outstanding_remove(pool);
        return ILK_NOMEM;
    }
    ilk_mutex_lock(&timers->mutex);
    if (timer->pool != NULL) {
        ilk__misuse("ilk_pool_submit_at", pool, "the timer %p is set already", (const void *)timer);
    }
    if (timer->job.group != NULL) {
        ilk__group_enter(timer->job.group, pool);
    }
    timer->pool = pool;
    timer->deadline_ns = deadline_ns;
    if (timers->soonest == NULL || deadline_ns < timers->soonest->deadline_ns) {
        changed(timers);
    }
    put_in(timers, timer);
    ilk_mutex_unlock(&timers->mutex);
    if (ilk_atomic_load(&pool->hands_back, memory_order_acquire)) { /* PL11 */
        hand_over_all(pool, timers);                                /* close_now came after it was added */
    }
    return ILK_OK;
}

bool ilk_pool_cancel(ilk_pool *pool, ilk_timer *timer) {
    struct pool_timers *timers = existing_timers(pool);
    if (timers == NULL) {
        return false;
    }
    ilk_mutex_lock(&timers->mutex);
    const bool was_set = timer->pool == pool;
    if (was_set && pool->is_in_fork_child) {
        timer->pool = NULL; /* a thread of the parent may have left the heap half done */
    } else if (was_set) {
        take_out(timers, timer);
    }
    ilk_mutex_unlock(&timers->mutex);
    if (was_set) {
        if (timer->job.group != NULL) {
            ilk__group_leave(timer->job.group, pool);
        }
        ilk__pool_outstanding_remove(pool);
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
        ilk__pool_free_mutex(&timers->mutex);
        memset(timers->heaps, 0, sizeof timers->heaps);
        timers->soonest = NULL;
        timers->filled = timers->count = 0;
    }
}

void ilk__pool_timers_hand_back(ilk_pool *pool) {
    /* Closing has taken the pool's mutex, and so does the thread that makes the timers: it finds the function to hand
     * back to. */
    struct pool_timers *timers = existing_timers(pool);
    if (timers != NULL) {
        hand_over_all(pool, timers);
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
