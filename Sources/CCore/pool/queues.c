/* SPDX-License-Identifier: Apache-2.0
 *
 * Submission from outside: an inbox, a stack that any thread pushes to, is taken whole and turned round into a backlog,
 * a list, oldest first, under a lock that is tried and never waited for.
 *
 * Source of the inbox: Treiber, "Systems programming: coping with parallelism" (1986); taken whole, it has no ABA.
 */
#include "pool/pool.h"

#include "platform/yield.h"

/* NORMAL jobs that go from a backlog to a worker's deque at once, beside the one it runs. */
enum { REFILL = DEQUE_PLACES < 15 ? DEQUE_PLACES : 15 };

/* `newest` to `oldest` are linked, each to the one before it. */
bool ilk__pool_push(ilk_pool *pool, uint32_t priority, ilk_job *newest, ilk_job *oldest, bool is_outstanding)
    ILK_NONBLOCKING {
    ILK_ATOMIC(uintptr_t) *inbox = &pool->queues[priority].inbox;
    uintptr_t head = ilk_atomic_load(inbox, memory_order_relaxed); /* PL1: a guess; PL2 decides */
    do {
        if ((head & POOL_CLOSED) != 0 && !is_outstanding) {
            return false;
        }
        ilk_plain_write(&oldest->next, sizeof oldest->next);
        oldest->next = (ilk_job *)(head & ~POOL_CLOSED);
        /* PL2 release, pairs with PL3 (acquire, taking the inbox).
         * Carries: the job, and what the submitter did before.
         * If weaker: a worker runs a job that is not there yet. */
    } while (!ilk_atomic_compare_exchange_weak(inbox, &head, (uintptr_t)newest | (head & POOL_CLOSED),
                                               memory_order_release, memory_order_relaxed));
    return true;
}

bool ilk__pool_queue_is_filled(const ilk_pool *pool, uint32_t priority) ILK_NONBLOCKING {
    const struct pool_queue *queue = &pool->queues[priority];
    return (ilk_atomic_load(&queue->inbox, memory_order_relaxed) & ~POOL_CLOSED) != 0 || /* PL1 */
           ilk_atomic_load(&queue->backlog, memory_order_relaxed) != NULL;               /* PL4 */
}

/* Whether the queue has jobs; true also while a thread moves jobs from one place to another. */
static bool queue_has_jobs(const ilk_pool *pool, uint32_t priority) ILK_NONBLOCKING {
    const struct pool_queue *queue = &pool->queues[priority];
    /* PL22 acquire, pairs with PL3 (acq_rel, taking the inbox).
     * Carries: the lock of the thread that has emptied the inbox.
     * If weaker: its jobs are in neither list, and we sleep while they wait. */
    if ((ilk_atomic_load(&queue->inbox, memory_order_acquire) & ~POOL_CLOSED) != 0) {
        return true;
    }
    /* PL23 acquire, pairs with PL6 (release, unlocking). Carries: the backlog, and what went from it to a deque. */
    if (ilk_atomic_load(&queue->locked, memory_order_acquire) != 0) {
        return true; /* perhaps: jobs are on their way */
    }
    /* PL24 acquire, pairs with PL25 (release, shortening the backlog). Carries: what went from it to a deque. */
    return ilk_atomic_load(&queue->backlog, memory_order_acquire) != NULL;
}

bool ilk__pool_deques_have_jobs(ilk_pool *pool) ILK_NONBLOCKING {
    const uint32_t places = ilk_atomic_load(&pool->places, memory_order_acquire); /* PL7 */
    for (uint32_t place = 0; place < places; place++) {
        struct pool_worker *worker = ilk_atomic_load(&pool->workers[place], memory_order_relaxed); /* PL9 */
        if (deque_has_jobs(&worker->deque)) {
            return true;
        }
    }
    return false;
}

bool ilk__pool_has_jobs(ilk_pool *pool) ILK_NONBLOCKING {
    for (uint32_t priority = 0; priority < POOL_PRIORITIES; priority++) {
        if (queue_has_jobs(pool, priority)) {
            return true;
        }
    }
    return ilk__pool_deques_have_jobs(pool); /* after the queues, from which jobs go to deques */
}

static ilk_job *next_of(const ilk_job *job) ILK_NONBLOCKING {
    ilk_plain_read(&job->next, sizeof job->next);
    return job->next;
}

/* The inbox, oldest first. */
static ilk_job *turn_round(struct pool_queue *queue) ILK_NONBLOCKING {
    /* PL3 acq_rel, pairs with PL2 (release, pushing) and PL22 (acquire, probing): we see the jobs, and a
     * prober that finds the inbox empty sees our lock. */
    ilk_job *newest =
        (ilk_job *)(ilk_atomic_fetch_and(&queue->inbox, POOL_CLOSED, memory_order_acq_rel) & ~POOL_CLOSED);
    ilk_job *oldest = NULL;
    while (newest != NULL) {
        ilk_job *older = next_of(newest);
        ilk_plain_write(&newest->next, sizeof newest->next);
        newest->next = oldest;
        oldest = newest;
        newest = older;
    }
    return oldest;
}

ILK_TRUSTED_NONBLOCKING_BEGIN
static void yield_to_owner(void) ILK_NONBLOCKING {
    ilk__thread_yield();
}
ILK_TRUSTED_NONBLOCKING_END

/* `waits`: only a worker does. All of a pool are of one class, so yielding lets the owner run. */
static bool lock_queue(struct pool_queue *queue, bool waits) ILK_NONBLOCKING {
    /* PL5 acquire, pairs with PL6 (release, unlocking).
     * Carries: the backlog, and what the submitters did.
     * If weaker: two workers take one job. */
    while (ilk_atomic_exchange(&queue->locked, 1, memory_order_acquire) != 0) {
        if (!waits) {
            return false;
        }
        yield_to_owner();
    }
    return true;
}

/* The lock, and the backlog or else the inbox. False: nothing is there, or another thread has the lock. */
static bool lock_backlog(ilk_pool *pool, uint32_t priority, ilk_job **oldest) ILK_NONBLOCKING {
    struct pool_queue *queue = &pool->queues[priority];
    if (!ilk__pool_queue_is_filled(pool, priority)) {
        return false;
    }
    if (!lock_queue(queue, false)) {
        return false;
    }
    /* PL4 relaxed: changed under the lock; other threads ask whether it is empty. */
    *oldest = ilk_atomic_load(&queue->backlog, memory_order_relaxed);
    if (*oldest == NULL) {
        *oldest = turn_round(queue);
    }
    return true;
}

static void unlock_backlog(struct pool_queue *queue, ilk_job *oldest) ILK_NONBLOCKING {
    /* PL25 release, pairs with PL24 (acquire, probing): what the backlog lost is in a deque before it is
     * missed. */
    ilk_atomic_store(&queue->backlog, oldest, memory_order_release);
    /* PL6 release, pairs with PL5 and PL23: the next to lock finds the backlog as we leave it. */
    ilk_atomic_store(&queue->locked, 0, memory_order_release);
}

ilk_job *ilk__pool_take(ilk_pool *pool, uint32_t priority, struct pool_worker *refilled) ILK_NONBLOCKING {
    ilk_job *first;
    if (!lock_backlog(pool, priority, &first)) {
        return NULL;
    }
    ilk_job *more[REFILL];
    size_t count = 0;
    ilk_job *rest = first == NULL ? NULL : next_of(first);
    while (refilled != NULL && rest != NULL && count < REFILL) {
        more[count++] = rest;
        rest = next_of(rest);
    }
    /* The last first: the worker takes what it pushed last. The deque is empty, and has room. Before the backlog loses
     * them: a thread that probes finds them in one place or the other. */
    ILK__REACHES(POOL_REFILLS, count > 0);
    while (count-- > 0) {
        (void)deque_push(&refilled->deque, more[count], more[count]->group);
    }
    unlock_backlog(&pool->queues[priority], rest);
    return first;
}

bool ilk__pool_give_back(struct pool_worker *worker) ILK_NONBLOCKING {
    struct pool_queue *queue = &worker->pool->queues[ILK_PRIORITY_NORMAL];
    if (!lock_queue(queue, false)) {
        return false;
    }
    ilk_job *const rest = ilk_atomic_load(&queue->backlog, memory_order_relaxed); /* PL4 */
    ilk_job *first = rest, *last = NULL;
    for (ilk_job *job; (job = deque_dig(&worker->deque)) != NULL; last = job) {
        ilk_plain_write(&job->next, sizeof job->next);
        job->next = rest;
        if (last == NULL) {
            first = job;
        } else {
            last->next = job;
        }
    }
    unlock_backlog(queue, first);
    return true;
}

ilk_job *ilk__pool_pick(ilk_pool *pool, uint32_t priority, bool waits,
                        bool (*is_wanted)(const ilk_job *job, const void *context), const void *context) {
    struct pool_queue *queue = &pool->queues[priority];
    if (!queue_has_jobs(pool, priority) || !lock_queue(queue, waits)) {
        return NULL;
    }
    ilk_job *oldest = ilk_atomic_load(&queue->backlog, memory_order_relaxed); /* PL4 */
    ilk_job *before = NULL, *job = oldest;
    bool has_all = false;
    for (;;) {
        if (job == NULL && !has_all) {
            has_all = true;
            job = turn_round(queue);
            if (before == NULL) {
                oldest = job;
            } else {
                ilk_plain_write(&before->next, sizeof before->next);
                before->next = job;
            }
        }
        if (job == NULL || is_wanted(job, context)) {
            break;
        }
        before = job;
        job = next_of(job);
    }
    if (job != NULL && before != NULL) {
        ilk_plain_write(&before->next, sizeof before->next);
        before->next = next_of(job);
    } else if (job != NULL) {
        oldest = next_of(job);
    }
    unlock_backlog(queue, oldest);
    return job;
}

bool ilk__pool_gather(ilk_pool *pool) {
    if (!ilk__pool_deques_have_jobs(pool)) {
        return false;
    }
    /* In front of the backlog: a refill took them from there. The lock from before the first is stolen: a thread that
     * probes takes a locked queue for a filled one. */
    struct pool_queue *queue = &pool->queues[ILK_PRIORITY_NORMAL];
    (void)lock_queue(queue, true);
    ilk_job *backlog = ilk_atomic_load(&queue->backlog, memory_order_relaxed); /* PL4 */
    ilk_job *oldest = NULL, *newest = NULL;
    const uint32_t places = ilk_atomic_load(&pool->places, memory_order_acquire); /* PL7 */
    for (uint32_t place = 0; place < places; place++) {
        struct pool_worker *victim = ilk_atomic_load(&pool->workers[place], memory_order_relaxed); /* PL9 */
        bool lost;
        do {
            lost = false;
            ilk_job *job = deque_steal(&victim->deque, NULL, &lost);
            if (job != NULL) {
                ilk_plain_write(&job->next, sizeof job->next);
                job->next = NULL;
                if (newest == NULL) {
                    oldest = job;
                } else {
                    ilk_plain_write(&newest->next, sizeof newest->next);
                    newest->next = job;
                }
                newest = job;
                lost = true;
            }
        } while (lost);
    }
    if (newest != NULL) {
        ilk_plain_write(&newest->next, sizeof newest->next);
        newest->next = backlog;
    }
    unlock_backlog(queue, newest == NULL ? backlog : oldest);
    return newest != NULL;
}
