/* SPDX-License-Identifier: Apache-2.0
 *
 * How many threads a pool runs: starting one, waking one, and giving its place to another while it is blocked. All
 * under the pool's mutex and off the path of jobs; docs/pool.md has the table of states.
 */
#include "pool/pool.h"

#include "diagnostics/misuse.h"
#include "diagnostics/names.h"
#include "platform/clock.h"
#include "platform/local.h"
#include "platform/yield.h"
#include "wait/fenced.h"
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
    /* PL13 relaxed: hints; ilk__pool_keep_worker and ilk__pool_end_worker decide under the mutex. */
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
    /* PL8 release, pairs with PL7 (acquire, looking for a victim): the worker's deque is made before it
     * is found. */
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
    worker->has_ended = !ilk__thread_start(&worker->thread, &options, pool->work, worker);
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

static void wake_blocked(struct pool_worker *worker) {
    /* WA2 release, pairs with WA1 (acquire, about to park): the end that the step is for is visible to
     * the worker that finds the new count. */
    ilk_atomic_fetch_add(&worker->wakes, 1, memory_order_release);
    ilk_park_wake(&worker->wakes, 1);
}

static void wake_waits(ilk_pool *pool) {
    struct pool_wait *wait;
    LIST_FOREACH(wait, &pool->waits, link) {
        wake_blocked(wait->worker);
    }
}

void ilk__pool_end_waits(ilk_pool *pool, const void *object) {
    struct pool_wait *wait;
    ilk_mutex_lock(&pool->mutex);
    LIST_FOREACH(wait, &pool->waits, link) {
        if (wait->object == object) {
            wake_blocked(wait->worker);
        }
    }
    ilk_mutex_unlock(&pool->mutex);
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
        wake_waits(pool);
    }
}

/* A job waits, and no worker is idle. */
static void need_thread(ilk_pool *pool) {
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

/* A publication has found FENCED and no worker. */
static bool fenced_is_due(ilk_pool *pool) ILK_NONBLOCKING {
    if (!ilk__fence_heavy_is_cheap()) {
        return false; /* it stays up: no count in the cache line that every publisher reads */
    }
    /* PL30 relaxed: a count that is lost between two publishers does no harm. */
    const uint64_t passes = ilk_atomic_load(&pool->idle.passes, memory_order_relaxed);
    ilk_atomic_store(&pool->idle.passes, passes + 1, memory_order_relaxed); /* PL30 */
    return ilk__fenced_is_due(passes + 1, ilk__fenced_period(passes));
}

/* Guarantee E says when a submission wakes or starts a thread. */
ILK_TRUSTED_NONBLOCKING_BEGIN
ILK_NOINLINE void ilk__pool_wake(ilk_pool *pool) ILK_NONBLOCKING {
    const struct ilk__event_count idle = idle_of(pool);
    const uint64_t waiting =
        ilk__event_wake_one(idle, ilk_atomic_load(&pool->idle.latest, memory_order_relaxed)); /* PL31 */
    if ((waiting & ILK__EVENT_THREADS) != 0) {
        return;
    }
    if ((waiting & ILK__EVENT_FENCED) != 0 && fenced_is_due(pool)) {
        ilk__event_drop_fenced(idle, waiting, waiting & ~ILK__EVENT_FENCED);
    }
    if ((waiting & POOL_CALLS) != 0) {
        need_thread(pool);
    }
}
ILK_TRUSTED_NONBLOCKING_END

void ilk__pool_pass_on(ilk_pool *pool) {
    if (ilk__pool_has_jobs(pool)) {
        ilk__pool_publish(pool);
    }
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
        ilk__pool_pass_on(worker->pool);
    }
}

void ilk_pool_did_block(void) {
    struct pool_worker *worker = ilk__pool_worker();
    if (worker != NULL && --worker->blocked == 0) {
        ilk__pool_take_place(worker, NULL);
    }
}
