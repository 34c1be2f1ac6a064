/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs, and submitting them: into the deque of the worker that calls, else into an inbox.
 */
#include "pool/pool.h"

#include "diagnostics/misuse.h"

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
static void leave_refused(ilk_group *group, ilk_pool *pool) ILK_NONBLOCKING {
    if (group != NULL) {
        ilk__group_leave(group, pool);
    }
}
ILK_TRUSTED_NONBLOCKING_END

bool ilk_pool_submit(ilk_pool *pool, ilk_job *job) ILK_NONBLOCKING {
    ilk_group *group = job->group;
    if (group != NULL) {
        ilk__group_enter(group, pool);
    }
    if (!push_own(pool, job) && !ilk__pool_push(pool, job->priority, job, job, false)) {
        leave_refused(group, pool);
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
            ilk__group_enter(job->group, pool);
        }
        ilk_plain_write(&job->next, sizeof job->next);
        job->next = index == 0 ? NULL : jobs[index - 1];
    }
    if (!ilk__pool_push(pool, priority, jobs[count - 1], jobs[0], false)) {
        for (size_t index = 0; index < count; index++) {
            leave_refused(jobs[index]->group, pool);
        }
        return false;
    }
    ilk__pool_publish(pool);
    return true;
}
