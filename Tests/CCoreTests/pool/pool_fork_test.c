/* SPDX-License-Identifier: Apache-2.0
 *
 * fork(2) and pools: what docs/fork.md and guarantee H of pool.h say. A child has pools that are closed and have no
 * threads; a job that forks ends its child, at the latest where it returns there.
 */
#include "support/fork.h"
#include "support/pool.h"
#include <interlock/interlock.h>
#include <interlock/pool.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* How the child ends: by the test; with exit(3)'s functions; in a job that it should not run. */
enum { BY_THE_TEST = 7, BY_EXIT = 5, BY_A_JOB = 99 };

/* ---- Jobs ---- */

struct held {
    ilk_job job;
    struct stage stage; /* 1: held; 2: goes on */
};

static void hold(void *context) {
    struct held *held = context;
    stage_reach(&held->stage, 1);
    stage_await(&held->stage, 2);
}

static void hold_worker(struct held *held, ilk_pool *pool) {
    *held = (struct held){.stage = STAGE_INIT};
    pool_submit(pool, &held->job, hold, held, NULL);
    stage_await(&held->stage, 1);
}

static pid_t parent;

/* Not in the child. */
static void run_in_parent(void *context) {
    if (getpid() != parent) {
        _exit(BY_A_JOB);
    }
    ilk_atomic_fetch_add((ILK_ATOMIC(int) *)context, 1, memory_order_relaxed);
}

static void nothing(void *context) {}

static int number_of(ILK_ATOMIC(int) * ran) {
    return ilk_atomic_load(ran, memory_order_relaxed);
}

static void begin(void) {
    need_children();
    parent = getpid();
}

/* ---- A child beside a pool ---- */
/* contract: ilk_pool_fork, pool.H */
TEST(a_child_of_fork_has_a_closed_pool) {
    begin();
    ilk_pool *pool = pool_of(2);
    struct held held, other;
    hold_worker(&held, pool);
    hold_worker(&other, pool);
    ILK_ATOMIC(int) ran = 0;
    ilk_job waiting;
    pool_submit(pool, &waiting, run_in_parent, (void *)&ran, NULL);
    ilk_timer timer;
    ilk_timer_init(&timer, run_in_parent, (void *)&ran);
    check_equal(ilk_pool_submit_at(pool, &timer, ILK_FOREVER), ILK_OK);
    const pid_t child = fork();
    if (is_child(child)) {
        ilk_job job;
        ilk_group group = {0};
        ilk_job_init(&job, nothing, NULL);
        check(!ilk_pool_submit(pool, &job));
        check_equal(ilk_pool_wait_until(pool, ILK_FOREVER), ILK_OK);
        check_equal(ilk_pool_wait_idle_until(pool, ILK_FOREVER), ILK_OK);
        const ilk_pool_info info = ilk_pool_get_info(pool);
        check(info.threads == 0 && info.blocked == 0 && info.timers == 0);
        check(ilk_pool_cancel(pool, &timer));
        check(!ilk_pool_cancel(pool, &timer));
        check_equal(ilk_pool_get_info(pool).timers, 0);
        ilk_pool_destroy(pool);
        ilk_pool *fresh = pool_of(2); /* a pool of its own */
        pool_submit(fresh, &job, nothing, NULL, &group);
        group_await(&group);
        pool_end(fresh);
        _exit(BY_THE_TEST);
    }
    expect_exit(child, BY_THE_TEST);
    check(ilk_pool_cancel(pool, &timer));
    stage_reach(&held.stage, 2);
    stage_reach(&other.stage, 2);
    pool_end(pool);
    check_equal(number_of(&ran), 1);
}
/* contract: ilk_pool_fork, pool.H */
TEST(a_group_that_has_jobs_has_no_end_in_a_child) {
    begin();
    ilk_pool *pool = pool_of(1);
    struct held held;
    hold_worker(&held, pool);
    ilk_group group = {0};
    ilk_job waiting, follower;
    pool_submit(pool, &waiting, nothing, NULL, &group);
    const pid_t child = fork();
    if (is_child(child)) {
        check_equal(ilk_group_wait_until(&group, ilk_deadline_in_ns(MILLISECONDS(1))), ILK_TIMEDOUT);
        ilk_job_init(&follower, nothing, NULL);
        check(!ilk_group_follow(&group, pool, &follower));
        _exit(BY_THE_TEST);
    }
    expect_exit(child, BY_THE_TEST);
    stage_reach(&held.stage, 2);
    group_await(&group);
    pool_end(pool);
}

static unsigned threads_of_process(void) {
    struct stat tasks;
    check_equal(stat("/proc/self/task", &tasks), 0);
    return (unsigned)tasks.st_nlink - 2;
}

/* The parent has set no timer before: the first one starts a thread. */
/* contract: ilk_pool_fork, pool.H */
TEST(a_timer_starts_no_thread_in_a_child) {
    begin();
    ilk_pool *pool = pool_of(1);
    const pid_t child = fork();
    if (is_child(child)) {
        ilk_timer timer;
        ilk_timer_init(&timer, nothing, NULL);
        check_equal(ilk_pool_submit_at(pool, &timer, ILK_FOREVER), ILK_CLOSED);
        check_equal(threads_of_process(), 1);
        ilk_pool_destroy(pool);
        _exit(BY_THE_TEST);
    }
    expect_exit(child, BY_THE_TEST);
    pool_end(pool);
}

struct making {
    ILK_ATOMIC(bool) ends;
    ILK_ATOMIC(int) made;
};

static void make_and_end(void *context) {
    struct making *making = context;
    while (!ilk_atomic_load(&making->ends, memory_order_relaxed)) {
        pool_end(pool_of(1));
        ilk_atomic_fetch_add(&making->made, 1, memory_order_relaxed);
    }
}

/* Fork waits for a thread that creates or destroys a pool: each child has a whole list of them. */
/* contract: ilk_pool_fork, pool.H */
TEST(a_process_may_fork_beside_a_thread_that_makes_pools) {
    begin();
    ilk_pool *pool = pool_of(1);
    struct making making = {.made = 0};
    struct thread maker;
    thread_start(&maker, make_and_end, &making);
    for (int round = 0; round < stress_rounds(50); round++) {
        yield_while(number_of(&making.made) < round);
        const pid_t child = fork();
        if (is_child(child)) {
            ilk_pool_destroy(pool);
            pool_end(pool_of(1));
            _exit(BY_THE_TEST);
        }
        expect_exit(child, BY_THE_TEST);
    }
    ilk_atomic_store(&making.ends, true, memory_order_relaxed);
    thread_join(&maker);
    pool_end(pool);
}

/* ---- A job that forks ---- */

static void exit_by_exit(void) {
    _exit(BY_EXIT);
}

/* In a job. The child returns from here. */
static pid_t fork_and_return(void) {
    const pid_t child = fork();
    if (is_child(child)) {
        sigset_t alarm_signal; /* workers hold it back */
        sigemptyset(&alarm_signal);
        sigaddset(&alarm_signal, SIGALRM);
        check_equal(pthread_sigmask(SIG_UNBLOCK, &alarm_signal, NULL), 0);
        check_equal(atexit(exit_by_exit), 0);
    }
    return child;
}

struct forking {
    ilk_pool *pool;
    ilk_job job, own;
    ilk_group group;
    ILK_ATOMIC(int) ran;
    struct stage stage;
    pid_t child;
};

static void fork_in_a_job(void *context) {
    struct forking *forking = context;
    /* In this worker's deque. */
    pool_submit(forking->pool, &forking->own, run_in_parent, (void *)&forking->ran, NULL);
    forking->child = fork_and_return();
}

static void fork_in_a_job_and_exit(void *context) {
    struct forking *forking = context;
    fork_in_a_job(context);
    if (forking->child == 0) {
        ilk_job refused;
        ilk_job_init(&refused, nothing, NULL);
        check(!ilk_pool_submit(forking->pool, &refused));
        ilk_pool_destroy(forking->pool);
        _exit(BY_THE_TEST);
    }
}
/* contract: pool.H */
TEST(a_job_that_forks_may_end_its_child) {
    begin();
    struct forking forking = {.pool = pool_of(1)};
    pool_submit(forking.pool, &forking.job, fork_in_a_job_and_exit, &forking, &forking.group);
    group_await(&forking.group);
    pool_end(forking.pool);
    expect_exit(forking.child, BY_THE_TEST);
    check_equal(number_of(&forking.ran), 1);
}

/* In a child of the job that has returned nothing runs: not what waited, not what follows its group. */
/* contract: pool.H */
TEST(a_child_ends_where_its_job_returns) {
    begin();
    struct forking forking = {.pool = pool_of(1)};
    struct held held;
    hold_worker(&held, forking.pool);
    pool_submit(forking.pool, &forking.job, fork_in_a_job, &forking, &forking.group);
    ilk_job follower;
    ilk_job_init(&follower, run_in_parent, (void *)&forking.ran);
    check(ilk_group_follow(&forking.group, forking.pool, &follower));
    stage_reach(&held.stage, 2);
    group_await(&forking.group);
    pool_end(forking.pool);
    expect_exit(forking.child, BY_EXIT);
    check_equal(number_of(&forking.ran), 2);
}
/* contract: pool.H */
TEST(a_child_ends_whatever_other_workers_did) {
    begin();
    struct forking forking = {.pool = pool_of(2)};
    struct held held;
    hold_worker(&held, forking.pool);
    pool_submit(forking.pool, &forking.job, fork_in_a_job, &forking, &forking.group);
    group_await(&forking.group);
    stage_reach(&held.stage, 2);
    pool_end(forking.pool);
    expect_exit(forking.child, BY_EXIT);
    check_equal(number_of(&forking.ran), 1);
}

static void wait_for_one_that_forks(void *context) {
    struct forking *forking = context;
    ilk_group group = {0};
    ilk_job on_top, beneath; /* which the child never has */
    pool_submit(forking->pool, &beneath, nothing, NULL, &group);
    pool_submit(forking->pool, &on_top, fork_in_a_job, forking, &group);
    group_await(&group);
}
/* contract: pool.H */
TEST(a_child_ends_where_a_job_on_top_of_another_returns) {
    begin();
    struct forking forking = {.pool = pool_of(1)};
    pool_submit(forking.pool, &forking.job, wait_for_one_that_forks, &forking, &forking.group);
    group_await(&forking.group);
    pool_end(forking.pool);
    expect_exit(forking.child, BY_EXIT);
    check_equal(number_of(&forking.ran), 1);
}

static void fork_and_join_there(void *context) {
    struct forking *forking = context;
    ilk_pool_fork(forking->pool, &forking->own, nothing, NULL);
    forking->child = fork();
    if (is_child(forking->child)) {
        ilk_pool_join(forking->pool, &forking->own);
        _exit(BY_A_JOB);
    }
    ilk_pool_join(forking->pool, &forking->own);
}
/* contract: pool.H */
TEST(joining_in_the_child_what_was_forked_before_is_reported) {
    begin();
    struct forking forking = {.pool = pool_of(1)};
    pool_submit(forking.pool, &forking.job, fork_and_join_there, &forking, &forking.group);
    group_await(&forking.group);
    pool_end(forking.pool);
    int status = 0;
    check_equal(waitpid(forking.child, &status, 0), forking.child);
    check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* The other part of the loop is with another worker, whom the child has not. */
static void fork_in_a_part(void *context, size_t first, size_t end) {
    struct forking *forking = context;
    stage_advance(&forking->stage);
    stage_await(&forking->stage, 2); /* both parts have begun */
    if (first == 0) {
        forking->child = fork_and_return();
        stage_reach(&forking->stage, 3);
    }
    stage_await(&forking->stage, 3);
}

static void loop(void *context) {
    struct forking *forking = context;
    check(ilk_pool_for(forking->pool, 0, 2, 1, fork_in_a_part, forking));
}
/* contract: pool.H */
TEST(a_child_ends_where_its_loop_waits_for_other_workers) {
    begin();
    struct forking forking = {.pool = pool_of(2), .stage = STAGE_INIT};
    pool_submit(forking.pool, &forking.job, loop, &forking, &forking.group);
    group_await(&forking.group);
    pool_end(forking.pool);
    expect_exit(forking.child, BY_EXIT);
}

static void destroy(void *context) {
    ilk_pool_destroy(context);
}

static void fork_beside_destroy(void *context) {
    struct forking *forking = context;
    stage_reach(&forking->stage, 1);
    stage_await(&forking->stage, 2);
    forking->child = fork_and_return();
}

/*  job               another thread
 *                     destroy: closes the pool, waits for the job
 *   forks
 *   returns in the child: the child ends                          */
/* contract: pool.H */
TEST(a_child_ends_of_a_job_whose_pool_is_being_destroyed) {
    begin();
    struct forking forking = {.pool = pool_of(2), .stage = STAGE_INIT};
    struct held held;
    hold_worker(&held, forking.pool);
    pool_submit(forking.pool, &forking.job, fork_beside_destroy, &forking, &forking.group);
    stage_await(&forking.stage, 1);
    struct thread thread;
    thread_start(&thread, destroy, forking.pool);
    thread_await_sleep(&thread); /* for the jobs */
    stage_reach(&forking.stage, 2);
    group_await(&forking.group);
    stage_reach(&held.stage, 2);
    thread_join(&thread);
    expect_exit(forking.child, BY_EXIT);
}
