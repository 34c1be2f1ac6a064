/* SPDX-License-Identifier: Apache-2.0
 *
 * Making, closing and ending a pool.
 */
#include "pool/pool.h"

#include "diagnostics/misuse.h"
#include "diagnostics/names.h"
#include "diagnostics/observe.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Closing ---- */

void ilk_pool_close(ilk_pool *pool) {
    for (uint32_t priority = 0; priority < POOL_PRIORITIES; priority++) {
        ilk_atomic_fetch_or(&pool->queues[priority].inbox, POOL_CLOSED,
                            memory_order_relaxed); /* PL2 decides */
    }
    /* PL21 release, pairs with PL19 (acquire): where it is CLOSED, the inboxes are. */
    ilk_atomic_fetch_or(&pool->outstanding, OUTSTANDING_CLOSED, memory_order_release);
    ilk_mutex_lock(&pool->mutex);
    ilk__pool_wake_spares(pool);
    ilk__pool_update_calls(pool);
    ilk_mutex_unlock(&pool->mutex);
    ilk__event_wake_all(idle_of(pool));
}

/* A loop's own job is never handed back. */
static bool is_plain(const ilk_job *job, const void *context) {
    (void)context;
    return ilk_atomic_load(&job->state, memory_order_relaxed) == JOB_PLAIN; /* PL10 */
}

void ilk_pool_close_now(ilk_pool *pool, void (*hand_back)(void *context, ilk_job *job), void *context) {
    ilk_mutex_lock(&pool->mutex);
    pool->closers++;
    /* PL27 relaxed: under the mutex. The first call's function stays. */
    if (!ilk_atomic_load(&pool->hands_back, memory_order_relaxed)) {
        ilk_plain_write(&pool->hand_back, sizeof pool->hand_back);
        pool->hand_back = hand_back;
        pool->hand_back_context = context;
        /* PL12 release, pairs with PL11 (acquire, before a job is run). Carries: the function. */
        ilk_atomic_store(&pool->hands_back, true, memory_order_release);
    }
    ilk_mutex_unlock(&pool->mutex);
    ilk_pool_close(pool);
    ilk__pool_timers_hand_back(pool);
    for (uint32_t priority = 0; priority < POOL_PRIORITIES; priority++) {
        ilk_job *job;
        while ((job = ilk__pool_pick(pool, priority, false, is_plain, NULL)) != NULL) {
            ilk__pool_hand_back(pool, job);
        }
    }
    ilk__event_wake_all(idle_of(pool));
    ilk_mutex_lock(&pool->mutex);
    pool->closers--;
    ilk__pool_wake_watchers(pool);
    ilk__pool_end_if_left(pool);
    ilk_mutex_unlock(&pool->mutex);
}

ilk_pool_info ilk_pool_get_info(ilk_pool *pool) {
    const uint32_t timers = ilk__pool_timers_count(pool);
    ilk_mutex_lock(&pool->mutex);
    const ilk_pool_info info = {pool->started, pool->blocked, pool->refused, timers};
    ilk_mutex_unlock(&pool->mutex);
    return info;
}

/* ---- Making and ending ---- */

static void free_pool(ilk_pool *pool) {
    /* PL29 relaxed: the caller has the pool alone, or has its mutex. */
    const uint32_t places = ilk_atomic_load(&pool->places, memory_order_relaxed);
    for (uint32_t place = 0; place < places; place++) {
        free(ilk_atomic_load(&pool->workers[place], memory_order_relaxed)); /* PL9 */
    }
    free(pool);
}

static uint32_t at_most(uint32_t threads) {
    return threads < ILK_POOL_MAX_THREADS ? threads : ILK_POOL_MAX_THREADS;
}

ilk_status ilk_pool_create(ilk_pool **out, const ilk_pool_options *options) {
    static const ilk_pool_options defaults;
    options = options == NULL ? &defaults : options;
    const uint32_t threads = options->threads != 0 ? options->threads : at_most(ilk__thread_processors());
    const uint32_t most = options->max_threads != 0 ? options->max_threads : at_most(threads + 64);
    const uint32_t kept = options->kept_threads != 0 ? options->kept_threads : threads;
    if (threads > ILK_POOL_MAX_THREADS || most > ILK_POOL_MAX_THREADS || most < threads || kept > most ||
        options->stack_size > PTRDIFF_MAX) {
        return ILK_INVALID;
    }
    const size_t size = sizeof(ilk_pool) + most * sizeof(ILK_ATOMIC(struct pool_worker *));
    ilk_pool *pool =
        aligned_alloc(POOL_SEPARATION, (size + POOL_SEPARATION - 1) / POOL_SEPARATION * POOL_SEPARATION);
    if (pool == NULL) {
        return ILK_NOMEM;
    }
    memset(pool, 0, size);
    ilk_atomic_store(&pool->idle.waiting, ilk__event_at_rest(), memory_order_relaxed); /* EC1 */
    pool->target = threads;
    pool->most = most;
    pool->has_default_most = options->max_threads == 0;
    pool->kept = kept;
    pool->idle_ns = options->idle_ns != 0 ? options->idle_ns : UINT64_C(10000000000);
    pool->work = ilk__pool_work;
    pool->thread_options.stack_size = options->stack_size;
    pool->thread_options.nice = options->nice;
    const char *name = options->name == NULL ? "pool" : options->name;
    snprintf(pool->name, sizeof pool->name, "%.*s", ilk__name_cut(name, (int)sizeof pool->name - 1), name);
    ilk_mutex_lock(&pool->mutex); /* its zero bits are free: ilk__pool_free_mutex */
    bool starts = true;
    while (starts && pool->started < kept) {
        starts = ilk__pool_start_thread(pool);
    }
    ilk__pool_update_calls(pool);
    const bool has_thread = pool->started > 0;
    ilk_mutex_unlock(&pool->mutex);
    if (!has_thread) {
        free_pool(pool);
        return ILK_NOMEM;
    }
    ilk__pool_register(pool);
    *out = pool;
    return ILK_OK;
}

/* Misuse where something accepted has not begun. */
static void require_drained(ilk_pool *pool) {
    if (pool->is_in_fork_child) {
        return;
    }
    const uint32_t outstanding =
        ilk_atomic_load(&pool->outstanding, memory_order_relaxed) & OUTSTANDING_COUNT; /* PL18 */
    if (outstanding != 0) {
        ilk__misuse("ilk_pool_destroy", pool,
                    "%u timers are set or jobs follow a group; wait, or close it now", (unsigned)outstanding);
    }
    bool has_jobs = ilk__pool_deques_have_jobs(pool);
    for (uint32_t priority = 0; priority < POOL_PRIORITIES; priority++) {
        has_jobs = has_jobs || ilk__pool_queue_is_filled(pool, priority);
    }
    if (ilk_atomic_load(&pool->done, memory_order_relaxed) == 0 && has_jobs) { /* PL29 */
        ilk__misuse("ilk_pool_destroy", pool,
                    "jobs that it has accepted have not begun; wait, or close it now");
    }
}

ILK_NOINLINE void ilk_pool_destroy(ilk_pool *pool) {
    if (pool == NULL) {
        return;
    }
    ilk__pool_require_outside("ilk_pool_destroy", pool);
    require_drained(pool);
    if (!pool->is_in_fork_child) {
        ilk_pool_close(pool);
        (void)ilk__pool_wait_until_done(pool, ILK_FOREVER, ILK__CALLER);
        ilk_mutex_lock(&pool->mutex); /* after the last thread's last touch */
        ilk_mutex_unlock(&pool->mutex);
    }
    ilk__pool_unregister(pool);  /* not before its jobs have ended: they may fork */
    if (pool->has_last_thread) { /* the end of the process may have joined it, a child has none */
        ilk__thread_join(&pool->last_thread); /* it has joined the others */
    }
    ilk__pool_timers_end(pool, !pool->is_in_fork_child);
    ilk__name_forget(pool);
    free_pool(pool);
}
