/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for a group, and what a worker does while its job waits for one or for a forked job.
 *
 *   1. It runs, on top of its job, jobs of what it waits for, and no others: those of the group; the forked job, and
 *      what that forks on another worker (leapfrogging); parts of the loop. Whatever runs on top, the job below waits
 *      for. So waits that have no cycle end, and a job on top wants no lock that a job below does not wait for anyhow.
 *   2. With none in its own deque or at the tops of others, it leaves its place: it counts as blocked, so that another
 *      thread takes over, and parks on a word of its own until the end of what it waits for.
 *   3. Where all threads are blocked and there are no more, the pool is stuck: no thread would begin a job. Then each
 *      parked worker searches everything for a job of its own. By 1, one of them finds one, unless the waits have a
 *      cycle or a job is blocked by something else.
 *
 *     waiting worker                          the end                    a submission, or a worker that blocks
 *       mutex: in the list of waits             ends the object            publishes the job
 *       announces itself in the object          announced? mutex:          CALLS is up: mutex:
 *       reads its count of wake-ups               each wait for it           stuck? each wait
 *       over? a job (stuck)?                        steps its count,           steps its count,
 *       parks while the count is as read            wakes it                   wakes it
 *   Must not happen: it parks, and the end found it neither announced nor in the list. Or: it parks while a job of its
 *   own waits in a stuck pool. It is in the list before it probes; the thread that makes the pool stuck, or submits
 *   later, finds it.
 *
 * Source of leapfrogging: Wagner, Calder, "Leapfrogging: a portable technique for implementing efficient futures"
 * (1993).
 */
#include "pool/pool.h"

#include "platform/clock.h"
#include "pool/watch.h"
#include "wait/spin.h"
#include <interlock/park.h>

/* ---- Finding ---- */

ilk_job *ilk__pool_dig(struct pool_worker *worker, const void *group, const ilk_job *job) {
    struct deque *deque = &worker->deque;
    if (!deque_sees(deque, group, job)) {
        return NULL;
    }
    ilk_job *found, *others = NULL; /* taken out from above it, the oldest first */
    while ((found = deque_dig(deque)) != NULL && found != job && found->group != group) {
        ilk_plain_write(&found->next, sizeof found->next);
        found->next = others;
        others = found;
    }
    if (others != NULL) {
        while (others != NULL) {
            ilk_plain_read(&others->next, sizeof others->next);
            ilk_job *other = others;
            others = other->next;                         /* before a thief may have it */
            (void)deque_push(deque, other, other->group); /* there is room: it was here just now */
        }
        ilk__pool_publish(worker->pool); /* for those that have missed them meanwhile */
    }
    return found;
}

static ilk_job *find_awaited(struct pool_worker *worker, const struct pool_wait *wait) {
    if (worker->depth >= ILK_POOL_HELP_DEPTH) {
        return NULL;
    }
    ilk_job *job = ilk__pool_dig(worker, wait->group, wait->object);
    return job != NULL ? job : ilk__pool_steal(worker, wait->group);
}

static bool is_awaited(const ilk_job *job, const void *context) {
    const struct pool_wait *wait = context;
    return job == wait->object || job->group == wait->group;
}

/* Wherever it is, in a stuck pool. */
static ilk_job *search(struct pool_worker *worker, const struct pool_wait *wait) {
    ilk_pool *pool = worker->pool;
    /* Raised before the count of wake-ups was stepped. */
    if (!ilk_atomic_load(&pool->is_stuck, memory_order_relaxed) || /* PL13 */
        worker->depth >= ILK_POOL_HELP_DEPTH) {
        return NULL;
    }
    if (ilk__pool_gather(pool)) {
        ilk__pool_publish(pool); /* for those that have missed them meanwhile */
    }
    static const ilk_priority order[] = {ILK_PRIORITY_HIGH, ILK_PRIORITY_NORMAL, ILK_PRIORITY_LOW};
    for (size_t index = 0; index < POOL_PRIORITIES; index++) {
        ilk_job *job = ilk__pool_pick(pool, order[index], true, is_awaited, wait);
        if (job != NULL) {
            ILK__REACHES(POOL_STUCK_FINDS, true);
            return job;
        }
    }
    return NULL;
}

/* ---- Sleeping ---- */

/* A job to run, or NULL: the wait is over, or its time is up. */
static ilk_job *sleep_awaiting(struct pool_worker *worker, struct pool_wait *wait, ilk_status *status) {
    ilk__pool_leave_place(worker, wait);
    wait->will_sleep(wait->object);
    ilk_job *job = find_awaited(worker, wait); /* a part that has come meanwhile is worth no thread */
    if (job == NULL) {
        ilk__pool_pass_on(worker->pool);
    }
    while (job == NULL) {
        /* WA1 acquire, pairs with WA2 (release, stepping the count).
         * Carries: the end that the step is for, or that the pool is stuck.
         * If weaker: we miss it, and park on the new count. */
        const uint32_t wakes = ilk_atomic_load(&worker->wakes, memory_order_acquire);
        if (wait->is_over(wait->object) || (job = search(worker, wait)) != NULL) {
            break;
        }
        ILK__REACHES(POOL_WAIT_PARKS, true);
        if (ilk_park_wait(&worker->wakes, wakes, wait->deadline_ns) == ILK_TIMEDOUT) {
            *status = wait->is_over(wait->object) ? ILK_OK : ILK_TIMEDOUT;
            break;
        }
    }
    ilk__pool_take_place(worker, wait);
    return job;
}

/* With a job, or with the end of what was waited for. */
static void spin_has_ended(struct pool_worker *worker, int probe) {
    if (probe > 0) {
        worker->failed_spins = ilk__spin_succeeded(worker->failed_spins);
    }
}

ilk_status ilk__pool_await(struct pool_worker *worker, struct pool_wait *wait) {
    ilk_status status = ILK_OK;
    wait->worker = worker;
    int probe = 0, probes = ilk__spin_probes(ILK__SPIN_POOL, worker->failed_spins);
    while (status == ILK_OK && !wait->is_over(wait->object)) {
        if (wait->deadline_ns != ILK_FOREVER && ilk__clock_now_ns() >= wait->deadline_ns) {
            return ILK_TIMEDOUT;
        }
        ilk_job *job = find_awaited(worker, wait);
        if (job == NULL && probe < probes) {
            ilk__spin_pause(ILK__SPIN_POOL, probe++);
            continue;
        }
        if (job == NULL) {
            worker->failed_spins++;
            job = sleep_awaiting(worker, wait, &status);
        } else {
            spin_has_ended(worker, probe);
        }
        probes = ilk__spin_probes(ILK__SPIN_POOL, worker->failed_spins);
        if (job != NULL) {
            ilk__pool_run(worker, job);
        }
        probe = 0;
    }
    spin_has_ended(worker, probe);
    return status;
}

/* ---- Groups ---- */

static bool group_is_over(void *context) {
    const ilk_group *group = context;
    /* GR7 acquire, pairs with GR4 (acq_rel, leaving): we see what every job did. */
    return ilk_atomic_load(&group->word, memory_order_acquire) < GROUP_ONE;
}

/* Over, or its jobs are another pool's by now, and their end wakes no worker of this one. */
static bool group_has_left(void *object) {
    const ilk_group *group = object;
    return group_is_over(object) ||
           ilk_atomic_load(&group->pool, memory_order_relaxed) != ilk__pool_worker()->pool; /* GR2 */
}

static void group_will_sleep(void *object) {
    ilk_group *group = object;
    /* GR10 release, pairs with GR4 (acq_rel, leaving).
     * Carries: the worker in its pool's list of waits.
     * If weaker: the last job finds the list without it; but for the pool's mutex, under which both are done. */
    ilk_atomic_fetch_or(&group->word, GROUP_WORKERS, memory_order_release);
}

static ilk_status sleep_on_word(ilk_group *group, uint64_t deadline_ns) {
    for (;;) {
        uint32_t word = ilk_atomic_load(&group->word, memory_order_acquire); /* GR7 */
        if (word < GROUP_ONE) {
            return ILK_OK;
        }
        /* GR9 relaxed: a step of one word, a read-modify-write that GR4 reads. */
        if ((word & GROUP_SLEEPERS) == 0 &&
            !ilk_atomic_compare_exchange(&group->word, &word, word | GROUP_SLEEPERS, memory_order_relaxed,
                                         memory_order_relaxed)) {
            continue;
        }
        if (ilk_park_wait(&group->word, word | GROUP_SLEEPERS, deadline_ns) == ILK_TIMEDOUT) {
            return group_is_over(group) ? ILK_OK : ILK_TIMEDOUT;
        }
    }
}

static ilk_status group_wait(ilk_group *group, uint64_t deadline_ns) {
    struct pool_worker *worker = ilk__pool_worker();
    /* Between will_block and did_block another thread has the worker's place. */
    if (worker != NULL && worker->blocked == 0 &&
        worker->pool == ilk_atomic_load(&group->pool, memory_order_relaxed)) { /* GR2 */
        struct pool_wait wait = {.object = group,
                                 .group = group,
                                 .is_over = group_has_left,
                                 .will_sleep = group_will_sleep,
                                 .deadline_ns = deadline_ns};
        const ilk_status status = ilk__pool_await(worker, &wait);
        if (status != ILK_OK || group_is_over(group)) {
            return status;
        }
    }
    ilk_pool_will_block();
    const ilk_status status = sleep_on_word(group, deadline_ns);
    ilk_pool_did_block();
    return status;
}

ILK_NOINLINE ilk_status ilk_group_wait_until(ilk_group *group, uint64_t deadline_ns) {
    if (group_is_over(group)) {
        return ILK_OK;
    }
    struct ilk__idle_watch watch;
    ilk__pool_watch_begin(&watch, "group", group, deadline_ns, ILK__CALLER);
    const ilk_status status = group_wait(group, deadline_ns);
    ilk__watch_idle_end(&watch);
    return status;
}
