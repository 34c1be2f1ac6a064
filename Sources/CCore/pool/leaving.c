/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker that leaves, between two jobs: it becomes spare, or its thread ends. docs/pool.md has the table of states.
 */
#include "pool/pool.h"

#include "platform/yield.h"
#include <interlock/park.h>

void ilk__pool_end_if_left(ilk_pool *pool) {
    if (pool->started == 0 && pool->closers == 0) {
        /* PL16 release, pairs with PL17 (acquire, waiting for the pool). Carries: what all jobs did. */
        ilk_atomic_store(&pool->done, 1, memory_order_release);
        ilk_park_wake(&pool->done, ILK_PARK_ALL);
    }
}

/* With the mutex held. After unlocking it, the thread touches neither pool nor worker; it joins the one that ended
 * before it. So none is joined under the mutex, for which a destructor of a thread's locals may wait, and when the
 * last one has been joined, all have ended. */
static void leave_pool(struct pool_worker *worker, struct pool_predecessor *predecessor) {
    ilk_pool *pool = worker->pool;
    pool->started--;
    if (pool->started == 0) {
        ilk__pool_end_if_left(pool);
    } else if (ilk__pool_is_drained(pool)) {
        ilk__pool_wake_spares(pool);
    }
    ilk__pool_update_calls(pool);
    predecessor->is_there = pool->has_last_thread;
    predecessor->thread = pool->last_thread;
    pool->last_thread = worker->thread;
    pool->has_last_thread = true;
    worker->has_ended = true;
}

static void remove_spare(ilk_pool *pool, const struct pool_worker *worker) {
    struct pool_worker **link = &pool->spares;
    while (*link != worker) {
        link = &(*link)->next_spare;
    }
    *link = worker->next_spare;
}

bool ilk__pool_keep_worker(struct pool_worker *worker, struct pool_predecessor *predecessor) {
    ilk_pool *pool = worker->pool;
    ilk_mutex_lock(&pool->mutex);
    const bool is_excess = pool->running > pool->target;
    /* Not with jobs in its deque: thieves come to those last, and a job that submits itself would keep them away. */
    if (!is_excess || (deque_has_jobs(&worker->deque) && !ilk__pool_give_back(worker))) {
        ilk__pool_update_calls(pool);
        ilk_mutex_unlock(&pool->mutex);
        if (is_excess) {
            ilk__thread_yield(); /* to the thread that has the backlog */
        }
        return true;
    }
    ILK__REACHES(POOL_SPARE, true);
    /* Others run: the last of them to leave a closed pool wakes us. */
    pool->running--;
    worker->is_spare = true;
    worker->next_spare = pool->spares;
    pool->spares = worker;
    ilk__pool_set_busy(worker, false);
    const uint32_t wakes = ilk_atomic_load(&worker->wakes, memory_order_relaxed); /* PL27 */
    ilk__pool_update_calls(pool);
    ilk_mutex_unlock(&pool->mutex);
    /* Jobs that it gave back went from its deque to the backlog, the other way than a worker probes that is about to
     * sleep: that one may have found neither. */
    ilk__pool_pass_on(pool);
    uint64_t deadline_ns = ilk_deadline_in_ns(pool->idle_ns);
    while (ilk_atomic_load(&worker->wakes, memory_order_relaxed) == wakes) { /* PL14 */
        if (ilk_park_wait(&worker->wakes, wakes, deadline_ns) == ILK_TIMEDOUT) {
            ilk_mutex_lock(&pool->mutex);
            const bool ends = worker->is_spare && pool->started > pool->kept;
            if (ends) {
                remove_spare(pool, worker);
                worker->is_spare = false;
                leave_pool(worker, predecessor);
            }
            ilk_mutex_unlock(&pool->mutex);
            if (ends) {
                return false;
            }
            deadline_ns = ILK_FOREVER; /* one of those that are kept */
        }
    }
    worker->was_woken = true;
    return true;
}

bool ilk__pool_end_worker(struct pool_worker *worker, bool is_finished,
                          struct pool_predecessor *predecessor) {
    ilk_pool *pool = worker->pool;
    ilk__pool_set_busy(worker, false); /* the last busy one of a drained pool wakes the others */
    ilk_mutex_lock(&pool->mutex);
    pool->running--;
    ilk__pool_update_calls(pool);
    const bool is_kept = !is_finished && pool->started <= pool->kept;
    /* Jobs: submitted after our last probe, before CALLS was up. */
    const bool ends = !is_kept && !ilk__pool_has_jobs(pool);
    ILK__REACHES(POOL_ENDS_IDLE, ends && !is_finished);
    ILK__REACHES(POOL_STAYS_FOR_JOB, !is_kept && !ends);
    if (ends) {
        leave_pool(worker, predecessor);
    } else {
        pool->running++;
        ilk__pool_update_calls(pool);
    }
    ilk_mutex_unlock(&pool->mutex);
    return ends;
}
