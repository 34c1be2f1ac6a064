/* SPDX-License-Identifier: Apache-2.0
 *
 * Fork and join, and loops on top of them. A forked job lies in its owner's deque: a join finds it at the bottom, if no
 * thief has it, and calls it.
 *
 * The state of a forked job
 *   FORKED    in a deque, or with a thief that runs it
 *   AWAITED   the same, and its owner sleeps for it, in the pool's list of waits
 *   SLEPT_ON  the same, on this word: the owner is between will_block and did_block, or no worker
 *   DONE      it has run; the thief's last touch
 * The thief (worker.c) exchanges DONE for the state, and wakes if that was AWAITED or SLEPT_ON. The owner leaves FORKED
 * by compare-and-swap, and asks again before it parks. Must not happen: it sleeps, and the thief does not know.
 */
#include "pool/pool.h"

#include "diagnostics/misuse.h"
#include "platform/local.h"
#include "pool/watch.h"
#include <interlock/park.h>
#include <stddef.h>

/* The calling thread's worker in this pool, or NULL. */
static struct pool_worker *worker_of(const ilk_pool *pool) ILK_NONBLOCKING {
    struct pool_worker *worker = ilk__pool_worker();
    return worker != NULL && worker->pool == pool ? worker : NULL;
}

/* `group`: what a wait may be for that this job belongs to; only compared. */
static void fork_in(struct pool_worker *worker, ilk_pool *pool, ilk_job *job, const void *group,
                    void (*function)(void *context), void *context) ILK_NONBLOCKING {
    job->function = function;
    job->context = context;
    /* PL10 relaxed: the deque's release publishes it. */
    ilk_atomic_store(&job->state, JOB_FORKED, memory_order_relaxed);
    if (worker == NULL || !deque_push(&worker->deque, job, group)) {
        ilk_atomic_store(&job->state, JOB_PLAIN, memory_order_relaxed); /* PL10: join runs it */
        return;
    }
    ilk__pool_publish(pool);
}

void ilk_pool_fork(ilk_pool *pool, ilk_job *job, void (*function)(void *context), void *context)
    ILK_NONBLOCKING {
    struct pool_worker *worker = worker_of(pool);
    fork_in(worker, pool, job, worker == NULL ? NULL : worker->scope, function, context);
}

static bool join_is_done(void *object) {
    const ilk_job *job = object;
    /* FJ2 acquire, pairs with FJ1 (acq_rel, the job has run): we see what the job did, and may free it. */
    return ilk_atomic_load(&job->state, memory_order_acquire) == JOB_DONE;
}

static void join_will_sleep(void *object) {
    ilk_job *job = object;
    uint32_t forked = JOB_FORKED;
    /* FJ3 release, pairs with FJ1 (acq_rel, the job has run): we are in the list of waits before the job's end looks
     * for us. The pool's mutex, under which both are done, suffices for that. */
    (void)ilk_atomic_compare_exchange(&job->state, &forked, JOB_AWAITED, memory_order_release,
                                      memory_order_relaxed);
}

static void sleep_on_state(ilk_job *job) {
    uint32_t forked = JOB_FORKED;
    (void)ilk_atomic_compare_exchange(&job->state, &forked, JOB_SLEPT_ON, memory_order_release, /* FJ3 */
                                      memory_order_relaxed);
    ilk_pool_will_block();
    while (!join_is_done(job)) {
        (void)ilk_park_wait(&job->state, JOB_SLEPT_ON, ILK_FOREVER);
    }
    ilk_pool_did_block();
}

/* Another worker has it, or others lie above it in the deque. */
static ILK_NOINLINE void await_forked(struct pool_worker *worker, ilk_job *job, const void *group) {
    if (ilk__pool_dig(worker, job, job) != NULL) { /* what has it as its group is elsewhere */
        job->function(job->context);
        return;
    }
    ilk__pool_end_child(
        worker->pool); /* below a part of a loop, say, that has forked: the thief is not there */
    if (worker->blocked > 0) {
        sleep_on_state(job);
    } else {
        struct pool_wait wait = {.object = job,
                                 .group = group,
                                 .is_over = join_is_done,
                                 .will_sleep = join_will_sleep,
                                 .deadline_ns = ILK_FOREVER};
        (void)ilk__pool_await(worker, &wait);
    }
}

/* True: it was the last in the deque still, and has run. */
static bool run_forked(struct pool_worker *worker, ilk_job *job) {
    if (ILK_LIKELY(deque_has_last(&worker->deque, job) && deque_take(&worker->deque) != NULL)) {
        job->function(job->context);
        return true;
    }
    return false;
}

/* `group`: of the jobs that may run on top meanwhile. */
static void join(struct pool_worker *worker, ilk_job *job, const void *group) {
    if (!run_forked(worker, job)) {
        await_forked(worker, job, group);
    }
}

ILK_NOINLINE void ilk_pool_join(ilk_pool *pool, ilk_job *job) {
    if (ilk_atomic_load(&job->state, memory_order_relaxed) == JOB_PLAIN) { /* PL10 */
        job->function(job->context);
        return;
    }
    struct pool_worker *worker = worker_of(pool);
    if (ILK_UNLIKELY(worker == NULL)) {
        ilk__misuse("ilk_pool_join", pool, "job %p was forked by another thread", (const void *)job);
    }
    if (run_forked(worker, job)) {
        return;
    }
    struct ilk__idle_watch watch;
    ilk__pool_watch_begin(&watch, "forked job", job, ILK_FOREVER, ILK__CALLER);
    await_forked(worker, job, job); /* what it forks on its thief has it as its group */
    ilk__watch_idle_end(&watch);
}

/* ---- Loops ---- */

/* Parts of a loop for each thread, where the caller does not choose. bench pool, loops. */
enum { PARTS_PER_THREAD = 4096 };

struct loop {
    ilk_pool *pool;
    size_t grain;
    void (*body)(void *context, size_t first, size_t end);
    void *context;
};

struct range {
    ilk_job job;
    const struct loop *loop;
    size_t first, end;
};

static void run_range(void *context) {
    struct range *range = context;
    const struct loop *loop = range->loop;
    struct pool_worker *worker = worker_of(loop->pool);
    size_t first = range->first;
    while (range->end - first > loop->grain) {
        if (worker != NULL && !deque_has_jobs(&worker->deque)) {
            /* Thieves have taken all, or this is the beginning: they get half of what is left. */
            struct range half = {.loop = loop, .first = first + (range->end - first) / 2, .end = range->end};
            struct range rest = {.loop = loop, .first = first, .end = half.first};
            fork_in(worker, loop->pool, &half.job, loop, run_range, &half);
            run_range(&rest);
            join(worker, &half.job, loop); /* any part of the loop may run on top: none is begun below */
            return;
        }
        loop->body(loop->context, first, first + loop->grain);
        first += loop->grain;
    }
    loop->body(loop->context, first, range->end);
}

ILK_NOINLINE bool ilk_pool_for(ilk_pool *pool, size_t begin, size_t end, size_t grain,
                               void (*body)(void *context, size_t first, size_t end), void *context) {
    if (begin >= end) {
        return true;
    }
    if (grain == 0) {
        grain = (end - begin) / ((size_t)pool->target * PARTS_PER_THREAD);
        grain = grain == 0 ? 1 : grain;
    }
    const struct loop loop = {pool, grain, body, context};
    struct range range = {.loop = &loop, .first = begin, .end = end};
    if (worker_of(pool) != NULL) {
        run_range(&range);
        return true;
    }
    /* Never handed back, like a forked job: this call promises that the body runs. */
    ilk_job_init(&range.job, run_range, &range);
    ilk_atomic_store(&range.job.state, JOB_FORKED, memory_order_relaxed); /* PL10 */
    if (!ilk_pool_submit(pool, &range.job)) {
        return false;
    }
    struct ilk__idle_watch watch;
    ilk__pool_watch_begin(&watch, "loop", &range.job, ILK_FOREVER, ILK__CALLER);
    sleep_on_state(&range.job);
    ilk__watch_idle_end(&watch);
    return true;
}
