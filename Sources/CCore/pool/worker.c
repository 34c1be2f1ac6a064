/* SPDX-License-Identifier: Apache-2.0
 *
 * What a worker does: it finds a job and runs it; without one it spins, then sleeps on the pool's event count.
 * docs/pool.md has the order of the search and the protocol of sleeping.
 */
#include "pool/pool.h"

#include "diagnostics/misuse.h"
#include "platform/clock.h"
#include "platform/local.h"
#include "pool/watch.h"
#include "wait/fenced.h"
#include "wait/spin.h"
#include <stdlib.h>

/* Guarantee D: so that no job starves, one pick of eight is the turn of a place that the usual order may pass by for
 * good. The figures of 64 picks, in the order of their turns. docs/pool.md has the bounds. */
enum turn { OWN_OLDEST, NORMAL_OLDEST, OTHERS_OLDEST, LOW_OLDEST };
static const enum turn turns[] = {OWN_OLDEST, NORMAL_OLDEST, OTHERS_OLDEST, NORMAL_OLDEST,
                                  OWN_OLDEST, NORMAL_OLDEST, OWN_OLDEST,    LOW_OLDEST};
enum { TURNS = sizeof turns / sizeof *turns, PICKS_PER_TURN = 8 };

/* ---- Finding ---- */

static uint32_t next_random(struct pool_worker *worker) ILK_NONBLOCKING {
    /* Marsaglia, "Xorshift RNGs" (2003). */
    uint32_t x = worker->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return worker->random = x;
}

ilk_job *ilk__pool_steal(struct pool_worker *worker, const void *group) ILK_NONBLOCKING {
    ilk_pool *pool = worker->pool;
    /* PL7 acquire, pairs with PL8 (release, adding a worker): its deque is made. */
    const uint32_t places = ilk_atomic_load(&pool->places, memory_order_acquire);
    const uint32_t first = next_random(worker) % places;
    bool lost;
    do {
        lost = false;
        for (uint32_t count = 0; count < places; count++) {
            /* PL9 relaxed: written before PL8, and then constant. */
            struct pool_worker *victim =
                ilk_atomic_load(&pool->workers[(first + count) % places], memory_order_relaxed);
            if (victim != worker) {
                ilk_job *job = deque_steal(&victim->deque, group, &lost);
                if (job != NULL) {
                    ILK__REACHES(POOL_STEALS, true);
                    return job;
                }
            }
        }
    } while (lost); /* another thread has gained it */
    return NULL;
}

/* One victim a turn, the next one each time: its owner may be blocked, and all others busy with jobs of their own. */
static ilk_job *steal_in_turn(struct pool_worker *worker) ILK_NONBLOCKING {
    ilk_pool *pool = worker->pool;
    worker->victim = (worker->victim + 1) % ilk_atomic_load(&pool->places, memory_order_acquire); /* PL7 */
    bool lost; /* its loser has begun an older job */
    return deque_steal(&ilk_atomic_load(&pool->workers[worker->victim], memory_order_relaxed)->deque, NULL,
                       &lost); /* PL9 */
}

static ILK_NOINLINE ilk_job *find_in_turn(struct pool_worker *worker) ILK_NONBLOCKING {
    bool lost;
    switch (turns[worker->picks / PICKS_PER_TURN % TURNS]) {
    case OWN_OLDEST:
        return deque_steal(&worker->deque, NULL, &lost);
    case NORMAL_OLDEST:
        return ilk__pool_take(worker->pool, ILK_PRIORITY_NORMAL, NULL);
    case OTHERS_OLDEST:
        return steal_in_turn(worker);
    case LOW_OLDEST:
        return ilk__pool_take(worker->pool, ILK_PRIORITY_LOW, NULL);
    }
    return NULL;
}

static ilk_job *find_job(struct pool_worker *worker) ILK_NONBLOCKING {
    ilk_pool *pool = worker->pool;
    ilk_job *job = NULL;
    if (ILK_UNLIKELY(worker->picks % PICKS_PER_TURN == PICKS_PER_TURN - 1)) {
        job = find_in_turn(worker);
    }
    if (job == NULL) {
        job = ilk__pool_take(pool, ILK_PRIORITY_HIGH, NULL);
    }
    if (job == NULL) {
        job = deque_take(&worker->deque);
    }
    if (job == NULL) {
        job = ilk__pool_take(pool, ILK_PRIORITY_NORMAL, worker);
    }
    if (job == NULL) {
        job = ilk__pool_steal(worker, NULL);
    }
    if (job == NULL) {
        job = ilk__pool_take(pool, ILK_PRIORITY_LOW, NULL);
    }
    worker->picks += job != NULL;
    return job;
}

bool ilk__pool_has_jobs(ilk_pool *pool) ILK_NONBLOCKING {
    for (uint32_t priority = 0; priority < POOL_PRIORITIES; priority++) {
        if (ilk__pool_queue_has_jobs(pool, priority)) {
            return true;
        }
    }
    return ilk__pool_deques_have_jobs(pool); /* after the queues, from which jobs go to deques */
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

/* A publication has found FENCED and no worker. */
static bool fenced_is_due(ilk_pool *pool) ILK_NONBLOCKING {
    if (!ilk__fence_everywhere_is_cheap()) {
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
        ilk__pool_need_thread(pool);
    }
}
ILK_TRUSTED_NONBLOCKING_END

/* ---- Running ---- */

void ilk__pool_hand_back(ilk_pool *pool, ilk_job *job) {
    ilk_group *group = job->group;
    ilk_plain_read(&pool->hand_back, sizeof pool->hand_back);
    pool->hand_back(pool->hand_back_context, job);
    if (group != NULL) {
        ilk__group_leave(group, pool);
    }
}

void ilk__pool_end_child(const ilk_pool *pool) {
    if (pool->is_childs) {
        exit(EXIT_SUCCESS); /* as where a process's last thread ends */
    }
}

static void run_job(struct pool_worker *worker, ilk_job *job) {
    ilk_pool *pool = worker->pool;
    const uint32_t blocked = worker->blocked;
    worker->depth++;
    /* PL10: PLAIN or not is constant while the job is queued. */
    if (ilk_atomic_load(&job->state, memory_order_relaxed) != JOB_PLAIN) {
        const void *scope = worker->scope;
        worker->scope = job;
        job->function(job->context);
        worker->scope = scope;
        ilk__pool_fork_done(pool, job);
        /* PL11 acquire, pairs with PL12 (release, close_now): the function to hand back to. */
    } else if (ILK_UNLIKELY(ilk_atomic_load(&pool->hands_back, memory_order_acquire))) {
        ilk__pool_hand_back(pool, job);
    } else {
        ilk_group *group = job->group; /* the function may free the job */
        job->function(job->context);
        if (group != NULL) {
            ilk__group_leave(group, pool);
        }
    }
    worker->depth--;
    if (ILK_UNLIKELY(worker->blocked != blocked)) {
        ilk__pool_end_child(pool);
        ilk__misuse("ilk_pool_did_block", pool, "a job has ended between will_block and did_block");
    }
}

void ilk__pool_run(struct pool_worker *worker, ilk_job *job) {
    if (ilk__pool_is_watched()) {
        ilk__pool_run_watched(worker, job, run_job);
    } else {
        run_job(worker, job);
    }
}

/* ---- Sleeping ---- */

static bool must_leave_jobs(struct pool_worker *worker);

/* Of several workers the one that parked last is woken first: its core and caches are warm. bench pool, wake-up p99. */
static void park(struct pool_worker *worker, uint32_t epoch, uint64_t deadline_ns) {
    ilk_pool *pool = worker->pool;
    const uint32_t mark = UINT32_C(1) << worker->index % 32;
    /* PL31 relaxed: a hint: where no sleeper has the mark, any is woken. */
    ilk_atomic_store(&pool->idle.latest, mark, memory_order_relaxed);
    (void)ilk__event_park(idle_of(pool), epoch, deadline_ns, mark);
    if (ilk_atomic_load(&pool->idle.latest, memory_order_relaxed) == mark) { /* PL31 */
        ilk_atomic_store(&pool->idle.latest, 0, memory_order_relaxed);       /* PL31 */
    }
}

/* One sleep, unless there is something to do. */
static void sleep_once(struct pool_worker *worker, uint64_t deadline_ns) {
    ilk_pool *pool = worker->pool;
    const struct ilk__event_count idle = idle_of(pool);
    (void)ilk__event_register(idle, 0);
    const uint32_t epoch = ilk__event_acknowledge(idle);
    const bool leaves = must_leave_jobs(worker);
    if (!leaves && ilk__pool_has_jobs(pool)) {
        ILK__REACHES(POOL_YIELDS, true);
        ilk__thread_yield(); /* another thread has them in hand, and may need this core */
    } else if (!leaves) {
        ILK__REACHES(POOL_SLEEPS, true);
        park(worker, epoch, deadline_ns);
        (void)ilk__event_acknowledge(idle); /* the next publisher may wake another thread */
    }
    (void)ilk__event_unregister(idle);
    worker->was_woken = true;
}

/* One wake-up at a time: the woken worker wakes the next, if there is more to do than it has in hand. */
static void pass_wake_up_on(struct pool_worker *worker) {
    worker->was_woken = false;
    if (ilk__pool_has_jobs(worker->pool)) {
        ilk__pool_publish(worker->pool);
    }
}

/* ---- A worker's life ---- */

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

/* Drained, and no other worker is in a job that may fork more. */
static bool is_finished(struct pool_worker *worker) {
    return ilk__pool_is_drained(worker->pool) &&
           (uint32_t)ilk_atomic_load(&worker->pool->busy, memory_order_relaxed) == worker->is_busy; /* PL26 */
}

static bool must_leave_jobs(struct pool_worker *worker) {
    return ilk_atomic_load(&worker->pool->excess, memory_order_relaxed) != 0 || /* PL13 */
           is_finished(worker);
}

/* Runs jobs until it must leave them. False: idle for too long. */
static bool run_jobs(struct pool_worker *worker) {
    ilk_pool *pool = worker->pool;
    bool goes_on = true;
    uint64_t deadline_ns = ILK_FOREVER;
    int probe = 0, probes = ilk__spin_probes(ILK__SPIN_POOL, worker->failed_spins);
    while (!must_leave_jobs(worker)) {
        if (ILK_UNLIKELY(!worker->is_busy)) {
            ilk__pool_set_busy(worker, true); /* before it takes a job */
        }
        ilk_job *job = find_job(worker);
        if (job != NULL) {
            if (ILK_UNLIKELY(worker->was_woken)) {
                pass_wake_up_on(worker);
            }
            if (probe > 0 && probe <= probes) {
                worker->failed_spins = ilk__spin_succeeded(worker->failed_spins);
            }
            ilk__pool_run(worker, job);
            probe = 0;
            probes = ilk__spin_probes(ILK__SPIN_POOL, worker->failed_spins);
        } else if (probe < probes) {
            ilk__spin_pause(ILK__SPIN_POOL, probe++);
        } else if (probe == probes) {
            worker->failed_spins++;
            probe++; /* idle from here on */
            const bool ends = ilk_atomic_load(&pool->has_surplus, memory_order_relaxed); /* PL13 */
            deadline_ns = ends ? ilk_deadline_in_ns(pool->idle_ns) : ILK_FOREVER;
        } else if (deadline_ns != ILK_FOREVER && ilk__clock_now_ns() >= deadline_ns) {
            goes_on = false;
            break;
        } else {
            ilk__pool_set_busy(worker, false);
            sleep_once(worker, deadline_ns);
        }
    }
    if (worker->was_woken) {
        pass_wake_up_on(worker);
    }
    return goes_on;
}

void ilk__pool_work(void *context) {
    struct pool_worker *worker = context;
    ilk__thread_state()->worker = worker;
    struct pool_former former = {.is_there = false};
    worker->was_woken = true; /* by being started */
    for (;;) {
        const bool goes_on = run_jobs(worker);
        const bool finished = is_finished(worker);
        if (finished || !goes_on) {
            if (ilk__pool_end(worker, finished, &former)) {
                break;
            }
        } else if (!ilk__pool_stay(worker, &former)) {
            break;
        }
    }
    ilk__thread_state()->worker = NULL;
    if (former.is_there) {
        ilk__thread_join(&former.thread);
    }
}
