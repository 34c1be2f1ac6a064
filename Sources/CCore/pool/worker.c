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
#include "wait/spin.h"
#include <interlock/park.h>
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
    if (pool->is_in_fork_child) {
        exit(EXIT_SUCCESS); /* as where a process's last thread ends */
    }
}

/* On a thread that is not its owner's. Out of line: other jobs would save registers for it (2 of 237 instructions). */
static ILK_NOINLINE void end_forked(ilk_pool *pool, ilk_job *job) {
    /* FJ1 acq_rel, pairs with FJ2 (acquire, joining) and FJ3 (release, an owner that sleeps).
     * Carries: what the job did; and the owner in the list of waits.
     * If weaker: the owner misses it, or frees the job too early; or we find the list without it. */
    const uint32_t before = ilk_atomic_exchange(&job->state, JOB_DONE, memory_order_acq_rel);
    if (before == JOB_AWAITED) {
        ilk__pool_end_waits(pool, job);
    } else if (before == JOB_SLEPT_ON) {
        ilk_park_wake(&job->state, 1);
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
        end_forked(pool, job);
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

/* The worker that parked last is woken first: its core and caches are warm. bench pool, wake-up p99. */
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
    ilk__pool_pass_on(worker->pool);
}

/* ---- A worker's life ---- */

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
    struct pool_predecessor predecessor = {.is_there = false};
    worker->was_woken = true; /* by being started */
    for (;;) {
        const bool goes_on = run_jobs(worker);
        const bool finished = is_finished(worker);
        if (finished || !goes_on) {
            if (ilk__pool_end_worker(worker, finished, &predecessor)) {
                break;
            }
        } else if (!ilk__pool_keep_worker(worker, &predecessor)) {
            break;
        }
    }
    ilk__thread_state()->worker = NULL;
    if (predecessor.is_there) {
        ilk__thread_join(&predecessor.thread);
    }
}
