/* SPDX-License-Identifier: Apache-2.0
 *
 * How an ilk_pool ends: close, close_now, destroy. What was accepted runs or is handed back exactly once, beside
 * threads that submit, jobs that submit, block and steal, timers, groups and loops.
 */
/* contract: pool.h */
#include "support/pool.h"
#include <interlock/interlock.h>
#include <interlock/pool.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* ---- Histories: each accepted job once ---- */

struct counted {
    ilk_job job;
    struct history *history;
    ILK_ATOMIC(uint32_t) ran, handed;
    bool accepted;
    uint32_t number;
};

struct history {
    ilk_pool *pool;
    struct counted *jobs;
    size_t count;
    ilk_group group;
    ILK_ATOMIC(size_t) next;
    bool blocks;
};

/* Some jobs submit the next ones, to their own deque, where others steal them; some block. */
static void run_counted(void *context) {
    struct counted *counted = context;
    struct history *history = counted->history;
    check_equal(ilk_atomic_fetch_add(&counted->ran, 1, memory_order_relaxed), 0);
    if (counted->number % 8 == 0) {
        for (int children = 0; children < 4; children++) {
            const size_t next = ilk_atomic_fetch_add(&history->next, 1, memory_order_relaxed);
            if (next < history->count) {
                history->jobs[next].accepted = ilk_pool_submit(history->pool, &history->jobs[next].job);
            }
        }
    }
    if (history->blocks && counted->number % 1024 == 1) {
        ilk_pool_will_block();
        sched_yield();
        ilk_pool_did_block();
    }
}

static void submit_until_refused(void *context) {
    struct history *history = *(struct history **)context;
    for (;;) {
        const size_t next = ilk_atomic_fetch_add(&history->next, 1, memory_order_relaxed);
        if (next >= history->count) {
            return;
        }
        history->jobs[next].accepted = ilk_pool_submit(history->pool, &history->jobs[next].job);
        if (!history->jobs[next].accepted) {
            return;
        }
    }
}

static void count_handed(void *context, ilk_job *job) {
    struct counted *counted = (struct counted *)job;
    check(context == counted->history);
    check_equal(ilk_atomic_fetch_add(&counted->handed, 1, memory_order_relaxed), 0);
}

static void begin_history(struct history *history, size_t count, uint32_t threads) {
    *history = (struct history){.count = count, .blocks = true, .pool = pool_of(threads)};
    history->jobs = calloc(count, sizeof *history->jobs);
    check(history->jobs != NULL);
    for (size_t i = 0; i < count; i++) {
        struct counted *counted = &history->jobs[i];
        counted->history = history;
        counted->number = (uint32_t)i;
        ilk_job_init(&counted->job, run_counted, counted);
        ilk_job_set_priority(&counted->job, i % 5 == 0   ? ILK_PRIORITY_HIGH
                                            : i % 7 == 0 ? ILK_PRIORITY_LOW
                                                         : ILK_PRIORITY_NORMAL);
        ilk_job_set_group(&counted->job, i % 3 == 0 ? NULL : &history->group);
    }
}

static size_t finish_history(struct history *history, bool hands_back) {
    size_t accepted = 0;
    pool_await_end(history->pool);
    check_equal(ilk_group_wait_until(&history->group, 0), ILK_OK);
    for (size_t i = 0; i < history->count; i++) {
        const struct counted *counted = &history->jobs[i];
        const uint32_t ran = ilk_atomic_load(&counted->ran, memory_order_relaxed);
        const uint32_t handed = ilk_atomic_load(&counted->handed, memory_order_relaxed);
        check_equal(ran + handed, counted->accepted);
        check(hands_back || handed == 0);
        accepted += counted->accepted;
    }
    ilk_pool_destroy(history->pool);
    return accepted;
}

enum { SUBMITTERS = 2 };

struct closer {
    struct history *history;
    bool now;
    size_t after; /* so many jobs were tried */
};

static void close_after(void *context) {
    struct closer *closer = context;
    yield_while(ilk_atomic_load(&closer->history->next, memory_order_relaxed) < closer->after);
    if (closer->now) {
        ilk_pool_close_now(closer->history->pool, count_handed, closer->history);
    } else {
        ilk_pool_close(closer->history->pool);
    }
}

/* What the first pool has refused, another one runs. */
static void run_elsewhere(struct history *history) {
    history->pool = pool_of(2);
    ilk_atomic_store(&history->next, history->count, memory_order_relaxed); /* no job submits others */
    for (size_t i = 0; i < history->count; i++) {
        struct counted *counted = &history->jobs[i];
        if (!counted->accepted) {
            check(ilk_pool_submit(history->pool, &counted->job));
        }
    }
    group_await(&history->group);
    ilk_pool_close(history->pool);
    pool_await_end(history->pool);
    ilk_pool_destroy(history->pool);
    for (size_t i = 0; i < history->count; i++) {
        const struct counted *counted = &history->jobs[i];
        check_equal(ilk_atomic_load(&counted->ran, memory_order_relaxed) +
                        ilk_atomic_load(&counted->handed, memory_order_relaxed),
                    1);
    }
}

static void race_closing(bool now) {
    uint32_t random = 11;
    for (int round = 0; round < stress_rounds(300); round++) {
        struct history history;
        begin_history(&history, 2000, 1 + (uint32_t)round % 4);
        struct closer closer = {&history, now, next_random(&random) % history.count};
        struct history *contexts[SUBMITTERS] = {&history, &history};
        struct thread thread;
        thread_start(&thread, close_after, &closer);
        threads_run(SUBMITTERS, submit_until_refused, contexts, sizeof *contexts);
        thread_join(&thread);
        (void)finish_history(&history, now);
        run_elsewhere(&history);
        free(history.jobs);
    }
}

/* And what is refused runs once where it is submitted again. */
/* contract: ilk_pool_submit, pool.A */
TEST(what_is_accepted_beside_close_runs_once) {
    race_closing(false);
}

TEST(what_is_accepted_beside_close_now_runs_or_is_handed_back_once) {
    race_closing(true);
}

/* 10^7 jobs with INTERLOCK_POOL_HISTORY=long, with stealing and blocking, closed while the last ones come in. */
/* contract: ilk_pool_submit, pool.A */
TEST(a_long_history_runs_each_job_once) {
    const char *length = getenv("INTERLOCK_POOL_HISTORY");
    const bool is_long = length != NULL && strcmp(length, "long") == 0;
    const size_t chunk = 250000;
    const size_t chunks = is_long ? 40 : 1;
    size_t accepted = 0;
    for (size_t i = 0; i < chunks; i++) {
        struct history history;
        begin_history(&history, is_long ? chunk : (size_t)stress_rounds(100000), 3);
        struct closer closer = {&history, i % 2 == 1, history.count - history.count / 50};
        struct history *contexts[SUBMITTERS] = {&history, &history};
        struct thread thread;
        thread_start(&thread, close_after, &closer);
        threads_run(SUBMITTERS, submit_until_refused, contexts, sizeof *contexts);
        thread_join(&thread);
        accepted += finish_history(&history, i % 2 == 1);
        free(history.jobs);
    }
    check(accepted > 0);
    print_message("%zu jobs\n", accepted);
}

/* ---- A worker that is held ---- */

struct held {
    ilk_pool *pool;
    ilk_job job;
    struct stage stage; /* 1: held; 2: goes on */
};

static void hold(void *context) {
    struct held *held = context;
    stage_reach(&held->stage, 1);
    stage_await(&held->stage, 2);
}

static void hold_worker(struct held *held, ilk_pool *pool) {
    *held = (struct held){.pool = pool, .stage = STAGE_INIT};
    ilk_job_init(&held->job, hold, held);
    check(ilk_pool_submit(pool, &held->job));
    stage_await(&held->stage, 1);
}

struct single {
    ilk_job job;
    ILK_ATOMIC(int) ran, handed;
};

static void run_single(void *context) {
    struct single *single = context;
    ilk_atomic_fetch_add(&single->ran, 1, memory_order_relaxed);
}

static void prepare(struct single *single, ilk_group *group) {
    memset(single, 0, sizeof *single);
    ilk_job_init(&single->job, run_single, single);
    ilk_job_set_group(&single->job, group);
}

static void hand_single(void *context, ilk_job *job) {
    ilk_atomic_fetch_add(&((struct single *)job)->handed, 1, memory_order_relaxed);
}

static int ran(struct single *single) {
    return ilk_atomic_load(&single->ran, memory_order_relaxed);
}
static int handed(struct single *single) {
    return ilk_atomic_load(&single->handed, memory_order_relaxed);
}

/* ---- Closing ---- */
/* contract: ilk_pool_destroy, ilk_pool_submit, ilk_pool_submit_many, pool.A */
TEST(a_refused_job_is_untouched) {
    ilk_pool *pool = pool_of(1);
    ilk_pool_close(pool);
    ilk_group group = {0};
    struct single single, other;
    prepare(&single, &group);
    prepare(&other, &group);
    ilk_job *const many[] = {&single.job, &other.job};
    check(!ilk_pool_submit(pool, &single.job));
    check(!ilk_pool_submit_many(pool, many, 2));
    check(!ilk_group_follow(&group, pool, &single.job));
    check_equal(ilk_group_wait_until(&group, 0), ILK_OK);
    ilk_timer timer;
    ilk_timer_init(&timer, run_single, &single);
    check_equal(ilk_pool_submit_at(pool, &timer, 0), ILK_CLOSED);
    pool_await_end(pool);
    check_equal(ran(&single) + ran(&other), 0);
    ilk_pool_destroy(pool);
    ilk_pool_destroy(NULL);
}
/* contract: ilk_group_follow */
TEST(timers_and_followers_run_in_a_closed_pool) {
    ilk_pool *pool = pool_of(2);
    struct held held;
    hold_worker(&held, pool);
    ilk_group group = {0};
    struct single first, follower, timed;
    prepare(&first, &group);
    prepare(&follower, NULL);
    prepare(&timed, NULL);
    check(ilk_pool_submit(pool, &first.job));
    check(ilk_group_follow(&group, pool, &follower.job));
    ilk_timer timer;
    ilk_timer_init(&timer, run_single, &timed);
    check_equal(ilk_pool_submit_at(pool, &timer, ilk_deadline_in_ns(20000000)), ILK_OK);
    ilk_pool_close(pool);
    check_equal(ilk_pool_wait_until(pool, 0), ILK_TIMEDOUT);
    stage_reach(&held.stage, 2);
    pool_await_end(pool);
    check_equal(ran(&first), 1);
    check_equal(ran(&follower), 1);
    check_equal(ran(&timed), 1);
    ilk_pool_destroy(pool);
}

TEST(close_now_hands_back_jobs_timers_and_followers) {
    for (int priority = 0; priority < 3; priority++) {
        ilk_pool *pool = pool_of(1);
        struct held held;
        hold_worker(&held, pool);
        ilk_group group = {0};
        struct single first, follower;
        prepare(&first, &group);
        prepare(&follower, NULL);
        ilk_job_set_priority(&first.job, (ilk_priority)priority);
        ilk_job_set_priority(&follower.job, (ilk_priority)priority);
        check(ilk_pool_submit(pool, &first.job));
        check(ilk_group_follow(&group, pool, &follower.job));
        ilk_pool_close_now(pool, hand_single, NULL);
        group_await(&group); /* it has left its group */
        check_equal(handed(&first), 1);
        stage_reach(&held.stage, 2); /* the follower is the worker's to hand back */
        pool_await_end(pool);
        check_equal(handed(&follower), 1);
        check_equal(ran(&first) + ran(&follower), 0);
        ilk_pool_destroy(pool);
    }
}

struct closing {
    ilk_pool *pool;
    struct stage stage; /* 1: a job is being handed back; 2: goes on */
};

static void hand_back_slowly(void *context, ilk_job *job) {
    struct closing *closing = context;
    stage_reach(&closing->stage, 1);
    stage_await(&closing->stage, 2);
    hand_single(NULL, job);
}

static void close_slowly(void *context) {
    struct closing *closing = context;
    ilk_pool_close_now(closing->pool, hand_back_slowly, closing);
}

/*  worker          closer                   waiter
 *   is held
 *                   close_now: has the job
 *   ends
 *                                            the pool has not ended
 *                   hands the job back
 *                                            the pool has ended     */
TEST(a_pool_has_not_ended_while_close_now_has_a_job_in_hand) {
    ilk_pool *pool = pool_of(1);
    struct held held;
    hold_worker(&held, pool);
    struct single single;
    prepare(&single, NULL);
    check(ilk_pool_submit(pool, &single.job));
    struct closing closing = {.pool = pool, .stage = STAGE_INIT};
    struct thread closer;
    thread_start(&closer, close_slowly, &closing);
    stage_await(&closing.stage, 1);
    stage_reach(&held.stage, 2);
    yield_while(ilk_pool_get_info(pool).threads > 0);
    check_equal(ilk_pool_wait_until(pool, 0), ILK_TIMEDOUT);
    stage_reach(&closing.stage, 2);
    pool_await_end(pool);
    check_equal(handed(&single), 1);
    thread_join(&closer);
    ilk_pool_destroy(pool);
}

static void hand_timer(void *context, ilk_job *job) {
    ilk_timer **handed_timer = context;
    check(*handed_timer == NULL);
    *handed_timer = (ilk_timer *)job;
}

TEST(close_now_hands_back_a_timer_long_before_its_time) {
    ilk_pool *pool = pool_of(1);
    ilk_timer timer, *handed_timer = NULL;
    struct single single;
    prepare(&single, NULL);
    ilk_timer_init(&timer, run_single, &single);
    check_equal(ilk_pool_submit_at(pool, &timer, ILK_FOREVER), ILK_OK);
    ilk_pool_close_now(pool, hand_timer, &handed_timer);
    pool_await_end(pool);
    check(handed_timer == &timer);
    check(!ilk_pool_cancel(pool, &timer));
    ilk_pool_destroy(pool);
}

struct looping {
    ilk_pool *pool;
    bool accepted;
    ILK_ATOMIC(size_t) visited;
};

static void visit(void *context, size_t first, size_t end) {
    struct looping *looping = context;
    ilk_atomic_fetch_add(&looping->visited, end - first, memory_order_relaxed);
}

static void loop(void *context) {
    struct looping *looping = context;
    looping->accepted = ilk_pool_for(looping->pool, 0, 1000, 10, visit, looping);
}

static void never_hand_back(void *context, ilk_job *job) {
    check(false);
}

/*  worker          looping thread         closer
 *   is held         ilk_pool_for: sleeps
 *                                          close_now: nothing to hand back
 *   goes on: the loop                                                       */
/* contract: ilk_pool_for */
TEST(a_loop_is_never_handed_back) {
    ilk_pool *pool = pool_of(1);
    struct held held;
    hold_worker(&held, pool);
    struct looping looping = {.pool = pool};
    struct thread thread;
    thread_start(&thread, loop, &looping);
    thread_await_sleep(&thread);
    ilk_pool_close_now(pool, never_hand_back, NULL);
    check(!thread_is_done(&thread));
    stage_reach(&held.stage, 2);
    thread_join(&thread);
    check(looping.accepted);
    check_equal(ilk_atomic_load(&looping.visited, memory_order_relaxed), 1000);
    pool_await_end(pool);
    check(!ilk_pool_for(pool, 0, 10, 1, visit, &looping));
    ilk_pool_destroy(pool);
}

struct parent {
    ilk_job job;
    ilk_pool *pool;
    struct single child;
    struct stage stage; /* 1: the child is submitted; 2: the pool is closed */
    ilk_semaphore ran;
};

static void run_child(void *context) {
    struct parent *parent = context;
    ilk_semaphore_signal(&parent->ran, 1);
}

static void submit_child_and_block(void *context) {
    struct parent *parent = context;
    ilk_job_init(&parent->child.job, run_child, parent);
    check(ilk_pool_submit(parent->pool, &parent->child.job));
    stage_reach(&parent->stage, 1);
    stage_await(&parent->stage, 2);
    ilk_pool_will_block();
    ilk_semaphore_wait(&parent->ran);
    ilk_pool_did_block();
}

/* The child waits in its parent's deque, whose worker blocks for it, and the pool is closed: another thread runs it. */
/* contract: pool.A */
TEST(a_closed_pool_drains_the_deque_of_a_blocked_worker) {
    for (uint32_t threads = 1; threads <= 2; threads++) {
        ilk_pool *pool = pool_of(threads);
        struct parent parent = {.pool = pool, .stage = STAGE_INIT};
        struct held held;
        if (threads == 2) {
            hold_worker(&held, pool);
        }
        ilk_semaphore_init(&parent.ran, 0);
        ilk_job_init(&parent.job, submit_child_and_block, &parent);
        check(ilk_pool_submit(pool, &parent.job));
        stage_await(&parent.stage, 1);
        ilk_pool_close(pool);
        if (threads == 2) {
            stage_reach(&held.stage, 2);
        }
        stage_reach(&parent.stage, 2);
        pool_await_end(pool);
        ilk_pool_destroy(pool);
        ilk_semaphore_destroy(&parent.ran);
    }
}

/* The last job of one pool's group submits a follower to another pool, which is destroyed as soon as it has ended. */
/* contract: ilk_group_follow */
TEST(a_pool_may_be_destroyed_when_its_follower_has_run) {
    ilk_pool *pool = pool_of(1);
    for (int round = 0; round < stress_rounds(2000); round++) {
        ilk_pool *other = pool_of(1);
        ilk_group group = {0};
        struct single first, follower;
        prepare(&first, &group);
        prepare(&follower, NULL);
        check(ilk_pool_submit(pool, &first.job));
        check(ilk_group_follow(&group, other, &follower.job));
        ilk_pool_close(other);
        pool_await_end(other);
        ilk_pool_destroy(other);
        check_equal(ran(&follower), 1);
        group_await(&group);
    }
    ilk_pool_close(pool);
    pool_await_end(pool);
    ilk_pool_destroy(pool);
}

struct reused {
    ilk_job waiter, first;
    ilk_group *group;
    ILK_ATOMIC(int) waits;
};

static void wait_for_reused(void *context) {
    struct reused *reused = context;
    ilk_atomic_store(&reused->waits, 1, memory_order_release);
    group_await(reused->group);
}

/* Lets the waiter come as far as it likes. */
static void end_beside_the_waiter(void *context) {
    struct reused *reused = context;
    yield_while(ilk_atomic_load(&reused->waits, memory_order_acquire) == 0);
    for (int yields = 0; yields < 200; yields++) {
        sched_yield();
    }
}

/*  worker of the pool     this thread
 *   waits, asleep          waits
 *   is woken               sees the end, and submits a job of the group to another pool
 *   finds the group in use again: must not sleep where that pool does not wake it              */
TEST(a_group_may_be_used_for_another_pool_beside_a_waiter_of_the_first) {
    ilk_pool *pool = pool_of(2), *other = pool_of(1);
    for (int round = 0; round < stress_rounds(3000); round++) {
        ilk_group group = {0}, waiters = {0};
        struct reused reused = {.group = &group};
        struct single second;
        prepare(&second, &group);
        ilk_job_init(&reused.first, end_beside_the_waiter, &reused);
        ilk_job_set_group(&reused.first, &group);
        ilk_job_init(&reused.waiter, wait_for_reused, &reused);
        ilk_job_set_group(&reused.waiter, &waiters);
        check(ilk_pool_submit(pool, &reused.first));
        check(ilk_pool_submit(pool, &reused.waiter));
        group_await(&group);
        check(ilk_pool_submit(other, &second.job));
        group_await(&waiters);
        group_await(&group);
        check_equal(ran(&second), 1);
    }
    for (int i = 0; i < 2; i++) {
        ilk_pool *ended = i == 0 ? pool : other;
        ilk_pool_close(ended);
        pool_await_end(ended);
        ilk_pool_destroy(ended);
    }
}

/* ---- Misuse ---- */

static void destroy_with_jobs(void *context) {
    ilk_pool *pool = pool_of(1);
    struct held held;
    hold_worker(&held, pool);
    struct single single;
    prepare(&single, NULL);
    check(ilk_pool_submit(pool, &single.job));
    ilk_pool_destroy(pool);
}

static void destroy_with_timers(void *context) {
    ilk_pool *pool = pool_of(1);
    ilk_timer timer;
    ilk_timer_init(&timer, run_single, NULL);
    check_equal(ilk_pool_submit_at(pool, &timer, ILK_FOREVER), ILK_OK);
    ilk_pool_destroy(pool);
}

static void wait_for_own_pool(void *context) {
    check_equal(ilk_pool_wait_until(*(ilk_pool **)context, ILK_FOREVER), ILK_OK);
}
static void wait_idle_for_own_pool(void *context) {
    check_equal(ilk_pool_wait_idle_until(*(ilk_pool **)context, ILK_FOREVER), ILK_OK);
}
static void destroy_own_pool(void *context) {
    ilk_pool_destroy(*(ilk_pool **)context);
}

static void do_in_a_job(void (*function)(void *context)) {
    ilk_pool *pool = pool_of(1);
    ilk_group group = {0};
    ilk_job job;
    ilk_job_init(&job, function, &pool);
    ilk_job_set_group(&job, &group);
    check(ilk_pool_submit(pool, &job));
    group_await(&group);
}
static void wait_in_a_job(void *context) {
    do_in_a_job(wait_for_own_pool);
}
static void wait_idle_in_a_job(void *context) {
    do_in_a_job(wait_idle_for_own_pool);
}
static void destroy_in_a_job(void *context) {
    do_in_a_job(destroy_own_pool);
}
static void set_twice(void *context) {
    ilk_pool *pool = pool_of(1);
    ilk_timer timer;
    ilk_timer_init(&timer, run_single, NULL);
    check_equal(ilk_pool_submit_at(pool, &timer, ILK_FOREVER), ILK_OK);
    check_equal(ilk_pool_submit_at(pool, &timer, ILK_FOREVER), ILK_OK);
}
static void submit_unlike(void *context) {
    ilk_pool *pool = pool_of(1);
    struct single one, two;
    prepare(&one, NULL);
    prepare(&two, NULL);
    ilk_job_set_priority(&two.job, ILK_PRIORITY_LOW);
    ilk_job *const jobs[] = {&one.job, &two.job};
    check(ilk_pool_submit_many(pool, jobs, 2));
}
static void follow_twice(void *context) {
    ilk_pool *pool = pool_of(1);
    struct held held;
    hold_worker(&held, pool);
    ilk_group group = {0};
    struct single first, one, two;
    prepare(&first, &group);
    prepare(&one, NULL);
    prepare(&two, NULL);
    check(ilk_pool_submit(pool, &first.job));
    check(ilk_group_follow(&group, pool, &one.job));
    check(ilk_group_follow(&group, pool, &two.job));
}
static void share_group(void *context) {
    ilk_pool *pool = pool_of(1);
    struct held held;
    hold_worker(&held, pool);
    ilk_group group = {0};
    struct single one, two;
    prepare(&one, &group);
    prepare(&two, &group);
    check(ilk_pool_submit(pool, &one.job));
    check(ilk_pool_submit(pool_of(1), &two.job));
}
static void set_no_priority(void *context) {
    ilk_job job;
    ilk_job_init(&job, run_single, NULL);
    ilk_job_set_priority(&job, (ilk_priority)7);
}
/* contract: ilk_group_follow, ilk_job_set_priority, ilk_pool_cancel, ilk_pool_destroy, ilk_pool_submit_at */
/* contract: ilk_pool_submit_many, ilk_pool_wait_idle_until */
TEST(misuse_is_reported) {
    expect_misuse(destroy_with_jobs, NULL, "ilk_pool_destroy", "have not begun");
    expect_misuse(destroy_with_timers, NULL, "ilk_pool_destroy", "timers are set");
    expect_misuse(wait_in_a_job, NULL, "ilk_pool_wait_until", "own jobs");
    expect_misuse(wait_idle_in_a_job, NULL, "ilk_pool_wait_idle_until", "own jobs");
    expect_misuse(destroy_in_a_job, NULL, "ilk_pool_destroy", "own jobs");
    expect_misuse(set_twice, NULL, "ilk_pool_submit_at", "set already");
    expect_misuse(submit_unlike, NULL, "ilk_pool_submit_many", "unlike");
    expect_misuse(follow_twice, NULL, "ilk_group_follow", "already");
    expect_misuse(set_no_priority, NULL, "ilk_job_set_priority", "is no priority");
    expect_misuse(share_group, NULL, "ilk_pool_submit", "another pool");
}
