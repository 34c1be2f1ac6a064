/* SPDX-License-Identifier: Apache-2.0
 *
 * What the scenarios of the worker pool share. Workers are bodies that run what the pool starts. Jobs that meet at a
 * barrier need two threads: they end only if no wake-up was lost and no job waits behind another while a worker sleeps.
 * Every execution ends with destroy: what is touched after the pool's end is touched in freed memory.
 */
#ifndef INTERLOCK_EXPLORER_SCENARIOS_POOL_WORK_H
#define INTERLOCK_EXPLORER_SCENARIOS_POOL_WORK_H

#include "../explorer.h"
#include <interlock/barrier.h>
#include <interlock/pool.h>
#include <interlock/semaphore.h>
#include <string.h>

enum { JOBS = 4, SOON = 3000, IDLE = 2000 };

static struct {
    ilk_pool *pool, *other;
    ilk_job jobs[JOBS];
    ILK_ATOMIC(uint32_t) ran[JOBS], handed[JOBS], accepted[JOBS];
    uint32_t data[JOBS];
    ilk_group group, done;
    ilk_timer timer, second_timer;
    ilk_barrier barrier;
    ilk_semaphore semaphore;
    ILK_ATOMIC(uint32_t) cancelled, begun;
} s;

static inline ilk_pool *make(uint32_t threads, uint32_t most, uint32_t kept) {
    const ilk_pool_options options = {
        .threads = threads, .max_threads = most, .kept_threads = kept, .idle_ns = IDLE};
    ilk_pool *pool = NULL;
    ex_assert(ilk_pool_create(&pool, &options) == ILK_OK);
    return pool;
}

static inline void setup(void) {
    memset(&s, 0, sizeof s);
    ilk_barrier_init(&s.barrier, 2);
    ilk_semaphore_init(&s.semaphore, 0);
}
static inline void setup_one(void) {
    setup();
    s.pool = make(1, 1, 1);
}
static inline void setup_one_of_two(void) {
    setup();
    s.pool = make(1, 2, 1);
}
static inline void setup_two(void) {
    setup();
    s.pool = make(2, 2, 2);
}
static inline void setup_two_of_three(void) {
    setup();
    s.pool = make(2, 3, 2);
}
static inline void setup_two_kept_one(void) {
    setup();
    s.pool = make(2, 3, 1);
}
static inline void setup_two_and_another(void) {
    setup();
    s.pool = make(2, 2, 2);
    s.other = make(1, 1, 1);
}
static inline void setup_two_pools(void) {
    setup();
    s.pool = make(1, 1, 1);
    s.other = make(1, 1, 1);
}

static inline void thread_0(void) {
    (void)ex_run_started_thread(0);
}
static inline void thread_1(void) {
    (void)ex_run_started_thread(1);
}
static inline void thread_2(void) {
    (void)ex_run_started_thread(2);
}
static inline void thread_3(void) {
    (void)ex_run_started_thread(3);
}
static inline void thread_4(void) {
    (void)ex_run_started_thread(4);
}

static inline void end(ilk_pool *pool) {
    ilk_pool_close(pool);
    ex_assert(ilk_pool_wait_until(pool, ILK_FOREVER) == ILK_OK);
    ilk_pool_destroy(pool);
    ex_no_more_threads();
}

/* ---- Jobs ---- */

static inline void run(void *context) {
    ilk_job *job = context;
    const size_t index = (size_t)(job - s.jobs);
    ilk_plain_read(&s.data[index], sizeof s.data[index]);
    ex_assert(s.data[index] == index + 1);
    ilk_plain_write(&s.data[index], sizeof s.data[index]);
    s.data[index] = (uint32_t)index + 11;
    ex_assert(ilk_atomic_fetch_add(&s.ran[index], 1, memory_order_relaxed) == 0);
}
static inline void run_and_meet(void *context) {
    run(context);
    (void)ilk_barrier_wait(&s.barrier);
}
static inline void prepare(unsigned index, void (*function)(void *), ilk_group *group) {
    ilk_plain_write(&s.data[index], sizeof s.data[index]);
    s.data[index] = index + 1;
    ilk_job_init(&s.jobs[index], function, &s.jobs[index]);
    ilk_job_set_group(&s.jobs[index], group);
}
static inline bool submit(unsigned index, void (*function)(void *), ilk_group *group) {
    prepare(index, function, group);
    const bool accepted = ilk_pool_submit(s.pool, &s.jobs[index]);
    if (accepted) {
        ilk_atomic_store(&s.accepted[index], 1, memory_order_relaxed);
    }
    return accepted;
}
static inline void see(unsigned index) {
    ilk_plain_read(&s.data[index], sizeof s.data[index]);
    ex_assert(s.data[index] == index + 11);
}
static inline void await(ilk_group *group) {
    ex_assert(ilk_group_wait_until(group, ILK_FOREVER) == ILK_OK);
}

/* What was accepted has run or was handed back, once; what was refused has not. */
static inline void check_accepted(void) {
    for (unsigned i = 0; i < JOBS; i++) {
        ex_assert(s.ran[i] + s.handed[i] == s.accepted[i]);
    }
}

static inline void run_timed(void *context) {
    (void)context;
    ex_assert(ilk_atomic_fetch_add(&s.ran[0], 1, memory_order_relaxed) == 0);
}

static inline void block_for_next(void *context) {
    run(context);
    ilk_pool_will_block();
    (void)ilk_barrier_wait(&s.barrier);
    ilk_pool_did_block();
}

static inline void close_beside(void) {
    ilk_pool_close(s.pool);
    ex_assert(ilk_pool_wait_until(s.pool, ILK_FOREVER) == ILK_OK);
    ilk_semaphore_wait(&s.semaphore);
    await(&s.group);
    ilk_pool_destroy(s.pool);
    ex_no_more_threads();
}

#endif
