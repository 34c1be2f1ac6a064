/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting until a pool is idle: nothing is promised, every queue is empty, and no worker is in a job. The three are not
 * read at once. But a worker counts as busy from before it takes a job until it has found none, and each time that one
 * becomes busy steps a count beside it. So if nobody is busy, then the rest is empty, and then `busy` is as it was, all
 * held at the first reading: no job can have begun, or be in a worker's hands.
 *
 *     waiting thread                            the last busy worker         a promise kept, a timer cancelled
 *       raises WATCHED                            busy - 1                     WATCHED? under the mutex:
 *       reads `idles`, fence                      fence                          promised - 1
 *       idle? done                                WATCHED? steps `idles`,        steps `idles`, wakes
 *       parks while `idles` is as read              wakes
 *   Must not happen: the thread sees the worker busy and parks, and the worker sees no WATCHED.
 */
#include "pool/pool.h"

#include "pool/watch.h"
#include <interlock/park.h>

void ilk__pool_wake_watchers(ilk_pool *pool) {
    /* IL1 seq_cst, pairs with itself (a thread that waits). Forbids: it sees us busy, and we see no WATCHED. */
    ilk_atomic_fence(memory_order_seq_cst);
    if ((ilk_atomic_load(&pool->promised, memory_order_relaxed) & POOL_PROMISES_WATCHED) != 0) { /* PL18 */
        /* IL4 release, pairs with IL5 (acquire, about to park). Carries: that we are not busy. */
        ilk_atomic_fetch_add(&pool->idles, 1, memory_order_release);
        ilk_park_wake(&pool->idles, ILK_PARK_ALL);
    }
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
    const uint32_t promised = ilk_atomic_load(&pool->promised, memory_order_acquire); /* PL19 */
    /* The last reading is ordered behind the acquire loads of the queues: with a job gone from one, its taker is seen
     * busy. */
    if ((promised & ~(POOL_PROMISES_CLOSED | POOL_PROMISES_WATCHED)) != 0 || ilk__pool_has_jobs(pool) ||
        ilk_atomic_load(&pool->busy, memory_order_relaxed) != busy) { /* PL26 */
        return false;
    }
    /* Behind the queues: a call of close_now that has a job from one in hand is seen. */
    ilk_mutex_lock(&pool->mutex);
    const bool hands_back = pool->closers != 0;
    ilk_mutex_unlock(&pool->mutex);
    return !hands_back;
}

ILK_NOINLINE ilk_status ilk_pool_wait_idle_until(ilk_pool *pool, uint64_t deadline_ns) {
    ilk__pool_require_outside("ilk_pool_wait_idle_until", pool);
    ilk_mutex_lock(&pool->mutex);
    pool->watchers++;
    ilk_atomic_fetch_or(&pool->promised, POOL_PROMISES_WATCHED, memory_order_relaxed); /* PL18 */
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
        ilk_atomic_fetch_and(&pool->promised, ~POOL_PROMISES_WATCHED, memory_order_relaxed); /* PL18 */
    }
    ilk_mutex_unlock(&pool->mutex);
    return status;
}
