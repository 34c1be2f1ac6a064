/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker pool: jobs that block, threads that end.
 */
/* contract: pool.A, pool.B, pool.E */
#include "pool_work.h"

/* ---- Blocking ---- */

static void submit_blocking(void) {
    ex_assert(submit(0, block_for_next, NULL));
    ex_assert(submit(1, run_and_meet, NULL));
    end(s.pool);
}
EX_SCENARIO(block){
    .name = "pool-job-blocks-for-the-next",
    .slow = true,
    .claim = "another thread takes over while a job blocks",
    .setup = setup_one_of_two,
    .threads = {submit_blocking, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 8000,
    .weight = 2,
};

static void submit_blocking_refused(void) {
    ex_assert(submit(0, block_for_next, NULL));
    while (ilk_pool_get_info(s.pool).blocked == 0) {
        ilk_cpu_relax();
    }
    ex_refuse_threads(2);
    ex_assert(submit(2, run, NULL)); /* refused: nothing comes of it yet */
    ex_refuse_threads(0);
    ex_assert(submit(1, run_and_meet, NULL));
    end(s.pool);
}
EX_SCENARIO(block_refused){
    .name = "pool-job-blocks-thread-refused",
    .slow = true,
    .claim = "the system is asked again for a thread when the next job comes",
    .setup = setup_one_of_two,
    .threads = {submit_blocking_refused, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 8000,
};

static void submit_child_and_block(void *context) {
    run(context);
    if (submit(1, run_and_meet, NULL)) {
        ilk_pool_will_block();
        (void)ilk_barrier_wait(&s.barrier);
        ilk_pool_did_block();
    }
}
static void submit_child_and_block_and_end(void) {
    ex_assert(submit(0, submit_child_and_block, NULL));
    end(s.pool);
}
EX_SCENARIO(block_own){
    .name = "pool-job-blocks-for-its-child-close",
    .claim = "the deque of a blocked worker is drained by others, also in a pool that is closed meanwhile",
    .setup = setup_one_of_two,
    .threads = {submit_child_and_block_and_end, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 8000,
    .weight = 2,
};
EX_SCENARIO(block_own_two){
    .name = "pool-job-blocks-for-its-child-close-two-workers",
    .claim = "no worker leaves a closed pool while a job waits in another's deque",
    .setup = setup_two,
    .threads = {submit_child_and_block_and_end, thread_0, thread_1, thread_2},
    .check = check_accepted,
    .step_limit = 8000,
};

static void block_and_go_on(void *context) {
    block_for_next(context);
    (void)submit(2, run, NULL);
    (void)submit(3, run, NULL);
}
static void submit_blocking_that_goes_on(void) {
    ex_assert(submit(0, block_and_go_on, NULL));
    ex_assert(submit(1, run_and_meet, NULL));
    end(s.pool);
}
EX_SCENARIO(spare){
    .name = "pool-too-many-threads-close",
    .claim = "a thread too many gives its jobs back, becomes spare, and ends with the pool",
    .setup = setup_one_of_two,
    .threads = {submit_blocking_that_goes_on, thread_0, thread_1, thread_2, thread_3},
    .check = check_accepted,
    .step_limit = 8000,
    .timeouts = 1,
    .weight = 2,
};

static void submit_blocking_twice(void) {
    ex_assert(submit(0, block_for_next, &s.group));
    ex_assert(submit(1, run_and_meet, &s.group));
    await(&s.group);
    ex_assert(submit(2, block_for_next, NULL));
    ex_assert(submit(3, run_and_meet, NULL));
    end(s.pool);
}
EX_SCENARIO(spare_again){
    .name = "pool-spare-thread-takes-over",
    .slow = true,
    .claim = "a spare thread takes over while a job blocks",
    .setup = setup_one_of_two,
    .threads = {submit_blocking_twice, thread_0, thread_1, thread_2},
    .check = check_accepted,
    .step_limit = 12000,
    .weight = 2,
};

static void block_and_close_with_timer(void) {
    ilk_timer_init(&s.timer, run_timed, NULL);
    ex_assert(ilk_pool_submit_at(s.pool, &s.timer, ILK_FOREVER) == ILK_OK);
    ex_assert(submit(1, block_for_next, &s.group));
    ex_assert(submit(2, run_and_meet, &s.group));
    await(&s.group);
    ilk_pool_close(s.pool);
    (void)!ilk_semaphore_wait_until(&s.semaphore, 5 * IDLE); /* time passes, in most schedules */
    ex_assert(ilk_pool_cancel(s.pool, &s.timer));
    ex_assert(ilk_pool_wait_until(s.pool, ILK_FOREVER) == ILK_OK); /* before `end` closes it once more */
    end(s.pool);
}
EX_SCENARIO(spare_cancel){
    .name = "pool-cancel-the-last-timer-beside-a-spare-thread",
    .slow = true,
    .claim = "a closed pool ends when its last timer is cancelled and only a spare thread is left",
    .setup = setup_one_of_two,
    .threads = {block_and_close_with_timer, thread_0, thread_1, thread_2, thread_3},
    .check = check_accepted,
    .step_limit = 12000,
    .timeouts = 2,
    .weight = 2,
};

/* ---- Threads that end ---- */

/* Until the idle threads' time is up, in most schedules. */
static void let_time_pass(void) {
    (void)!ilk_semaphore_wait_until(&s.semaphore, 5 * IDLE);
    ex_assert(ilk_pool_get_info(s.pool).threads >= 1);
}
static void two_idle_then_submit(void) {
    ex_assert(submit(0, run_and_meet, NULL));
    ex_assert(submit(1, run_and_meet, NULL)); /* a second thread */
    let_time_pass();
    ex_assert(submit(2, run, &s.group));
    await(&s.group);
    end(s.pool);
}
EX_SCENARIO(idle){
    .name = "pool-idle-threads-end-down-to-kept",
    .slow = true,
    .claim = "of two threads whose time is up together one stays",
    .setup = setup_two_kept_one,
    .threads = {two_idle_then_submit, thread_0, thread_1, thread_2, thread_3, thread_4},
    .check = check_accepted,
    .step_limit = 12000,
    .timeouts = 2,
    .weight = 2,
};
static void two_idle_beside_submit(void) {
    ex_assert(submit(0, run_and_meet, &s.group));
    ex_assert(submit(1, run_and_meet, &s.group));
    await(&s.group);
    ex_assert(submit(2, run_and_meet, NULL));
    ex_assert(submit(3, run_and_meet, NULL));
    end(s.pool);
}
EX_SCENARIO(idle_beside){
    .name = "pool-idle-thread-ends-submit-that-meet",
    .slow = true,
    .claim = "a job beside the end of an idle thread has another one started",
    .setup = setup_two_kept_one,
    .threads = {two_idle_beside_submit, thread_0, thread_1, thread_2, thread_3, thread_4},
    .check = check_accepted,
    .step_limit = 12000,
    .timeouts = 2,
    .weight = 3,
};

EX_MUST_REACH(states){
    {"pool-cancel-the-last-timer-beside-a-spare-thread",
     {EX_SEMAPHORE_WAITS, EX_SEMAPHORE_LATE_IN_QUEUE, EX_MUTEX_SLEEPS, EX_MUTEX_WAKES, EX_POOL_STEALS,
      EX_POOL_REFILLS, EX_POOL_SLEEPS, EX_POOL_STARTS, EX_POOL_SPARE, EX_POOL_SPARE_WOKEN, EX_POOL_ENDS_IDLE,
      EX_POOL_BLOCKED, EX_GROUP_WAKES}},
    {"pool-idle-*",
     {EX_EVENT_WAKE_PENDS, EX_EVENT_ACKNOWLEDGED, EX_EVENT_FLAGGED, EX_MUTEX_SLEEPS, EX_MUTEX_WAKES,
      EX_POOL_STEALS, EX_POOL_REFILLS, EX_POOL_SLEEPS, EX_POOL_YIELDS, EX_POOL_STARTS, EX_POOL_ENDS_IDLE,
      EX_GROUP_WAKES}},
    {"pool-idle-thread-ends-submit-that-meet", {EX_SLEEPER_LATE, EX_POOL_STAYS_FOR_JOB}},
    {"pool-idle-threads-end-down-to-kept", {EX_SEMAPHORE_WAITS, EX_SEMAPHORE_LATE_IN_QUEUE}},
    {"pool-job-blocks-for-*", {EX_POOL_STEALS, EX_POOL_SLEEPS, EX_POOL_BLOCKED}},
    {"pool-job-blocks-for-the-next",
     {EX_SLEEPER_LATE, EX_EVENT_FLAGGED, EX_POOL_REFILLS, EX_POOL_STARTS, EX_POOL_SPARE,
      EX_POOL_SPARE_WOKEN}},
    {"pool-job-blocks-thread-refused",
     {EX_SLEEPER_LATE, EX_EVENT_FLAGGED, EX_POOL_SLEEPS, EX_POOL_STARTS, EX_POOL_REFUSED, EX_POOL_SPARE,
      EX_POOL_SPARE_WOKEN, EX_POOL_BLOCKED}},
    {"pool-spare-thread-takes-over",
     {EX_SLEEPER_LATE, EX_EVENT_WAKE_PENDS, EX_EVENT_ACKNOWLEDGED, EX_EVENT_FLAGGED, EX_MUTEX_SLEEPS,
      EX_MUTEX_WAKES, EX_POOL_STEALS, EX_POOL_REFILLS, EX_POOL_SLEEPS, EX_POOL_STARTS, EX_POOL_SPARE,
      EX_POOL_SPARE_WOKEN, EX_POOL_BLOCKED, EX_GROUP_WAKES}},
    {"pool-too-many-threads-close",
     {EX_SLEEPER_LATE, EX_EVENT_FLAGGED, EX_POOL_STEALS, EX_POOL_REFILLS, EX_POOL_SLEEPS, EX_POOL_STARTS,
      EX_POOL_SPARE, EX_POOL_SPARE_WOKEN, EX_POOL_ENDS_IDLE, EX_POOL_BLOCKED}},
};
