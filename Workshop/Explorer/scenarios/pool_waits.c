/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker pool: jobs that wait where there is no other thread, and waits until a pool is idle.
 */
/* contract: pool.A, pool.B, pool.G */
#include "pool_work.h"

/* ---- A stuck pool ---- */

static void submit_low_child_and_wait(void *context) {
    run(context);
    prepare(1, run, &s.done);
    ilk_job_set_priority(&s.jobs[1], ILK_PRIORITY_LOW);
    ex_assert(ilk_pool_submit(s.pool, &s.jobs[1]));
    s.accepted[1] = 1;
    await(&s.done);
    see(1);
}
static void submit_parent_of_low(void) {
    ex_assert(submit(0, submit_low_child_and_wait, &s.group));
    await(&s.group);
    end(s.pool);
}
EX_SCENARIO(low_child){
    .name = "pool-job-waits-for-its-low-child-on-the-only-thread",
    .claim = "a worker that waits in a stuck pool finds its job in the queues",
    .setup = setup_one,
    .threads = {submit_parent_of_low, thread_0},
    .check = check_accepted,
    .step_limit = 6000,
};
static void await_done(void *context) {
    run(context);
    await(&s.done);
}
static void submit_parent_then_child(void) {
    ex_assert(submit(0, await_done, &s.group));
    ex_assert(submit(1, run, &s.done));
    await(&s.group);
    await(&s.done);
    see(1);
    end(s.pool);
}
EX_SCENARIO(late_child){
    .name = "pool-job-waits-beside-a-submission-on-the-only-thread",
    .claim = "a worker that sleeps in a stuck pool is woken for a job that it waits for",
    .setup = setup_one,
    .threads = {submit_parent_then_child, thread_0},
    .check = check_accepted,
    .step_limit = 6000,
    .weight = 2,
};
/* Both wait: the one whose job is in the other's deque finds it there. */
static void fill_deque_and_wait(void *context) {
    run(context);
    ex_assert(submit(2, run, NULL));
    ex_assert(submit(3, run, &s.done));
    ilk_pool_will_block();
    ilk_semaphore_wait(&s.semaphore);
    ilk_pool_did_block();
}
static void await_done_and_signal(void *context) {
    run(context);
    await(&s.done);
    ilk_semaphore_signal(&s.semaphore, 1);
}
static void submit_two_that_wait(void) {
    ex_assert(submit(0, fill_deque_and_wait, &s.group));
    ex_assert(submit(1, await_done_and_signal, &s.group));
    await(&s.group);
    end(s.pool);
}
EX_SCENARIO(others_deque){
    .name = "pool-job-waits-for-a-job-in-a-blocked-workers-deque",
    .slow = true,
    .claim = "the last worker that blocks wakes the one that waits, which finds its job in any deque",
    .setup = setup_two,
    .threads = {submit_two_that_wait, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 8000,
    .weight = 2,
};

/* The third job comes while two threads have work, and is queued; then one of the two waits. */
static void submit_one_that_waits_and_two_that_meet(void) {
    ex_assert(submit(1, run_and_meet, &s.done));
    ex_assert(submit(0, await_done, &s.group));
    ex_assert(submit(2, run_and_meet, NULL));
    await(&s.group);
    end(s.pool);
}
EX_SCENARIO(place_passed_on){
    .name = "pool-job-waits-beside-a-job-that-meets-the-next",
    .claim = "a worker that waits leaves its place to a job that was queued before",
    .setup = setup_two_of_three,
    .threads = {submit_one_that_waits_and_two_that_meet, thread_0, thread_1, thread_2},
    .check = check_accepted,
    .step_limit = 8000,
    .weight = 2,
};

/* ---- Idle ---- */

static void run_and_submit_next(void *context) {
    run(context);
    ex_assert(submit(1, run, NULL));
}
static void submit_and_wait_idle(void) {
    ex_assert(submit(0, run_and_submit_next, NULL));
    ex_assert(ilk_pool_wait_idle_until(s.pool, ILK_FOREVER) == ILK_OK);
    see(0);
    see(1);
    end(s.pool);
}
EX_SCENARIO(idle){
    .name = "pool-submit-wait_idle_until",
    .claim = "a wait until the pool is idle ends, and sees what the jobs and their jobs did",
    .setup = setup_one,
    .threads = {submit_and_wait_idle, thread_0},
    .check = check_accepted,
    .step_limit = 6000,
    .weight = 2,
};
EX_SCENARIO(idle_two){
    .name = "pool-submit-wait_idle_until-two-workers",
    .slow = true,
    .claim = "the same where the job's job is stolen",
    .setup = setup_two,
    .threads = {submit_and_wait_idle, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 8000,
};
static void set_soon_and_wait_idle(void) {
    ilk_timer_init(&s.timer, run_timed, NULL);
    ex_assert(ilk_pool_submit_at(s.pool, &s.timer, SOON) == ILK_OK);
    s.accepted[0] = 1;
    ex_assert(ilk_pool_wait_idle_until(s.pool, ILK_FOREVER) == ILK_OK);
    ex_assert(ilk_atomic_load(&s.ran[0], memory_order_relaxed) == 1);
    end(s.pool);
}
EX_SCENARIO(idle_timer){
    .name = "pool-timer-wait_idle_until",
    .claim = "a pool with a timer is idle when its job has run, however that came",
    .setup = setup_one,
    .threads = {set_soon_and_wait_idle, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 6000,
    .timeouts = 1,
    .weight = 2,
};
static void set_timer(void) {
    ilk_timer_init(&s.timer, run_timed, NULL);
    ex_assert(ilk_pool_submit_at(s.pool, &s.timer, ILK_FOREVER) == ILK_OK);
}
static void wait_idle_beside_cancel(void) {
    ilk_semaphore_signal(&s.semaphore, 1);
    ex_assert(ilk_pool_wait_idle_until(s.pool, ILK_FOREVER) == ILK_OK);
    ex_assert(ilk_atomic_load(&s.cancelled, memory_order_relaxed) == 1);
    ilk_semaphore_wait(&s.semaphore);
}
static void set_and_wait_idle(void) {
    set_timer();
    wait_idle_beside_cancel();
    end(s.pool);
}
static void cancel_beside(void) {
    ilk_semaphore_wait(&s.semaphore);
    ilk_atomic_store(&s.cancelled, 1, memory_order_relaxed);
    ex_assert(ilk_pool_cancel(s.pool, &s.timer));
    ilk_semaphore_signal(&s.semaphore, 1);
}
EX_SCENARIO(idle_cancel){
    .name = "pool-cancel-beside-wait_idle_until",
    .claim = "a timer that is cancelled last makes a pool idle, and wakes the thread that waits for that",
    .setup = setup_one,
    .threads = {set_and_wait_idle, cancel_beside, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 6000,
};
static void close_and_wait_idle(void) {
    set_timer();
    ilk_pool_close(s.pool);
    wait_idle_beside_cancel();
    ex_assert(ilk_pool_wait_until(s.pool, ILK_FOREVER) ==
              ILK_OK); /* before end() closes once more, and wakes all */
    end(s.pool);
}
EX_SCENARIO(idle_cancel_closed){
    .name = "pool-cancel-the-last-timer-beside-wait_idle_until",
    .claim =
        "a closed pool ends when its last timer is cancelled beside a thread that waits until it is idle",
    .setup = setup_one,
    .threads = {close_and_wait_idle, cancel_beside, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 6000,
};

EX_MUST_REACH(states){
    {"pool-cancel-beside-wait_idle_until", {EX_SEMAPHORE_WAITS, EX_POOL_SLEEPS, EX_POOL_IDLE_PARKS}},
    {"pool-cancel-the-last-timer-beside-wait_idle_until",
     {EX_SEMAPHORE_WAITS, EX_POOL_SLEEPS, EX_POOL_IDLE_PARKS}},
    {"pool-job-waits-beside-a-submission-on-the-only-thread",
     {EX_EVENT_FLAGGED, EX_POOL_BLOCKED, EX_POOL_WAIT_PARKS, EX_POOL_STUCK_FINDS, EX_GROUP_WAKES_WORKERS}},
    {"pool-job-waits-for-a-job-in-a-blocked-workers-deque",
     {EX_SEMAPHORE_WAITS, EX_POOL_STEALS, EX_POOL_BLOCKED, EX_POOL_WAIT_PARKS, EX_POOL_STUCK_FINDS,
      EX_GROUP_WAKES_WORKERS}},
    {"pool-job-waits-for-its-low-child-on-the-only-thread",
     {EX_EVENT_FLAGGED, EX_POOL_BLOCKED, EX_POOL_STUCK_FINDS, EX_GROUP_WAKES_WORKERS}},
    {"pool-submit-wait_idle_until*", {EX_POOL_SLEEPS, EX_POOL_IDLE_PARKS}},
    {"pool-submit-wait_idle_until-two-workers", {EX_POOL_STEALS}},
    {"pool-timer-wait_idle_until", {EX_SLEEPER_LATE, EX_POOL_IDLE_PARKS}},
};
