/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker pool: submission, sleeping, stealing, closing.
 */
/* contract: pool.A, pool.B, pool.E, pool.G */
#include "pool_work.h"

#include <pool/pool.h>

/* ---- Submitting and sleeping ---- */

static void submit_one_and_end(void) {
    ex_assert(submit(0, run, NULL));
    end(s.pool);
    see(0);
}
EX_SCENARIO(one){
    .name = "pool-submit-close-destroy",
    .claim = "what was accepted has run when the pool has ended",
    .setup = setup_one,
    .threads = {submit_one_and_end, thread_0},
    .check = check_accepted,
    .spurious_wakeups = 1,
};
EX_SCENARIO(one_refused){
    .name = "pool-submit-close-destroy-without-membarrier",
    .claim = "the same without membarrier",
    .setup = setup_one,
    .threads = {submit_one_and_end, thread_0},
    .check = check_accepted,
    .refuse_membarrier = true,
};

/* A worker has slept, and 1,023 submissions have found none asleep since. */
static void setup_fenced_one(void) {
    setup_one();
    s.pool->idle.waiting |= ILK__EVENT_FENCED;
    s.pool->idle.passes = 1023;
}
EX_SCENARIO(fenced_one){
    .name = "pool-submit-drops-fenced",
    .claim = "a submission that takes FENCED down, beside a worker that goes to sleep, loses no job",
    .setup = setup_fenced_one,
    .threads = {submit_one_and_end, thread_0},
    .check = check_accepted,
};

static void submit_wait_twice(void) {
    ex_assert(submit(0, run, &s.group));
    await(&s.group);
    see(0);
    ex_assert(submit(1, run, &s.group));
    await(&s.group);
    see(1);
    end(s.pool);
}
EX_SCENARIO(twice){
    .name = "pool-submit-wait-submit-wait",
    .claim = "the waiter for a group sees what its jobs did, and the worker is woken each time",
    .setup = setup_one,
    .threads = {submit_wait_twice, thread_0},
    .check = check_accepted,
};

static void submit_two_that_meet(void) {
    ex_assert(submit(0, run_and_meet, NULL));
    ex_assert(submit(1, run_and_meet, NULL));
    end(s.pool);
}
static void submit_many_that_meet(void) {
    prepare(0, run_and_meet, &s.group);
    prepare(1, run_and_meet, &s.group);
    ilk_job *const jobs[] = {&s.jobs[0], &s.jobs[1]};
    ex_assert(ilk_pool_submit_many(s.pool, jobs, 2));
    await(&s.group);
    s.accepted[0] = s.accepted[1] = 1;
    end(s.pool);
}
EX_SCENARIO(meet){
    .name = "pool-submit-submit-that-meet",
    .slow = true,
    .claim = "two jobs begin on two workers, however these sleep",
    .setup = setup_two,
    .threads = {submit_two_that_meet, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 6000,
    .weight = 2,
};
EX_SCENARIO(many_meet){
    .name = "pool-submit_many-that-meet",
    .slow = true,
    .claim = "one wake-up leads to the next: no worker sleeps while a job waits",
    .setup = setup_two,
    .threads = {submit_many_that_meet, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 6000,
    .weight = 2,
};

static void submit_second(void) {
    (void)submit(1, run, &s.group);
    ilk_semaphore_signal(&s.semaphore, 1);
}
static void submit_first_await_second(void) {
    ex_assert(submit(0, run, &s.group));
    ilk_semaphore_wait(&s.semaphore);
    await(&s.group);
    see(0);
    see(1);
    end(s.pool);
}
EX_SCENARIO(two_submit){
    .name = "pool-submit-submit-wait",
    .claim = "two threads that submit lose neither job",
    .setup = setup_one,
    .threads = {submit_first_await_second, submit_second, thread_0},
    .check = check_accepted,
    .step_limit = 6000,
};

static void submit_priorities(void) {
    for (unsigned i = 0; i < 3; i++) {
        prepare(i, run, &s.group);
        ilk_job_set_priority(&s.jobs[i], (ilk_priority)i);
        ex_assert(ilk_pool_submit(s.pool, &s.jobs[i]));
    }
    await(&s.group);
    s.accepted[0] = s.accepted[1] = s.accepted[2] = 1;
    end(s.pool);
}
EX_SCENARIO(priorities){
    .name = "pool-submit-each-priority",
    .slow = true,
    .claim = "jobs of every priority run once",
    .setup = setup_two,
    .threads = {submit_priorities, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 8000,
};

/* ---- Jobs of jobs ---- */

static void submit_two_more(void *context) {
    run(context);
    (void)submit(1, run_and_meet, &s.group);
    (void)submit(2, run_and_meet, &s.group);
}
static void submit_parent_and_wait(void) {
    ex_assert(submit(0, submit_two_more, &s.group));
    await(&s.group);
    see(1);
    see(2);
    end(s.pool);
}
EX_SCENARIO(children){
    .name = "pool-job-submits-two-that-meet",
    .slow = true,
    .claim = "a job in a deque is stolen by a worker that slept",
    .setup = setup_two,
    .threads = {submit_parent_and_wait, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 8000,
    .weight = 2,
};

static void submit_child_and_wait(void *context) {
    run(context);
    (void)submit(1, run, &s.done);
    await(&s.done);
    see(1);
}
static void submit_waiting_parent(void) {
    ex_assert(submit(0, submit_child_and_wait, &s.group));
    await(&s.group);
    end(s.pool);
}
EX_SCENARIO(job_waits){
    .name = "pool-job-waits-for-its-child",
    .slow = true,
    .claim = "a worker that waits for a group runs its job, or sleeps until it is over",
    .setup = setup_two,
    .threads = {submit_waiting_parent, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 8000,
    .weight = 2,
};

/* ---- Closing ---- */

static void submit_beside(void) {
    (void)submit(0, run, &s.group);
    (void)submit(1, run, &s.group);
    ilk_semaphore_signal(&s.semaphore, 1);
}
EX_SCENARIO(closes){
    .name = "pool-submit-close",
    .claim = "a job beside close is refused, or runs",
    .setup = setup_one,
    .threads = {submit_beside, close_beside, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 6000,
};
EX_SCENARIO(closes_two){
    .name = "pool-submit-close-two-workers",
    .claim = "all workers end, and none before a job that was accepted beside close",
    .setup = setup_two,
    .threads = {submit_beside, close_beside, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 8000,
};

static void hand_back(void *context, ilk_job *job) {
    ex_assert(context == &s);
    ex_assert(ilk_atomic_fetch_add(&s.handed[job - s.jobs], 1, memory_order_relaxed) == 0);
}
static void submit_again_beside(void) {
    (void)submit(0, run, &s.group);
    await(&s.group);
    (void)submit(1, run, &s.group);
    ilk_semaphore_signal(&s.semaphore, 1);
}
static void close_beside_later(void) {
    await(&s.group);
    close_beside();
}
EX_SCENARIO(closes_later){
    .name = "pool-submit-close-where-the-worker-has-slept",
    .claim = "a job beside close is refused, or runs, also where publishers fence",
    .setup = setup_one,
    .threads = {submit_again_beside, close_beside_later, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 6000,
};

static void submit_one_beside(void) {
    (void)submit(0, run, &s.group);
    ilk_semaphore_signal(&s.semaphore, 1);
}
static void await_beside(void) {
    await(&s.group);
    ilk_semaphore_signal(&s.semaphore, 1);
}
static void close_beside_both(void) {
    ilk_pool_close(s.pool);
    ilk_semaphore_wait(&s.semaphore);
    close_beside();
}
EX_SCENARIO(refused_waiter){
    .name = "pool-submit-close-beside-a-waiter",
    .claim = "a job that is refused leaves its group, and wakes a thread that waits for that",
    .setup = setup_one,
    .threads = {submit_one_beside, close_beside_both, await_beside, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 6000,
};

static void close_now_beside(void) {
    ilk_pool_close_now(s.pool, hand_back, &s);
    close_beside();
}
EX_SCENARIO(closes_now){
    .name = "pool-submit-close_now",
    .claim = "a job beside close_now is refused, runs, or is handed back, once, and its group ends",
    .setup = setup_one,
    .threads = {submit_beside, close_now_beside, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 6000,
};

static void submit_and_close_now(void) {
    ex_assert(submit(0, run, &s.group));
    ilk_pool_close_now(s.pool, hand_back, &s);
    ilk_semaphore_signal(&s.semaphore, 1);
}
static void await_end_beside(void) {
    ex_assert(ilk_pool_wait_until(s.pool, ILK_FOREVER) == ILK_OK);
    check_accepted();
    ilk_semaphore_wait(&s.semaphore);
    ilk_pool_destroy(s.pool);
    ex_no_more_threads();
}
EX_SCENARIO(ends_after_hand_back){
    .name = "pool-wait_until-close_now",
    .claim = "a pool has ended when the last job has been handed back, by close_now itself too",
    .setup = setup_one,
    .threads = {submit_and_close_now, await_end_beside, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 6000,
};

static void count_part(void *context, size_t first, size_t last) {
    (void)context;
    for (; first < last; first++) {
        ilk_atomic_fetch_add(&s.ran[first], 1, memory_order_relaxed);
    }
}
static void loop(void) {
    if (ilk_pool_for(s.pool, 0, 2, 1, count_part, NULL)) {
        s.accepted[0] = s.accepted[1] = 1;
    }
    ilk_semaphore_signal(&s.semaphore, 1);
}
EX_SCENARIO(loop_closes_now){
    .name = "pool-for-close_now",
    .claim = "a loop that was not refused calls its body for each number, also where the pool is closed now",
    .setup = setup_one,
    .threads = {loop, close_now_beside, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 6000,
};
static void loop_and_end(void) {
    loop();
    end(s.pool);
}
EX_SCENARIO(loop_two){
    .name = "pool-for-two-workers",
    .slow = true,
    .claim = "a loop's body is called once for each number",
    .setup = setup_two,
    .threads = {loop_and_end, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 8000,
};

static void close_and_wait_until_soon(void) {
    ex_assert(submit(0, run, NULL));
    ilk_pool_close(s.pool);
    if (ilk_pool_wait_until(s.pool, SOON) == ILK_OK) {
        see(0);
    }
    end(s.pool);
}
EX_SCENARIO(wait_until){
    .name = "pool-close-wait_until",
    .claim = "a wait for the pool that is in time sees what its jobs did",
    .setup = setup_one,
    .threads = {close_and_wait_until_soon, thread_0},
    .check = check_accepted,
    .timeouts = 1,
};

EX_MUST_REACH(states){
    {"pool-*submit-wait pool-submit-each-priority", {EX_POOL_SLEEPS, EX_GROUP_WAKES}},
    {"pool-close-wait_until", {EX_SLEEPER_LATE, EX_POOL_SLEEPS}},
    {"pool-for-close_now pool-submit-close pool-submit-close_now pool-wait_until-close_now",
     {EX_SEMAPHORE_WAITS, EX_POOL_SLEEPS}},
    {"pool-for-two-workers", {EX_DEQUE_THIEF_OUTRUN, EX_POOL_STEALS, EX_POOL_SLEEPS}},
    {"pool-job-submits-two-that-meet",
     {EX_EVENT_WAKE_PENDS, EX_POOL_STEALS, EX_POOL_SLEEPS, EX_POOL_YIELDS, EX_GROUP_WAKES}},
    {"pool-job-waits-for-its-child", {EX_DEQUE_THIEF_OUTRUN, EX_POOL_STEALS, EX_POOL_SLEEPS, EX_GROUP_WAKES}},
    {"pool-submit-close-*", {EX_POOL_SLEEPS}},
    {"pool-submit-drops-fenced", {EX_EVENT_FENCED_UP, EX_EVENT_FENCED_DOWN, EX_POOL_SLEEPS}},
    {"pool-submit-submit-that-meet", {EX_EVENT_FENCED_UP, EX_POOL_STEALS, EX_POOL_SLEEPS, EX_POOL_YIELDS}},
    {"pool-submit_many-that-meet",
     {EX_EVENT_FENCED_UP, EX_POOL_STEALS, EX_POOL_REFILLS, EX_POOL_SLEEPS, EX_POOL_YIELDS, EX_GROUP_WAKES}},
};
