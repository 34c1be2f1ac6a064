/* SPDX-License-Identifier: Apache-2.0
 *
 * How many threads a pool has: started, blocked, spare, ended. All under the pool's mutex and off the path of jobs;
 * docs/pool.md has the table of states.
 */
#include "pool/pool.h"

#include "diagnostics/misuse.h"
#include "diagnostics/names.h"
#include "platform/clock.h"
#include "platform/local.h"
#include "platform/yield.h"
#include <interlock/park.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* After a refusal the system is not asked again for so long. */
enum { RETRY_NS = 10000000 };

/* Every thread is blocked, and the limit, which the caller has not chosen, allows no more: to be said once. */
static bool is_capped(const ilk_pool *pool) {
    return pool->running == 0 && pool->spares == NULL && pool->started == pool->most &&
           pool->has_default_most && !pool->has_noted_most;
}

/* CALLS is up while running < target and there is a thread to be had, or a wait that may search, or a note to make. */
void ilk__pool_update_calls(ilk_pool *pool) {
    const bool has_more = pool->spares != NULL || pool->started < pool->most;
    const bool is_stuck = pool->running == 0 && !LIST_EMPTY(&pool->waits) && pool->spares == NULL &&
                          (pool->started == pool->most || pool->retry_ns != 0);
    ilk_atomic_store(&pool->is_stuck, is_stuck, memory_order_relaxed); /* PL13 */
    ilk__event_set_flag(idle_of(pool), POOL_CALLS,
                        pool->running < pool->target && (has_more || is_stuck || is_capped(pool)));
    const uint32_t excess = pool->running > pool->target ? pool->running - pool->target : 0;
    /* PL13 relaxed: hints; ilk__pool_stay and ilk__pool_end decide under the mutex. */
    ilk_atomic_store(&pool->excess, excess, memory_order_relaxed);
    ilk_atomic_store(&pool->has_surplus, pool->started > pool->kept, memory_order_relaxed); /* PL13 */
}

/* In the place of one that has ended, or a new one; NULL without memory. */
static struct pool_worker *free_worker(ilk_pool *pool) {
    const uint32_t places = ilk_atomic_load(&pool->places, memory_order_relaxed); /* PL29 */
    for (uint32_t place = 0; place < places; place++) {
        struct pool_worker *worker = ilk_atomic_load(&pool->workers[place], memory_order_relaxed); /* PL9 */
        if (worker->has_ended) {
            return worker;
        }
    }
    struct pool_worker *worker = aligned_alloc(POOL_SEPARATION, (sizeof *worker + POOL_SEPARATION - 1) /
                                                                    POOL_SEPARATION * POOL_SEPARATION);
    if (worker == NULL) {
        return NULL;
    }
    memset(worker, 0, sizeof *worker);
    worker->pool = pool;
    worker->index = places;
    worker->random = places * UINT32_C(0x9E3779B9) + 1;
    ilk_atomic_store(&pool->workers[places], worker, memory_order_relaxed); /* PL9 */
    /* PL8 release, pairs with PL7 (acquire, looking for a victim). See there. */
    ilk_atomic_store(&pool->places, places + 1, memory_order_release);
    return worker;
}

static void ended_early(void *context) {
    const struct pool_worker *worker = context;
    ilk__misuse("ilk_pool_submit", worker->pool, "a job has ended its thread");
}

bool ilk__pool_start_thread(ilk_pool *pool) {
    struct pool_worker *worker = free_worker(pool);
    if (worker == NULL) {
        pool->refused++;
        return false;
    }
    struct ilk__thread_options options = pool->thread_options;
    char name[24];
    snprintf(name, sizeof name, "%.*s-%u", ilk__name_cut(pool->name, 11), pool->name,
             (unsigned)worker->index);
    options.name = name;
    options.ended_early = ended_early;
    /* PL13: before the thread may be idle. Where it is refused, ilk__pool_update_calls follows. */
    ilk_atomic_store(&pool->has_surplus, pool->started >= pool->kept, memory_order_relaxed);
    worker->has_ended = !ilk__thread_start(&worker->thread, &options, ilk__pool_work, worker);
    ILK__REACHES(POOL_REFUSED, worker->has_ended);
    ILK__REACHES(POOL_STARTS, !worker->has_ended);
    if (worker->has_ended) {
        pool->refused++;
        return false;
    }
    pool->started++;
    pool->running++;
    return true;
}

static void wake_spare(ilk_pool *pool) {
    struct pool_worker *worker = pool->spares;
    pool->spares = worker->next_spare;
    worker->is_spare = false;
    pool->running++;
    /* PL14 relaxed: a count, which a worker that is about to park sees move. It probes for what it is woken for. */
    ilk_atomic_fetch_add(&worker->wakes, 1, memory_order_relaxed);
    ILK__REACHES(POOL_SPARE_WOKEN, true);
    ilk_park_wake(&worker->wakes, 1);
}

void ilk__pool_wake_spares(ilk_pool *pool) {
    while (pool->spares != NULL) {
        wake_spare(pool);
    }
}

/* With the mutex held. After a refusal not every job asks the system while others run: each submission would cost as
 * much as starting a thread. Where none runs, a job may wait for good: each one asks. */
static void have_thread(ilk_pool *pool, bool *notes_most) {
    /* The job may have begun, and have been the last: no thread is started in a pool that is done. */
    if (pool->running >= pool->target || ilk_atomic_load(&pool->done, memory_order_relaxed) != 0 || /* PL27 */
        !ilk__pool_has_jobs(pool)) {
        return;
    }
    if (pool->spares != NULL) {
        wake_spare(pool);
    } else if (pool->started < pool->most &&
               (pool->retry_ns == 0 || pool->running == 0 || ilk__clock_now_ns() >= pool->retry_ns)) {
        pool->retry_ns = ilk__pool_start_thread(pool) ? 0 : ilk_deadline_in_ns(RETRY_NS);
    }
    *notes_most = is_capped(pool);
    pool->has_noted_most = pool->has_noted_most || *notes_most;
    ilk__pool_update_calls(pool);
    if (ilk_atomic_load(&pool->is_stuck, memory_order_relaxed)) { /* PL27 */
        ilk__pool_wake_waits(pool);
    }
}

void ilk__pool_need_thread(ilk_pool *pool) {
    bool notes_most = false;
    ilk_mutex_lock(&pool->mutex);
    have_thread(pool, &notes_most);
    ilk_mutex_unlock(&pool->mutex);
    if (notes_most) { /* without the mutex: a full pipe behind standard error would hold all up */
        ilk__note("ilk_pool_will_block", pool,
                  "all %u threads of pool \"%s\" are blocked, and jobs wait: its options may allow more by "
                  "max_threads",
                  (unsigned)pool->most, pool->name);
    }
}

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
static void leave(struct pool_worker *worker, struct pool_former *former) {
    ilk_pool *pool = worker->pool;
    pool->started--;
    if (pool->started == 0) {
        ilk__pool_end_if_left(pool);
    } else if (ilk__pool_is_drained(pool)) {
        ilk__pool_wake_spares(pool);
    }
    ilk__pool_update_calls(pool);
    former->is_there = pool->has_last_thread;
    former->thread = pool->last_thread;
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

bool ilk__pool_stay(struct pool_worker *worker, struct pool_former *former) {
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
    /* A wake-up may have been for this worker. */
    if (ilk__pool_has_jobs(pool)) {
        ilk__pool_publish(pool);
    }
    uint64_t deadline_ns = ilk_deadline_in_ns(pool->idle_ns);
    while (ilk_atomic_load(&worker->wakes, memory_order_relaxed) == wakes) { /* PL14 */
        if (ilk_park_wait(&worker->wakes, wakes, deadline_ns) == ILK_TIMEDOUT) {
            ilk_mutex_lock(&pool->mutex);
            const bool ends = worker->is_spare && pool->started > pool->kept;
            if (ends) {
                remove_spare(pool, worker);
                worker->is_spare = false;
                leave(worker, former);
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

bool ilk__pool_end(struct pool_worker *worker, bool is_finished, struct pool_former *former) {
    ilk_pool *pool = worker->pool;
    ilk__pool_set_busy(worker, false);
    if (is_finished) {
        ilk__event_wake_all(idle_of(pool)); /* the others end as well */
    }
    ilk_mutex_lock(&pool->mutex);
    pool->running--;
    ilk__pool_update_calls(pool);
    const bool is_kept = !is_finished && pool->started <= pool->kept;
    /* Jobs: submitted after our last probe, before CALLS was up. */
    const bool ends = !is_kept && !ilk__pool_has_jobs(pool);
    ILK__REACHES(POOL_ENDS_IDLE, ends && !is_finished);
    ILK__REACHES(POOL_STAYS_FOR_JOB, !is_kept && !ends);
    if (ends) {
        leave(worker, former);
    } else {
        pool->running++;
        ilk__pool_update_calls(pool);
    }
    ilk_mutex_unlock(&pool->mutex);
    return ends;
}

/* ---- Blocking ---- */

void ilk__pool_leave_place(struct pool_worker *worker, struct pool_wait *wait) {
    ilk_pool *pool = worker->pool;
    ilk_mutex_lock(&pool->mutex);
    pool->running--;
    pool->blocked++;
    if (wait != NULL) {
        LIST_INSERT_HEAD(&pool->waits, wait, link);
    }
    ilk__pool_update_calls(pool);
    ilk_mutex_unlock(&pool->mutex);
    ILK__REACHES(POOL_BLOCKED, true);
}

void ilk__pool_offer_place(ilk_pool *pool) {
    /* Behind the fence of raising CALLS: a submission that we miss sees CALLS. */
    if (ilk__pool_has_jobs(pool)) {
        ilk__pool_publish(pool);
    }
}

void ilk__pool_take_place(struct pool_worker *worker, struct pool_wait *wait) {
    ilk_pool *pool = worker->pool;
    ilk_mutex_lock(&pool->mutex);
    pool->blocked--;
    pool->running++;
    if (wait != NULL) {
        LIST_REMOVE(wait, link);
    }
    ilk__pool_update_calls(pool);
    ilk_mutex_unlock(&pool->mutex);
}

void ilk_pool_will_block(void) {
    struct pool_worker *worker = ilk__pool_worker();
    if (worker != NULL && worker->blocked++ == 0) {
        ilk__pool_leave_place(worker, NULL);
        ilk__pool_offer_place(worker->pool);
    }
}

void ilk_pool_did_block(void) {
    struct pool_worker *worker = ilk__pool_worker();
    if (worker != NULL && --worker->blocked == 0) {
        ilk__pool_take_place(worker, NULL);
    }
}
