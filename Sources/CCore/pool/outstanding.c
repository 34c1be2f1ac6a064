/* SPDX-License-Identifier: Apache-2.0
 *
 * Outstanding work: jobs to come, which no queue holds yet (of timers, and those that follow a group), and workers that
 * are busy. With what waits in the queues, it says whether the pool is drained and whether it is idle.
 *
 * Idle: no job is to come, every queue is empty, and no worker is in a job. The three are not read at once. But a
 * worker counts as busy from before it takes a job until it has found none, and each time that one becomes busy steps a
 * count beside it. So if no worker is busy, then the rest is empty, and then `busy` is as it was, all held at the first
 * reading: no job can have begun, or be in a worker's hands.
 *
 *     waiting thread                            the last busy worker         a job that came, a timer cancelled
 *       raises WATCHED                            busy - 1                     WATCHED? under the mutex:
 *       reads `idles`, fence                      fence                          outstanding - 1
 *       idle? done                                WATCHED? steps `idles`,        steps `idles`, wakes
 *       parks while `idles` is as read              wakes
 *   Must not happen: the thread sees the worker busy and parks, and the worker sees no WATCHED.
 */
#include "pool/pool.h"

#include "diagnostics/misuse.h"
#include "pool/watch.h"
#include <interlock/park.h>

/* ---- Work to come ---- */

void ilk__pool_wake_watchers(ilk_pool *pool) {
    /* IL1 seq_cst, pairs with itself (a thread that waits). Forbids: it sees us busy, and we see no WATCHED. */
    ilk_atomic_fence(memory_order_seq_cst);
    if ((ilk_atomic_load(&pool->outstanding, memory_order_relaxed) & OUTSTANDING_WATCHED) != 0) { /* PL18 */
        /* IL4 release, pairs with IL5 (acquire, about to park). Carries: that we are not busy. */
        ilk_atomic_fetch_add(&pool->idles, 1, memory_order_release);
        ilk_park_wake(&pool->idles, ILK_PARK_ALL);
    }
}

bool ilk__pool_outstanding_add(ilk_pool *pool) ILK_NONBLOCKING {
    uint32_t outstanding = ilk_atomic_load(&pool->outstanding, memory_order_relaxed); /* PL18 */
    do {
        if ((outstanding & OUTSTANDING_CLOSED) != 0) {
            return false;
        }
        /* PL18 relaxed: workers that ask whether anything is to come ask by PL19. */
    } while (!ilk_atomic_compare_exchange_weak(&pool->outstanding, &outstanding, outstanding + 1,
                                               memory_order_relaxed, memory_order_relaxed));
    return true;
}

void ilk__pool_outstanding_remove(ilk_pool *pool) {
    if (pool->is_in_fork_child) {
        return;
    }
    uint32_t outstanding = ilk_atomic_load(&pool->outstanding, memory_order_relaxed); /* PL18 */
    while ((outstanding & (OUTSTANDING_CLOSED | OUTSTANDING_WATCHED)) == 0) {
        /* PL20 release, pairs with PL19 (acquire, asking whether the pool is drained).
         * Carries: the job in its inbox.
         * If weaker: the last worker leaves before a job that was to come. */
        if (ilk_atomic_compare_exchange_weak(&pool->outstanding, &outstanding, outstanding - 1,
                                             memory_order_release, memory_order_relaxed)) {
            return;
        }
    }
    /* The last one lets a closed pool end, and be destroyed; this thread may be another pool's. The last worker
     * ends under the mutex, and so after our last touch. */
    ilk_mutex_lock(&pool->mutex);
    outstanding = ilk_atomic_fetch_sub(&pool->outstanding, 1, memory_order_release); /* PL20 */
    ilk__pool_wake_watchers(pool);
    if ((outstanding & ~OUTSTANDING_WATCHED) == (OUTSTANDING_CLOSED | 1)) {
        ilk__pool_wake_spares(pool); /* drained, perhaps, without another worker */
        ilk__event_wake_all(idle_of(pool));
    }
    ilk_mutex_unlock(&pool->mutex);
}

void ilk__pool_push_outstanding(ilk_pool *pool, ilk_job *job) {
    (void)ilk__pool_push(pool, job->priority, job, job, true);
    ilk__pool_publish(pool);
    ilk__pool_outstanding_remove(pool);
}

bool ilk__pool_is_drained(ilk_pool *pool) ILK_NONBLOCKING {
    /* PL19 acquire, pairs with PL20 (release, a job that came) and PL21 (release, closing). First: a job that
     * counts no more is in the inbox that we read. */
    if ((ilk_atomic_load(&pool->outstanding, memory_order_acquire) & ~OUTSTANDING_WATCHED) !=
        OUTSTANDING_CLOSED) {
        return false;
    }
    return !ilk__pool_has_jobs(pool);
}

/* ---- Busy workers ---- */

void ilk__pool_set_busy(struct pool_worker *worker, bool is_busy) {
    if (worker->is_busy == is_busy) {
        return;
    }
    ilk_pool *pool = worker->pool;
    worker->is_busy = is_busy;
    if (is_busy) {
        /* PL26 relaxed: steps of one word. A worker that is mistaken about the others leaves early, or sleeps until it
         * is woken here; the one that has the jobs is not mistaken about itself. */
        ilk_atomic_fetch_add(&pool->busy, POOL_BUSY_ONE, memory_order_relaxed);
        return;
    }
    /* IL2 release, pairs with IL3 (acquire, asking whether the pool is idle).
     * Carries: what the worker's jobs did and submitted.
     * If weaker: a thread that waits until the pool is idle misses a job, or what it did. */
    const uint64_t before = ilk_atomic_fetch_sub(&pool->busy, 1, memory_order_release);
    if ((uint32_t)before == 1) {
        ilk__pool_wake_watchers(pool);
        if (ilk__pool_is_drained(pool)) {
            ilk__event_wake_all(idle_of(pool)); /* finished, while others slept */
        }
    }
}

/* ---- Waiting ---- */

void ilk__pool_require_outside(const char *call, const ilk_pool *pool) {
    const struct pool_worker *worker = ilk__pool_worker();
    if (worker != NULL && worker->pool == pool) {
        ilk__misuse(call, pool, "called by one of the pool's own jobs, which it would wait for");
    }
}

static bool is_done(const ilk_pool *pool) {
    /* PL17 acquire, pairs with PL16 (release, the last thread has ended): we see what all jobs did. */
    return ilk_atomic_load(&pool->done, memory_order_acquire) != 0;
}

ilk_status ilk__pool_wait_until_done(ilk_pool *pool, uint64_t deadline_ns, const void *site) {
    if (is_done(pool)) {
        return ILK_OK;
    }
    ilk_status status = ILK_OK;
    struct ilk__idle_watch watch;
    ilk__pool_watch_begin(&watch, NULL, pool, deadline_ns, site);
    ilk_pool_will_block(); /* for a job of another pool */
    while (status == ILK_OK && !is_done(pool)) {
        if (ilk_park_wait(&pool->done, 0, deadline_ns) == ILK_TIMEDOUT && !is_done(pool)) {
            status = ILK_TIMEDOUT;
        }
    }
    ilk_pool_did_block();
    ilk__watch_idle_end(&watch);
    return status;
}

ILK_NOINLINE ilk_status ilk_pool_wait_until(ilk_pool *pool, uint64_t deadline_ns) {
    ilk__pool_require_outside("ilk_pool_wait_until", pool);
    return ilk__pool_wait_until_done(pool, deadline_ns, ILK__CALLER);
}

static bool is_idle(ilk_pool *pool) {
    /* Also in a child of fork, where `busy` counts threads that are gone. */
    if (ilk_atomic_load(&pool->done, memory_order_acquire) != 0) { /* PL17 */
        return true;
    }
    /* IL3 acquire, pairs with IL2 (release, a worker that is idle): we see what the idle workers' jobs
     * did and submitted. */
    const uint64_t busy = ilk_atomic_load(&pool->busy, memory_order_acquire);
    if ((uint32_t)busy != 0) {
        return false;
    }
    const uint32_t outstanding = ilk_atomic_load(&pool->outstanding, memory_order_acquire); /* PL19 */
    /* The last reading is ordered behind the acquire loads of the queues: with a job gone from one, its taker is seen
     * busy. */
    if ((outstanding & OUTSTANDING_COUNT) != 0 || ilk__pool_has_jobs(pool) ||
        ilk_atomic_load(&pool->busy, memory_order_relaxed) != busy) { /* PL26 */
        return false;
    }
    /* Read after the queues: so a call of close_now that has a job from one in hand is seen. */
    ilk_mutex_lock(&pool->mutex);
    const bool hands_back = pool->closers != 0;
    ilk_mutex_unlock(&pool->mutex);
    return !hands_back;
}

ILK_NOINLINE ilk_status ilk_pool_wait_idle_until(ilk_pool *pool, uint64_t deadline_ns) {
    ilk__pool_require_outside("ilk_pool_wait_idle_until", pool);
    ilk_mutex_lock(&pool->mutex);
    pool->watchers++;
    ilk_atomic_fetch_or(&pool->outstanding, OUTSTANDING_WATCHED, memory_order_relaxed); /* PL18 */
    ilk_mutex_unlock(&pool->mutex);
    struct ilk__idle_watch watch;
    ilk__pool_watch_begin(&watch, "idle pool", pool, deadline_ns, ILK__CALLER);
    ilk_pool_will_block(); /* for a job of another pool */
    ilk_status status = ILK_OK;
    for (;;) {
        /* IL5 acquire, pairs with IL4 (release, waking us): we find the waker not busy. */
        const uint32_t idles = ilk_atomic_load(&pool->idles, memory_order_acquire);
        ilk_atomic_fence(memory_order_seq_cst); /* IL1 */
        if (is_idle(pool)) {
            break;
        }
        ILK__REACHES(POOL_IDLE_PARKS, true);
        if (ilk_park_wait(&pool->idles, idles, deadline_ns) == ILK_TIMEDOUT) {
            status = is_idle(pool) ? ILK_OK : ILK_TIMEDOUT;
            break;
        }
    }
    ilk_pool_did_block();
    ilk__watch_idle_end(&watch);
    ilk_mutex_lock(&pool->mutex);
    if (--pool->watchers == 0) {
        ilk_atomic_fetch_and(&pool->outstanding, ~OUTSTANDING_WATCHED, memory_order_relaxed); /* PL18 */
    }
    ilk_mutex_unlock(&pool->mutex);
    return status;
}
