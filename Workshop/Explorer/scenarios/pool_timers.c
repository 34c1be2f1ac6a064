/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker pool: timers, and fork(2).
 */
/* contract: pool.A, pool.B */
#include "pool_work.h"

/* ---- Timers ---- */

static void set_timer(void) {
    ilk_timer_init(&s.timer, run_timed, NULL);
    ilk_job_set_group(ilk_timer_job(&s.timer), &s.group);
    ex_assert(ilk_pool_submit_at(s.pool, &s.timer, SOON) == ILK_OK);
    s.accepted[0] = 1;
}
static void set_timer_and_end(void) {
    set_timer();
    end(s.pool);
    await(&s.group);
}
EX_SCENARIO(timer){
    .name = "pool-timer-close",
    .claim = "a timer's job runs once, and a closed pool waits for it",
    .setup = setup_one,
    .threads = {set_timer_and_end, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 6000,
    .timeouts = 1,
};
static void run_second_timed(void *context) {
    (void)context;
    ex_assert(ilk_atomic_fetch_add(&s.ran[1], 1, memory_order_relaxed) == 0);
}
static void set_second_timer(void) {
    ilk_timer_init(&s.second_timer, run_second_timed, NULL);
    ex_assert(ilk_pool_submit_at(s.pool, &s.second_timer, 0) == ILK_OK);
    s.accepted[1] = 1;
    ilk_semaphore_signal(&s.semaphore, 1);
}
static void set_timer_beside_another(void) {
    set_timer();
    ilk_semaphore_wait(&s.semaphore);
    end(s.pool);
}
EX_SCENARIO(timers_two){
    .name = "pool-submit_at-submit_at",
    .claim = "two threads that set a pool's first timer share its thread",
    .setup = setup_one,
    .threads = {set_timer_beside_another, set_second_timer, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 6000,
    .timeouts = 1,
};
static void set_timer_and_cancel(void) {
    set_timer();
    if (ilk_pool_cancel(s.pool, &s.timer)) {
        s.accepted[0] = 0;
    }
    await(&s.group);
    end(s.pool);
}
EX_SCENARIO(timer_cancel){
    .name = "pool-timer-cancel",
    .claim = "a timer that becomes due while it is cancelled runs or does not, and its group ends",
    .setup = setup_one,
    .threads = {set_timer_and_cancel, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 6000,
    .timeouts = 1,
};
static void set_timer_beside(void) {
    ilk_timer_init(&s.timer, run_timed, NULL);
    ilk_job_set_group(ilk_timer_job(&s.timer), &s.group);
    if (ilk_pool_submit_at(s.pool, &s.timer, ILK_FOREVER) == ILK_OK) {
        s.accepted[0] = 1;
    }
    ilk_semaphore_signal(&s.semaphore, 1);
}
static void hand_back_timer(void *context, ilk_job *job) {
    (void)context;
    ex_assert(job == ilk_timer_job(&s.timer));
    ex_assert(ilk_atomic_fetch_add(&s.handed[0], 1, memory_order_relaxed) == 0);
}
static void close_now_beside_timer(void) {
    ilk_pool_close_now(s.pool, hand_back_timer, NULL);
    close_beside();
}
EX_SCENARIO(timer_close_now){
    .name = "pool-submit_at-close_now",
    .claim = "a timer beside close_now is refused or handed back, however late its time",
    .setup = setup_one,
    .threads = {set_timer_beside, close_now_beside_timer, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 6000,
};
static void ask_info(void) {
    (void)ilk_pool_get_info(s.pool);
    ilk_semaphore_signal(&s.semaphore, 1);
}
static void set_timer_while_blocked(void) {
    ex_assert(submit(1, block_for_next, NULL));
    prepare(2, run_and_meet, NULL);
    ilk_timer_init(&s.timer, run_and_meet, &s.jobs[2]);
    ex_assert(ilk_pool_submit_at(s.pool, &s.timer, SOON) == ILK_OK);
    s.accepted[2] = 1;
    ilk_semaphore_wait(&s.semaphore);
    end(s.pool);
}
EX_SCENARIO(timer_info){
    .name = "pool-timer-starts-a-thread-beside-get_info",
    .claim = "the mutex of the timers comes before the pool's",
    .setup = setup_one_of_two,
    .threads = {set_timer_while_blocked, ask_info, thread_0, thread_1, thread_2, thread_3},
    .check = check_accepted,
    .step_limit = 8000,
    .timeouts = 1,
};

/* ---- fork(2) ---- */

static void fork_and_destroy(void) {
    (void)submit(1, run, NULL);
    ex_fork();
    ilk_job refused;
    ilk_job_init(&refused, run, NULL);
    ex_assert(!ilk_pool_submit(s.pool, &refused));
    (void)ilk_pool_cancel(s.pool, &s.timer);
    ex_assert(ilk_pool_get_info(s.pool).threads == 0);
    ex_assert(ilk_pool_wait_until(s.pool, ILK_FOREVER) == ILK_OK);
    ilk_pool_destroy(s.pool);
}
static void setup_timer(void) {
    setup_one();
    ilk_timer_init(&s.timer, run_timed, NULL);
    ex_assert(ilk_pool_submit_at(s.pool, &s.timer, SOON) == ILK_OK);
}
EX_SCENARIO(forked_child){
    .name = "pool-fork(2)-beside-worker-and-timer",
    .claim = "the child can ask, cancel and destroy, wherever the parent's threads were",
    .setup = setup_timer,
    .threads = {fork_and_destroy, thread_0, thread_1},
    .step_limit = 6000,
    .timeouts = 1,
};

EX_MUST_REACH(states){
    {"pool-fork(2)-beside-worker-and-timer",
     {EX_SLEEPER_LATE, EX_FORKED, EX_EVENT_ACKNOWLEDGED, EX_POOL_SLEEPS}},
    {"pool-submit_at-*", {EX_SEMAPHORE_WAITS, EX_MUTEX_SLEEPS, EX_MUTEX_WAKES, EX_POOL_SLEEPS}},
    {"pool-timer-*",
     {EX_SLEEPER_LATE, EX_EVENT_ACKNOWLEDGED, EX_MUTEX_SLEEPS, EX_MUTEX_WAKES, EX_POOL_SLEEPS}},
    {"pool-timer-starts-a-thread-beside-get_info",
     {EX_SEMAPHORE_WAITS, EX_POOL_STEALS, EX_POOL_STARTS, EX_POOL_SPARE, EX_POOL_SPARE_WOKEN,
      EX_POOL_BLOCKED}},
};
