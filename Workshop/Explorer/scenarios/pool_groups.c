/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker pool: groups, followers, fork and join.
 */
/* contract: pool.A, pool.B, pool.G, pool.H */
#include "pool_work.h"

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
    (void)!ilk_group_wait_until(&s.done, SOON);
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

EX_MUST_REACH(states){
    {"pool-follow-*",
     {EX_EVENT_FENCED_UP, EX_MUTEX_SLEEPS, EX_MUTEX_WAKES, EX_POOL_SLEEPS, EX_POOL_YIELDS,
      EX_GROUP_FOLLOWED}},
    {"pool-fork-*", {EX_EVENT_FENCED_UP, EX_EVENT_WAKE_PENDS, EX_POOL_STEALS, EX_POOL_SLEEPS}},
    {"pool-group-of-another-pool-beside-a-waiter",
     {EX_EVENT_FENCED_UP, EX_POOL_STEALS, EX_POOL_SLEEPS, EX_POOL_YIELDS, EX_POOL_BLOCKED, EX_GROUP_WAKES}},
    {"pool-job-waits_until-for-its-children-that-meet",
     {EX_SLEEPER_LATE, EX_POOL_STEALS, EX_POOL_SLEEPS, EX_GROUP_WAKES, EX_GROUP_WAKES_WORKERS}},
    {"pool-submit-wait_until", {EX_SLEEPER_LATE, EX_POOL_SLEEPS, EX_GROUP_WAKES}},
};
