/* SPDX-License-Identifier: Apache-2.0
 *
 * Making, submitting to, closing and ending a pool.
 */
#include "pool/pool.h"

#include "diagnostics/misuse.h"
#include "diagnostics/names.h"
#include "pool/timers.h"
#include "pool/watch.h"
#include <interlock/park.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Jobs ---- */

void ilk_job_init(ilk_job *job, void (*function)(void *context), void *context) {
    *job = (ilk_job){.function = function, .context = context, .priority = ILK_PRIORITY_NORMAL};
}

void ilk_job_set_priority(ilk_job *job, ilk_priority priority) {
    if ((uint32_t)priority >= POOL_PRIORITIES) {
        ilk__misuse("ilk_job_set_priority", job, "%u is no priority", (unsigned)priority);
    }
    job->priority = (uint32_t)priority;
}

void ilk_job_set_group(ilk_job *job, ilk_group *group) {
    job->group = group;
}

/* ---- Submitting ---- */

/* A worker's NORMAL job: in its own deque, if that has room and the pool is open. */
static bool push_own(ilk_pool *pool, ilk_job *job) ILK_NONBLOCKING {
    struct pool_worker *worker = ilk__pool_worker();
    if (worker == NULL || worker->pool != pool || job->priority != ILK_PRIORITY_NORMAL) {
        return false;
    }
    ILK_ATOMIC(uintptr_t) *inbox = &pool->queues[ILK_PRIORITY_NORMAL].inbox;
    /* PL1 relaxed: a guess: PL2 decides. Beside close either answer is right: a worker empties its deque before it
     * ends. */
    return (ilk_atomic_load(inbox, memory_order_relaxed) & POOL_CLOSED) == 0 &&
           deque_push(&worker->deque, job, job->group);
}

/* The group's end may wake sleepers and submit a follower. */
ILK_TRUSTED_NONBLOCKING_BEGIN
static void leave_refused(ilk_group *group, ilk_pool *pool, size_t count) ILK_NONBLOCKING {
    for (; group != NULL && count > 0; count--) {
        ilk__group_leave(group, pool);
    }
}
ILK_TRUSTED_NONBLOCKING_END

bool ilk_pool_submit(ilk_pool *pool, ilk_job *job) ILK_NONBLOCKING {
    ilk_group *group = job->group;
    if (group != NULL) {
        ilk__group_enter(group, pool, 1);
    }
    if (!push_own(pool, job) && !ilk__pool_push(pool, job->priority, job, job, false)) {
        leave_refused(group, pool, 1);
        return false;
    }
    ilk__pool_publish(pool);
    return true;
}

bool ilk_pool_submit_many(ilk_pool *pool, ilk_job *const *jobs, size_t count) ILK_NONBLOCKING {
    if (count == 0) {
        return true;
    }
    const uint32_t priority = jobs[0]->priority;
    for (size_t index = 0; index < count; index++) {
        ilk_job *job = jobs[index];
        if (job->priority != priority) {
            ilk__misuse("ilk_pool_submit_many", pool, "jobs of unlike priorities");
        }
        if (job->group != NULL) {
            ilk__group_enter(job->group, pool, 1);
        }
        ilk_plain_write(&job->next, sizeof job->next);
        job->next = index == 0 ? NULL : jobs[index - 1];
    }
    if (!ilk__pool_push(pool, priority, jobs[count - 1], jobs[0], false)) {
        for (size_t index = 0; index < count; index++) {
            leave_refused(jobs[index]->group, pool, 1);
        }
        return false;
    }
    ilk__pool_publish(pool);
    return true;
}

/* ---- Promises ---- */

bool ilk__pool_promise(ilk_pool *pool) ILK_NONBLOCKING {
    uint32_t promised = ilk_atomic_load(&pool->promised, memory_order_relaxed); /* PL18 */
    do {
        if ((promised & POOL_PROMISES_CLOSED) != 0) {
            return false;
        }
        /* PL18 relaxed: workers that ask whether anything is promised ask by PL19. */
    } while (!ilk_atomic_compare_exchange_weak(&pool->promised, &promised, promised + 1, memory_order_relaxed,
                                               memory_order_relaxed));
    return true;
}

void ilk__pool_promise_kept(ilk_pool *pool) {
    if (pool->is_childs) {
        return;
    }
    uint32_t promised = ilk_atomic_load(&pool->promised, memory_order_relaxed); /* PL18 */
    while ((promised & (POOL_PROMISES_CLOSED | POOL_PROMISES_WATCHED)) == 0) {
        /* PL20 release, pairs with PL19 (acquire, asking whether the pool is drained).
         * Carries: the job in its inbox.
         * If weaker: the last worker leaves before a job that was promised. */
        if (ilk_atomic_compare_exchange_weak(&pool->promised, &promised, promised - 1, memory_order_release,
                                             memory_order_relaxed)) {
            return;
        }
    }
    /* The last promise lets a closed pool end, and be destroyed; this thread may be another pool's. The last worker
     * ends under the mutex, and so after our last touch. */
    ilk_mutex_lock(&pool->mutex);
    promised = ilk_atomic_fetch_sub(&pool->promised, 1, memory_order_release); /* PL20 */
    ilk__pool_wake_watchers(pool);
    if ((promised & ~POOL_PROMISES_WATCHED) == (POOL_PROMISES_CLOSED | 1)) {
        ilk__pool_wake_spares(pool); /* drained, perhaps, without another worker */
        ilk__event_wake_all(idle_of(pool));
    }
    ilk_mutex_unlock(&pool->mutex);
}

void ilk__pool_push_promised(ilk_pool *pool, ilk_job *job) {
    (void)ilk__pool_push(pool, job->priority, job, job, true);
    ilk__pool_publish(pool);
    ilk__pool_promise_kept(pool);
}

bool ilk__pool_is_drained(ilk_pool *pool) ILK_NONBLOCKING {
    /* PL19 acquire, pairs with PL20 (release, a promise kept) and PL21 (release, closing). First: a job whose promise
     * is gone is in the inbox that we read. */
    if ((ilk_atomic_load(&pool->promised, memory_order_acquire) & ~POOL_PROMISES_WATCHED) !=
        POOL_PROMISES_CLOSED) {
        return false;
    }
    return !ilk__pool_has_jobs(pool);
}

/* ---- Closing ---- */

void ilk_pool_close(ilk_pool *pool) {
    for (uint32_t priority = 0; priority < POOL_PRIORITIES; priority++) {
        ilk_atomic_fetch_or(&pool->queues[priority].inbox, POOL_CLOSED,
                            memory_order_relaxed); /* PL2 decides */
    }
    /* PL21 release, pairs with PL19 (acquire): where promises are closed, the inboxes are. */
    ilk_atomic_fetch_or(&pool->promised, POOL_PROMISES_CLOSED, memory_order_release);
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

void ilk__pool_require_outside(const char *call, const ilk_pool *pool) {
    const struct pool_worker *worker = ilk__pool_worker();
    if (worker != NULL && worker->pool == pool) {
        ilk__misuse(call, pool, "called by one of the pool's own jobs, which it would wait for");
    }
}

static bool is_done(const ilk_pool *pool) {
    /* PL17 acquire, pairs with PL16 (release, the last thread has ended). See there. */
    return ilk_atomic_load(&pool->done, memory_order_acquire) != 0;
}

static ilk_status sleep_until_done(ilk_pool *pool, uint64_t deadline_ns) {
    if (is_done(pool)) {
        return ILK_OK;
    }
    ilk_status status = ILK_OK;
    ilk_pool_will_block(); /* for a job of another pool */
    while (status == ILK_OK && !is_done(pool)) {
        if (ilk_park_wait(&pool->done, 0, deadline_ns) == ILK_TIMEDOUT && !is_done(pool)) {
            status = ILK_TIMEDOUT;
        }
    }
    ilk_pool_did_block();
    return status;
}

static ilk_status wait_until_done(ilk_pool *pool, uint64_t deadline_ns, const void *site) {
    struct ilk__idle_watch watch;
    ilk__pool_watch_begin(&watch, NULL, pool, deadline_ns, site);
    const ilk_status status = sleep_until_done(pool, deadline_ns);
    ilk__watch_idle_end(&watch);
    return status;
}

ILK_NOINLINE ilk_status ilk_pool_wait_until(ilk_pool *pool, uint64_t deadline_ns) {
    ilk__pool_require_outside("ilk_pool_wait_until", pool);
    return wait_until_done(pool, deadline_ns, ILK__CALLER);
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
    if (pool->is_childs) {
        return;
    }
    const uint32_t promised = ilk_atomic_load(&pool->promised, memory_order_relaxed) &
                              ~(POOL_PROMISES_CLOSED | POOL_PROMISES_WATCHED); /* PL18 */
    if (promised != 0) {
        ilk__misuse("ilk_pool_destroy", pool,
                    "%u timers are set or jobs follow a group; wait, or close it now", (unsigned)promised);
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
    if (!pool->is_childs) {
        ilk_pool_close(pool);
        (void)wait_until_done(pool, ILK_FOREVER, ILK__CALLER);
        ilk_mutex_lock(&pool->mutex); /* after the last thread's last touch */
        ilk_mutex_unlock(&pool->mutex);
    }
    ilk__pool_unregister(pool);  /* not before its jobs have ended: they may fork */
    if (pool->has_last_thread) { /* the end of the process may have joined it, a child has none */
        ilk__thread_join(&pool->last_thread); /* it has joined the others */
    }
    ilk__pool_timers_end(pool, !pool->is_childs);
    ilk__name_forget(pool);
    free_pool(pool);
}
