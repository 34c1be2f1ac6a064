/* SPDX-License-Identifier: Apache-2.0
 *
 * All pools of the process: what fork(2) does to them, and the end of the process.
 */
#include "pool/pool.h"

#include "platform/local.h"
#include "platform/native.h"
#include "platform/signals.h"
#include <pthread.h>

/* The mutex is held over a fork: the child finds the list whole. A pthread mutex, which the
 * forking thread unlocks in the child under another id. */
static ilk__native_mutex pools_mutex = ILK__NATIVE_MUTEX_INIT;
static LIST_HEAD(, ilk_pool) pools = LIST_HEAD_INITIALIZER(pools);

/* With signals held back: a handler may fork. Not where the thread has the mutex for a fork that a handler, which forks
 * itself, has interrupted. */
static void lock_pools(sigset_t *before) {
    ilk__signals_hold(before);
    if (ilk__thread_state()->has_pools_for_fork == 0) {
        ilk__native_mutex_lock(&pools_mutex);
    }
}

static void unlock_pools(const sigset_t *before) {
    if (ilk__thread_state()->has_pools_for_fork == 0) {
        ilk__native_mutex_unlock(&pools_mutex);
    }
    ilk__signals_release(before);
}

void ilk__pool_register(ilk_pool *pool) {
    sigset_t before;
    lock_pools(&before);
    LIST_INSERT_HEAD(&pools, pool, link);
    unlock_pools(&before);
}

void ilk__pool_unregister(ilk_pool *pool) {
    sigset_t before;
    lock_pools(&before);
    LIST_REMOVE(pool, link);
    unlock_pools(&before);
}

/* ---- Fork ---- */

static void pools_before_fork(void) {
    sigset_t before;
    lock_pools(&before);
    ilk__thread_state()->has_pools_for_fork++;
    ilk__signals_release(&before);
}

static void pools_after_fork_in_parent(void) {
    sigset_t before;
    ilk__signals_hold(&before);
    ilk__thread_state()->has_pools_for_fork--;
    unlock_pools(&before);
}

/* The threads are gone with what they held: the pool is closed and done. */
static void pools_after_fork_in_child(void) {
    struct pool_worker *worker = ilk__thread_state()->worker;
    if (worker != NULL) {
        worker->blocked =
            UINT32_MAX; /* its job ends the child where it returns: ilk__pool_run asks nothing else */
        ilk__thread_state()->worker = NULL;
    }
    ilk_pool *pool;
    /* PL28 relaxed: the child has one thread. */
    LIST_FOREACH(pool, &pools, link) {
        for (uint32_t priority = 0; priority < POOL_PRIORITIES; priority++) {
            struct pool_queue *queue = &pool->queues[priority];
            ilk_atomic_store(&queue->inbox, POOL_CLOSED, memory_order_relaxed); /* PL28 */
            ilk_atomic_store(&queue->backlog, NULL, memory_order_relaxed);      /* PL28 */
            ilk_atomic_store(&queue->locked, 0, memory_order_relaxed);          /* PL28 */
        }
        const uint32_t places = ilk_atomic_load(&pool->places, memory_order_relaxed); /* PL28 */
        for (uint32_t place = 0; place < places; place++) {
            struct deque *deque =
                &ilk_atomic_load(&pool->workers[place], memory_order_relaxed)->deque; /* PL9 */
            ilk_atomic_store(&deque->top, 0, memory_order_relaxed);                   /* PL28 */
            ilk_atomic_store(&deque->bottom, 0, memory_order_relaxed);                /* PL28 */
        }
        ilk_atomic_store(&pool->outstanding, OUTSTANDING_CLOSED, memory_order_relaxed);    /* PL28 */
        ilk_atomic_store(&pool->idle.waiting, ilk__event_at_rest(), memory_order_relaxed); /* EC1 */
        ilk_atomic_store(&pool->idle.epoch, 0, memory_order_relaxed);                      /* EC1 */
        ilk_atomic_store(&pool->done, 1, memory_order_relaxed);                            /* PL28 */
        ilk__pool_free_mutex(&pool->mutex);
        ilk__pool_timers_forget(pool);
        pool->started = pool->running = pool->blocked = 0;
        pool->spares = NULL;
        LIST_INIT(&pool->waits);
        pool->watchers = 0;
        pool->has_last_thread = false;
        pool->is_in_fork_child = true;
    }
    pools_after_fork_in_parent(); /* unlocks */
}

__attribute__((constructor)) static void pools_watch_fork(void) {
    (void)pthread_atfork(pools_before_fork, pools_after_fork_in_parent, pools_after_fork_in_child);
}

/* ---- The end of the process ---- */

/* The longest wait for a thread. */
enum { END_NS = 1000000000 };

/* A pool that is never destroyed may have a thread that has left it and that none joins: a leak to ThreadSanitizer.
 * From here on none leaves for want of work. The waits have a limit: exit may have been called under the mutex, in a
 * signal handler, or under a lock that a destructor of the thread's locals wants. */
__attribute__((destructor)) static void pools_join_ended(void) {
    sigset_t before;
    lock_pools(&before);
    ilk_pool *pool;
    LIST_FOREACH(pool, &pools, link) {
        if (ilk_mutex_lock_until(&pool->mutex, ilk_deadline_in_ns(END_NS)) == ILK_OK) {
            pool->kept = pool->most;
            if (pool->has_last_thread && ilk__thread_join_soon(&pool->last_thread)) {
                pool->has_last_thread = false;
            }
            ilk_mutex_unlock(&pool->mutex);
        }
    }
    unlock_pools(&before);
}
