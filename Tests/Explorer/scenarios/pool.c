/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker pool: submission, sleeping, stealing, blocking, closing, timers, groups, forks. Workers are bodies that run
 * what the pool starts. Jobs that meet at a barrier need two threads: they end only if no wake-up was lost and no job
 * waits behind another while a worker sleeps. Every execution ends with destroy, so that what is touched after the
 * pool's end is touched in freed memory.
 */
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

static ilk_pool *make(uint32_t threads, uint32_t most, uint32_t kept) {
    const ilk_pool_options options = {
        .threads = threads, .max_threads = most, .kept_threads = kept, .idle_ns = IDLE};
    ilk_pool *pool = NULL;
    ex_assert(ilk_pool_create(&pool, &options) == ILK_OK);
    return pool;
}

static void setup(void) {
    memset(&s, 0, sizeof s);
    ilk_barrier_init(&s.barrier, 2);
    ilk_semaphore_init(&s.semaphore, 0);
}
static void setup_one(void) {
    setup();
    s.pool = make(1, 1, 1);
}
static void setup_one_of_two(void) {
    setup();
    s.pool = make(1, 2, 1);
}
static void setup_two(void) {
    setup();
    s.pool = make(2, 2, 2);
}
static void setup_two_kept_one(void) {
    setup();
    s.pool = make(2, 3, 1);
}
static void setup_two_and_another(void) {
    setup();
    s.pool = make(2, 2, 2);
    s.other = make(1, 1, 1);
}
static void setup_two_pools(void) {
    setup();
    s.pool = make(1, 1, 1);
    s.other = make(1, 1, 1);
}

static void thread_0(void) {
    (void)ex_run_started_thread(0);
}
static void thread_1(void) {
    (void)ex_run_started_thread(1);
}
static void thread_2(void) {
    (void)ex_run_started_thread(2);
}
static void thread_3(void) {
    (void)ex_run_started_thread(3);
}
static void thread_4(void) {
    (void)ex_run_started_thread(4);
}

static void end(ilk_pool *pool) {
    ilk_pool_close(pool);
    ex_assert(ilk_pool_wait_until(pool, ILK_FOREVER) == ILK_OK);
    ilk_pool_destroy(pool);
    ex_no_more_threads();
}

/* ---- Jobs ---- */

static void run(void *context) {
    ilk_job *job = context;
    const size_t index = (size_t)(job - s.jobs);
    ilk_plain_read(&s.data[index], sizeof s.data[index]);
    ex_assert(s.data[index] == index + 1);
    ilk_plain_write(&s.data[index], sizeof s.data[index]);
    s.data[index] = (uint32_t)index + 11;
    ex_assert(ilk_atomic_fetch_add(&s.ran[index], 1, memory_order_relaxed) == 0);
}
static void run_and_meet(void *context) {
    run(context);
    (void)ilk_barrier_wait(&s.barrier);
}
static void prepare(unsigned index, void (*function)(void *), ilk_group *group) {
    ilk_plain_write(&s.data[index], sizeof s.data[index]);
    s.data[index] = index + 1;
    ilk_job_init(&s.jobs[index], function, &s.jobs[index]);
    ilk_job_set_group(&s.jobs[index], group);
}
static bool submit(unsigned index, void (*function)(void *), ilk_group *group) {
    prepare(index, function, group);
    const bool accepted = ilk_pool_submit(s.pool, &s.jobs[index]);
    if (accepted) {
        ilk_atomic_store(&s.accepted[index], 1, memory_order_relaxed);
    }
    return accepted;
}
static void see(unsigned index) {
    ilk_plain_read(&s.data[index], sizeof s.data[index]);
    ex_assert(s.data[index] == index + 11);
}
static void await(ilk_group *group) {
    ex_assert(ilk_group_wait_until(group, ILK_FOREVER) == ILK_OK);
}

/* What was accepted has run or was handed back, once; what was refused has not. */
static void check_accepted(void) {
    for (unsigned i = 0; i < JOBS; i++) {
        ex_assert(s.ran[i] + s.handed[i] == s.accepted[i]);
    }
}

static void run_timed(void *context) {
    (void)context;
    ex_assert(ilk_atomic_fetch_add(&s.ran[0], 1, memory_order_relaxed) == 0);
}

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
static void close_beside(void) {
    ilk_pool_close(s.pool);
    ex_assert(ilk_pool_wait_until(s.pool, ILK_FOREVER) == ILK_OK);
    ilk_semaphore_wait(&s.semaphore);
    await(&s.group);
    ilk_pool_destroy(s.pool);
    ex_no_more_threads();
}
EX_SCENARIO(closes){
    .name = "pool-submit-close",
    .claim = "a job beside close is refused, or runs",
    .setup = setup_one,
    .threads = {submit_beside, close_beside, thread_0},
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
    .threads = {submit_again_beside, close_beside_later, thread_0},
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
    .threads = {submit_one_beside, close_beside_both, await_beside, thread_0},
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
    .threads = {submit_beside, close_now_beside, thread_0},
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
    .threads = {submit_and_close_now, await_end_beside, thread_0},
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
    .threads = {loop, close_now_beside, thread_0},
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

/* ---- Blocking ---- */

static void block_for_next(void *context) {
    run(context);
    ilk_pool_will_block();
    (void)ilk_barrier_wait(&s.barrier);
    ilk_pool_did_block();
}
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
    .claim = "a thread too many becomes spare once its deque is empty, and ends with the pool",
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
    (void)ilk_semaphore_wait_until(&s.semaphore, 5 * IDLE); /* time passes, in most schedules */
    ex_assert(ilk_pool_cancel(s.pool, &s.timer));
    end(s.pool);
}
EX_SCENARIO(spare_cancel){
    .name = "pool-cancel-the-last-promise-beside-a-spare-thread",
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
    (void)ilk_semaphore_wait_until(&s.semaphore, 5 * IDLE);
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

/* ---- Groups and followers ---- */

static void follow_and_wait(void) {
    ex_assert(submit(0, run, &s.group));
    prepare(1, run, &s.done);
    ex_assert(ilk_group_follow(&s.group, s.pool, &s.jobs[1]));
    s.accepted[1] = 1;
    await(&s.done);
    see(0);
    see(1);
    end(s.pool);
}
EX_SCENARIO(follow){
    .name = "pool-follow-beside-the-last-job",
    .claim = "the job that follows runs once, after the last",
    .setup = setup_one,
    .threads = {follow_and_wait, thread_0},
    .check = check_accepted,
    .step_limit = 6000,
};
static void see_both(void *context) {
    see(0);
    see(1);
    run(context);
}
static void follow_two_and_wait(void) {
    ex_assert(submit(0, run, &s.group));
    ex_assert(submit(1, run, &s.group));
    prepare(2, see_both, &s.done);
    ex_assert(ilk_group_follow(&s.group, s.pool, &s.jobs[2]));
    s.accepted[2] = 1;
    await(&s.done);
    end(s.pool);
}
EX_SCENARIO(follow_two){
    .name = "pool-follow-beside-the-last-of-two",
    .slow = true,
    .claim = "the job that follows sees what each job did",
    .setup = setup_two,
    .threads = {follow_two_and_wait, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 8000,
};
static void follow_and_close(void) {
    ex_assert(submit(0, run, &s.group));
    prepare(1, run, NULL);
    ex_assert(ilk_group_follow(&s.group, s.pool, &s.jobs[1]));
    s.accepted[1] = 1;
    end(s.pool);
    see(1);
}
EX_SCENARIO(follow_close){
    .name = "pool-follow-close",
    .claim = "a pool that is closed waits for a job that follows",
    .setup = setup_two,
    .threads = {follow_and_close, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 8000,
};
static void follow_elsewhere(void) {
    ex_assert(submit(0, run, &s.group));
    prepare(1, run, NULL);
    ex_assert(ilk_group_follow(&s.group, s.other, &s.jobs[1]));
    s.accepted[1] = 1;
    ilk_pool_close(s.other);
    ex_assert(ilk_pool_wait_until(s.other, ILK_FOREVER) == ILK_OK);
    ilk_pool_destroy(s.other); /* beside the last job of the first pool */
    see(1);
    end(s.pool);
}
EX_SCENARIO(follow_other){
    .name = "pool-follow-to-another-pool-destroy",
    .claim =
        "the thread that submits a follower to another pool touches that pool no more when it may have ended",
    .setup = setup_two_pools,
    .threads = {follow_elsewhere, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 8000,
    .weight = 2,
};
static void await_group(void *context) {
    run(context);
    await(&s.group);
}
static void use_group_again(void) {
    ex_assert(submit(1, await_group, NULL));
    ex_assert(submit(0, run, &s.group));
    await(&s.group);
    prepare(2, run, &s.group);
    ex_assert(ilk_pool_submit(s.other, &s.jobs[2]));
    s.accepted[2] = 1;
    ilk_pool_close(s.pool);
    ex_assert(ilk_pool_wait_until(s.pool, ILK_FOREVER) == ILK_OK);
    ilk_pool_destroy(s.pool);
    end(s.other);
}
EX_SCENARIO(group_again){
    .name = "pool-group-of-another-pool-beside-a-waiter",
    .slow = true,
    .claim =
        "a worker that waits for a group is not left behind when the group's next jobs are another pool's",
    .setup = setup_two_and_another,
    .threads = {use_group_again, thread_0, thread_1, thread_2},
    .check = check_accepted,
    .step_limit = 8000,
};
static void wait_until_soon(void) {
    ex_assert(submit(0, run, &s.group));
    const ilk_status status = ilk_group_wait_until(&s.group, SOON);
    if (status == ILK_OK) {
        see(0);
    }
    end(s.pool);
    see(0);
}
EX_SCENARIO(group_until){
    .name = "pool-submit-wait_until",
    .claim = "a wait that is in time sees the job",
    .setup = setup_one,
    .threads = {wait_until_soon, thread_0},
    .check = check_accepted,
    .timeouts = 1,
};
static void submit_child_and_wait_until(void *context) {
    run(context);
    ex_assert(submit(1, run_and_meet, &s.done));
    ex_assert(submit(2, run_and_meet, NULL));
    (void)ilk_group_wait_until(&s.done, SOON);
}
static void submit_parent_until(void) {
    ex_assert(submit(0, submit_child_and_wait_until, &s.group));
    await(&s.group);
    end(s.pool);
}
EX_SCENARIO(job_waits_until){
    .name = "pool-job-waits_until-for-its-children-that-meet",
    .slow = true,
    .claim = "a wake-up is not lost with a wait whose time is up",
    .setup = setup_two,
    .threads = {submit_parent_until, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 8000,
    .timeouts = 1,
};

/* ---- Fork and join ---- */

static void forked(void *context) {
    (void)context;
    ilk_plain_write(&s.data[3], sizeof s.data[3]);
    s.data[3]++;
    ilk_atomic_fetch_add(&s.ran[3], 1, memory_order_relaxed);
}
static void fork_and_join(void *context) {
    run(context);
    ilk_job job;
    for (uint32_t round = 1; round <= 2; round++) {
        ilk_pool_fork(s.pool, &job, forked, NULL);
        ilk_pool_join(s.pool, &job);
        ilk_plain_read(&s.data[3], sizeof s.data[3]);
        ex_assert(s.data[3] == round);
    }
}
static void submit_forking(void) {
    ex_assert(submit(0, fork_and_join, NULL));
    end(s.pool);
    ex_assert(ilk_atomic_load(&s.ran[3], memory_order_relaxed) == 2);
    s.accepted[3] = 2;
}
EX_SCENARIO(forks){
    .name = "pool-fork-join-twice-beside-a-thief",
    .claim = "a forked job runs once, and its join sees what it did, asleep or not; its memory may be forked "
             "again",
    .setup = setup_two,
    .threads = {submit_forking, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 8000,
    .weight = 2,
};
static void fork_two_join_two(void *context) {
    run(context);
    ilk_job one, two;
    ilk_pool_fork(s.pool, &one, forked, NULL);
    ilk_pool_join(s.pool, &one);
    ilk_pool_fork(s.pool, &one, run, &s.jobs[1]);
    ilk_pool_fork(s.pool, &two, run, &s.jobs[2]);
    ilk_pool_join(s.pool, &two);
    see(2);
    ilk_pool_join(s.pool, &one);
    see(1);
}
static void submit_forking_two(void) {
    s.data[1] = 2;
    s.data[2] = 3;
    ex_assert(submit(0, fork_two_join_two, NULL));
    end(s.pool);
    s.accepted[1] = s.accepted[2] = s.accepted[3] = 1;
}
EX_SCENARIO(forks_two){
    .name = "pool-fork-fork-join-join",
    .claim = "the same for two jobs, of which thieves may have either",
    .setup = setup_two,
    .threads = {submit_forking_two, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 8000,
};

static void fork_and_meet(void *context) {
    run(context);
    ilk_job job;
    s.data[1] = 2;
    ilk_pool_fork(s.pool, &job, run_and_meet, &s.jobs[1]);
    (void)ilk_barrier_wait(&s.barrier);
    ilk_pool_join(s.pool, &job);
    see(1);
}
static void submit_forking_that_meet(void) {
    ex_assert(submit(0, fork_and_meet, NULL));
    end(s.pool);
    s.accepted[1] = 1;
}
EX_SCENARIO(forks_meet){
    .name = "pool-fork-that-meets-its-owner",
    .slow = true,
    .claim = "a forked job begins on a worker that slept",
    .setup = setup_two,
    .threads = {submit_forking_that_meet, thread_0, thread_1},
    .check = check_accepted,
    .step_limit = 8000,
    .weight = 2,
};

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
