/* SPDX-License-Identifier: Apache-2.0
 *
 * What a worker does while its job waits: it runs jobs of what is waited for and no others, else another thread takes
 * its place, and where there is none it finds its jobs wherever they are. And waiting until a pool is idle.
 */
/* contract: pool.h */
#include "support/pool.h"
#include <interlock/interlock.h>
#include <interlock/pool.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void nothing(void *context) {}

/* Up on a thread while a job on it waits. */
static _Thread_local bool waits_below;

/* ---- Acyclic waits ---- */

struct chain {
    ilk_pool *pool;
    ilk_group of_a, of_x, all;
    ilk_job a, x, y;
};

static void wait_for_a(void *context) {
    struct chain *chain = context;
    group_await(&chain->of_a);
}

static void wait_for_x(void *context) {
    struct chain *chain = context;
    pool_submit_as(chain->pool, &chain->x, nothing, chain, &chain->of_x, ILK_PRIORITY_NORMAL);
    pool_submit_as(chain->pool, &chain->y, wait_for_a, chain, &chain->all, ILK_PRIORITY_NORMAL);
    group_await(&chain->of_x);
}

/*  A submits X, then Y, and waits for X. Y, last in the deque, waits for A: on top of A it would bury it. */
/* contract: pool.G */
TEST(waits_without_a_cycle_end) {
    for (uint32_t threads = 1; threads <= 3; threads++) {
        for (int round = 0; round < stress_rounds(100); round++) {
            ilk_pool *pool = pool_of(threads);
            struct chain chain = {.pool = pool};
            pool_submit_as(pool, &chain.a, wait_for_x, &chain, &chain.of_a, ILK_PRIORITY_NORMAL);
            group_await(&chain.of_a);
            group_await(&chain.all);
            pool_end(pool);
        }
    }
}

/* ---- Nothing else on top ---- */

enum kind { LOOP, GROUP, JOIN, KINDS };

struct outsider {
    ilk_pool *pool;
    enum kind kind;
    struct stage stage; /* 1: the other part has begun, elsewhere; 2: the outsider has run */
    ilk_group of_part;
    ilk_job part;
};

static void other_part(void *context) {
    struct outsider *outsider = context;
    stage_reach(&outsider->stage, 1);
    stage_await(&outsider->stage, 2);
}

static void loop_part(void *context, size_t first, size_t last) {
    if (first == 1) {
        other_part(context);
    } else {
        stage_await(&((struct outsider *)context)->stage, 1);
    }
}

static void wait_for_a_part(void *context) {
    struct outsider *outsider = context;
    waits_below = true; /* as if it had a lock */
    switch (outsider->kind) {
    case LOOP:
        check(ilk_pool_for(outsider->pool, 0, 2, 1, loop_part, outsider));
        break;
    case GROUP:
        pool_submit_as(outsider->pool, &outsider->part, other_part, outsider, &outsider->of_part,
                       ILK_PRIORITY_NORMAL);
        stage_await(&outsider->stage, 1);
        group_await(&outsider->of_part);
        break;
    default:
        ilk_pool_fork(outsider->pool, &outsider->part, other_part, outsider);
        stage_await(&outsider->stage, 1);
        ilk_pool_join(outsider->pool, &outsider->part);
    }
    waits_below = false;
}

static void run_outsider(void *context) {
    struct outsider *outsider = context;
    check(!waits_below);
    stage_reach(&outsider->stage, 2);
}

/*  job A                       another worker            this thread
 *  waits for a part            begins the part
 *                                                        submits an outsider
 *                              the part ends when the outsider has run: not on top of A, so on a third thread       */
/* contract: pool.G */
TEST(a_job_that_waits_has_no_others_on_top) {
    ilk_pool *pool = pool_of(2);
    for (enum kind kind = LOOP; kind < KINDS; kind++) {
        struct outsider outsider = {.pool = pool, .kind = kind, .stage = STAGE_INIT};
        ilk_group group = {0};
        ilk_job a, b;
        pool_submit_as(pool, &a, wait_for_a_part, &outsider, &group, ILK_PRIORITY_NORMAL);
        stage_await(&outsider.stage, 1);
        pool_submit_as(pool, &b, run_outsider, &outsider, &group, ILK_PRIORITY_NORMAL);
        group_await(&group);
    }
    pool_end(pool);
}

struct forks {
    ilk_pool *pool;
    ilk_job forked, its_own;
    struct stage stage; /* 1: the forked job has begun, elsewhere; 2: what it has forked has run */
};

static void run_its_own(void *context) {
    check(waits_below);
    stage_reach(context, 2);
}

static void fork_and_await(void *context) {
    struct forks *forks = context;
    ilk_pool_fork(forks->pool, &forks->its_own, run_its_own, &forks->stage);
    stage_reach(&forks->stage, 1);
    stage_await(&forks->stage, 2); /* joins only then: the other thread must have run it */
    ilk_pool_join(forks->pool, &forks->its_own);
}

static void fork_and_join_later(void *context) {
    struct forks *forks = context;
    ilk_pool_fork(forks->pool, &forks->forked, fork_and_await, forks);
    stage_await(&forks->stage, 1);
    waits_below = true;
    ilk_pool_join(forks->pool, &forks->forked);
    waits_below = false;
}
/* contract: pool.G */
TEST(a_join_runs_what_the_forked_job_has_forked_elsewhere) {
    ilk_pool *pool = pool_of_at_most(2);
    for (int round = 0; round < stress_rounds(100); round++) {
        struct forks forks = {.pool = pool, .stage = STAGE_INIT};
        ilk_group group = {0};
        ilk_job job;
        pool_submit_as(pool, &job, fork_and_join_later, &forks, &group, ILK_PRIORITY_NORMAL);
        group_await(&group);
    }
    pool_end(pool);
}

struct split {
    ilk_pool *pool;
    struct stage third_runs; /* 1: elsewhere; 2: the fourth runs */
};

static void run_number(void *context, size_t first, size_t last) {
    struct split *split = context;
    check_equal(last, first + 1);
    if (first == 0) {
        stage_await(&split->third_runs, 1);
    } else if (first == 2) {
        stage_reach(&split->third_runs, 1);
        stage_await(&split->third_runs, 2);
    } else if (first == 3) {
        stage_reach(&split->third_runs, 2);
    }
}

static void run_split(void *context) {
    struct split *split = context;
    check(ilk_pool_for(split->pool, 0, 4, 1, run_number, split));
}

/*  one worker                     another
 *   begins 0, offers 2 and 3
 *                                  takes them, begins 2, offers 3, and waits in 2 until 3 runs
 *   ends 0 and 1, waits for 2
 *   runs 3                                                                                          */
/* contract: pool.G */
TEST(a_loop_that_waits_runs_parts_that_were_split_off_elsewhere) {
    ilk_pool *pool = pool_of_at_most(2);
    for (int round = 0; round < stress_rounds(100); round++) {
        struct split split = {.pool = pool, .third_runs = STAGE_INIT};
        ilk_group group = {0};
        ilk_job job;
        pool_submit_as(pool, &job, run_split, &split, &group, ILK_PRIORITY_NORMAL);
        group_await(&group);
    }
    pool_end(pool);
}

/* ---- Where the jobs are ---- */

struct family {
    ilk_pool *pool;
    ilk_group children, all;
    ilk_job parent, child, strangers[2], late;
    ilk_priority priority;
    bool child_was_on_top;
};

static void run_child(void *context) {
    ((struct family *)context)->child_was_on_top = waits_below;
}

static void run_stranger(void *context) {
    check(!waits_below);
}

static void wait_for_child(void *context) {
    struct family *family = context;
    pool_submit_as(family->pool, &family->strangers[0], run_stranger, family, &family->all, family->priority);
    pool_submit_as(family->pool, &family->child, run_child, family, &family->children, family->priority);
    pool_submit_as(family->pool, &family->strangers[1], run_stranger, family, &family->all, family->priority);
    waits_below = true;
    group_await(&family->children);
    waits_below = false;
}

/* In its own deque, between others; or, where the only thread is its own, in the queues. */
/* contract: pool.G */
TEST(a_job_that_waits_finds_its_own_among_others) {
    const ilk_priority priorities[] = {ILK_PRIORITY_NORMAL, ILK_PRIORITY_HIGH, ILK_PRIORITY_LOW};
    for (int i = 0; i < 3; i++) {
        ilk_pool *pool = pool_of_at_most(1);
        struct family family = {.pool = pool, .priority = priorities[i]};
        pool_submit_as(pool, &family.parent, wait_for_child, &family, &family.all, ILK_PRIORITY_NORMAL);
        group_await(&family.all);
        check(family.child_was_on_top);
        pool_end(pool);
    }
}

static void wait_for_late(void *context) {
    struct family *family = context;
    waits_below = true;
    group_await(&family->children);
    waits_below = false;
}

/* The only thread sleeps already when the job comes: from outside, and from a timer. */
/* contract: pool.G */
TEST(a_job_that_waits_finds_one_that_comes_later) {
    for (int by_timer = 0; by_timer < 2; by_timer++) {
        ilk_pool *pool = pool_of_at_most(1);
        struct family family = {.pool = pool};
        ilk_timer far;
        ilk_timer_init(&far, nothing, NULL); /* so that the group has a job */
        ilk_job_set_group(ilk_timer_job(&far), &family.children);
        check_equal(ilk_pool_submit_at(pool, &far, ILK_FOREVER), ILK_OK);
        pool_submit_as(pool, &family.parent, wait_for_late, &family, &family.all, ILK_PRIORITY_NORMAL);
        pool_await_blocked(pool, 1);
        ilk_timer soon;
        if (by_timer == 1) {
            ilk_timer_init(&soon, run_child, &family);
            ilk_job_set_group(ilk_timer_job(&soon), &family.children);
            check_equal(ilk_pool_submit_at(pool, &soon, ilk_deadline_in_ns(1000000)), ILK_OK);
        } else {
            pool_submit_as(pool, &family.late, run_child, &family, &family.children, ILK_PRIORITY_NORMAL);
        }
        check(ilk_pool_cancel(pool, &far));
        group_await(&family.all);
        check(family.child_was_on_top);
        pool_end(pool);
    }
}

struct last_thread {
    struct family family;
    ilk_job other;
    ilk_latch waited;
    struct stage stage; /* 1: the other job has begun; 2: it may fill its deque and block */
};

static void fill_and_block(void *context) {
    struct last_thread *last = context;
    struct family *family = &last->family;
    stage_reach(&last->stage, 1);
    stage_await(&last->stage, 2);
    pool_submit_as(family->pool, &family->strangers[0], run_stranger, family, NULL, ILK_PRIORITY_NORMAL);
    pool_submit_as(family->pool, &family->child, run_child, family, &family->children, ILK_PRIORITY_NORMAL);
    pool_submit_as(family->pool, &family->strangers[1], run_stranger, family, NULL, ILK_PRIORITY_NORMAL);
    ilk_pool_will_block();
    check_equal(ilk_latch_wait_until(&last->waited, far_limit()), ILK_OK);
    ilk_pool_did_block();
}

static void wait_and_tell(void *context) {
    struct last_thread *last = context;
    wait_for_late(&last->family);
    ilk_latch_count_down(&last->waited);
}

/*  A, asleep for its child         B, the last thread that runs
 *                                  submits the child between two others, and blocks until A goes on
 *  finds it in B's deque                                                                                  */
/* contract: pool.G */
TEST(the_last_thread_that_blocks_lets_the_others_search) {
    ilk_pool *pool = pool_of_at_most(2);
    struct last_thread last = {.family = {.pool = pool}, .stage = STAGE_INIT};
    ilk_latch_init(&last.waited, 1);
    ilk_timer far;
    ilk_timer_init(&far, nothing, NULL);
    ilk_job_set_group(ilk_timer_job(&far), &last.family.children);
    check_equal(ilk_pool_submit_at(pool, &far, ILK_FOREVER), ILK_OK);
    pool_submit_as(pool, &last.other, fill_and_block, &last, &last.family.all, ILK_PRIORITY_NORMAL);
    stage_await(&last.stage, 1);
    pool_submit_as(pool, &last.family.parent, wait_and_tell, &last, &last.family.all, ILK_PRIORITY_NORMAL);
    pool_await_blocked(pool, 1);
    stage_reach(&last.stage, 2);
    pool_await_blocked(pool, 2);
    check(ilk_pool_cancel(pool, &far));
    group_await(&last.family.all);
    check(last.family.child_was_on_top);
    pool_end(pool);
}

struct surrounded {
    struct family family;
    ilk_job held, before[20]; /* more than a refill takes */
    struct stage stage;       /* 1: the worker is held; 2: no more */
};

static void hold_worker(void *context) {
    struct surrounded *surrounded = context;
    stage_reach(&surrounded->stage, 1);
    stage_await(&surrounded->stage, 2);
}

/* The child and its neighbours are LOW. Its parent comes with others, of which a part is in the backlog then, and of
 * NORMAL ones another in the deque. */
/* contract: pool.G */
TEST(a_search_loses_no_other_job) {
    const ilk_priority priorities[] = {ILK_PRIORITY_NORMAL, ILK_PRIORITY_LOW};
    for (int i = 0; i < 2; i++) {
        ilk_pool *pool = pool_of_at_most(1);
        struct surrounded around = {.family = {.pool = pool, .priority = ILK_PRIORITY_LOW},
                                    .stage = STAGE_INIT};
        struct family *family = &around.family;
        pool_submit_as(pool, &around.held, hold_worker, &around, NULL, ILK_PRIORITY_HIGH);
        stage_await(&around.stage, 1);
        pool_submit_as(pool, &family->parent, wait_for_child, family, &family->all, priorities[i]);
        for (int before = 0; before < 20; before++) {
            pool_submit_as(pool, &around.before[before], run_stranger, family, &family->all, priorities[i]);
        }
        stage_reach(&around.stage, 2);
        group_await(&family->all);
        check(family->child_was_on_top);
        pool_end(pool);
    }
}

struct two_waits {
    struct family families[2];
    ilk_timer far[2]; /* so that the groups have jobs */
};

/*  A, asleep for its job      B, asleep for its own, later: all threads are blocked
 *  the job of A comes: A finds it, though B sleeps as well; then B's                                      */
/* contract: pool.G */
TEST(every_job_that_sleeps_where_all_are_blocked_is_woken) {
    ilk_pool *pool = pool_of_at_most(2);
    struct two_waits waits = {.families = {{.pool = pool}, {.pool = pool}}};
    for (uint32_t i = 0; i < 2; i++) {
        struct family *family = &waits.families[i];
        ilk_timer_init(&waits.far[i], nothing, NULL);
        ilk_job_set_group(ilk_timer_job(&waits.far[i]), &family->children);
        check_equal(ilk_pool_submit_at(pool, &waits.far[i], ILK_FOREVER), ILK_OK);
        pool_submit_as(pool, &family->parent, wait_for_late, family, &family->all, ILK_PRIORITY_NORMAL);
        pool_await_blocked(pool, i + 1);
    }
    for (int i = 0; i < 2; i++) {
        struct family *family = &waits.families[i];
        pool_submit_as(pool, &family->late, run_child, family, &family->children, ILK_PRIORITY_NORMAL);
        check(ilk_pool_cancel(pool, &waits.far[i]));
        group_await(&family->all);
    }
    pool_end(pool);
}

/* ---- Limits ---- */

static void wait_until_now_for_child(void *context) {
    struct family *family = context;
    pool_submit_as(family->pool, &family->child, run_child, family, &family->children, ILK_PRIORITY_NORMAL);
    waits_below = true;
    check_equal(ilk_group_wait_until(&family->children, ilk_now_ns()), ILK_TIMEDOUT);
    waits_below = false;
}
/* contract: ilk_group_wait_until */
TEST(a_job_that_waits_begins_no_other_after_its_limit) {
    ilk_pool *pool = pool_of_at_most(1);
    struct family family = {.pool = pool};
    pool_submit_as(pool, &family.parent, wait_until_now_for_child, &family, &family.all, ILK_PRIORITY_NORMAL);
    group_await(&family.all);
    group_await(&family.children);
    check(!family.child_was_on_top);
    pool_end(pool);
}

struct slow_child {
    ilk_pool *pool;
    ilk_group children, all;
    ilk_job child, parent;
    struct stage runs; /* 1: the child runs; 2: it may end */
};
static void run_until_told(void *context) {
    struct slow_child *self = context;
    stage_reach(&self->runs, 1);
    stage_await(&self->runs, 2);
}
static void wait_at_most_a_moment(void *context) {
    struct slow_child *self = context;
    pool_submit(self->pool, &self->child, run_until_told, self, &self->children);
    stage_await(&self->runs, 1);
    check_equal(ilk_group_wait_until(&self->children, ilk_deadline_in_ns(MILLISECONDS(5))), ILK_TIMEDOUT);
    stage_reach(&self->runs, 2);
    group_await(&self->children);
}
/* contract: ilk_group_wait_until */
TEST(a_job_that_waits_for_one_that_runs_ends_at_its_limit) {
    struct slow_child self = {.pool = pool_of_at_most(2), .runs = STAGE_INIT};
    pool_submit(self.pool, &self.parent, wait_at_most_a_moment, &self, &self.all);
    group_await(&self.all);
    pool_end(self.pool);
}

/* ---- Between will_block and did_block ---- */

static void block_for_child(void *context) {
    struct family *family = context;
    pool_submit_as(family->pool, &family->child, run_child, family, &family->children, ILK_PRIORITY_NORMAL);
    ilk_pool_will_block();
    waits_below = true;
    group_await(&family->children);
    waits_below = false;
    ilk_pool_did_block();
}

/* A worker that took it itself would be faster than the thread that has to wake up: planted, it fails at once. */
/* contract: pool.G */
TEST(between_will_and_did_block_a_wait_runs_nothing) {
    ilk_pool *pool = pool_of(1);
    for (int round = 0; round < stress_rounds(200); round++) {
        struct family family = {.pool = pool};
        pool_submit_as(pool, &family.parent, block_for_child, &family, &family.all, ILK_PRIORITY_NORMAL);
        group_await(&family.all);
        check(!family.child_was_on_top);
    }
    pool_end(pool);
}

struct thief {
    ilk_pool *pool;
    ilk_group all;
    ilk_job parent, forked, child;
    struct stage stage; /* 1: the thief has the forked job; 2: the parent is about to join it */
    struct thread parents;
    bool child_was_on_top;
};
static void see_where(void *context) {
    ((struct thief *)context)->child_was_on_top = waits_below;
}
static void fork_until_the_parent_sleeps(void *context) {
    struct thief *self = context;
    ilk_pool_fork(self->pool, &self->child, see_where, self);
    stage_reach(&self->stage, 1);
    stage_await(&self->stage, 2);
    const uint64_t deadline = far_limit();
    while (!thread_sleeps(&self->parents)) {
        check(ilk_now_ns() < deadline);
        sched_yield();
    }
    ilk_pool_join(self->pool, &self->child);
}
static void join_what_was_stolen(void *context) {
    struct thief *self = context;
    self->parents.kernel_id = (pid_t)syscall(SYS_gettid);
    ilk_pool_fork(self->pool, &self->forked, fork_until_the_parent_sleeps, self);
    stage_await(&self->stage, 1);
    ilk_pool_will_block();
    waits_below = true;
    stage_reach(&self->stage, 2);
    ilk_pool_join(self->pool, &self->forked);
    waits_below = false;
    ilk_pool_did_block();
}

/*  parent                thief
 *   forks
 *                        steals the forked job, which forks a child
 *   will_block
 *   joins: sleeps
 *                        runs the child: the parent does not, though it could steal it */
/* contract: ilk_pool_join, pool.G */
TEST(between_will_and_did_block_a_join_runs_nothing) {
    struct thief self = {.pool = pool_of_at_most(2), .stage = STAGE_INIT};
    pool_submit(self.pool, &self.parent, join_what_was_stolen, &self, &self.all);
    group_await(&self.all);
    check(!self.child_was_on_top);
    pool_end(self.pool);
}

/* ---- Groups of a pool that is gone ---- */

/* A worker has slept for the group, whose pool is destroyed: AddressSanitizer sees what a follower touches. */
/* contract: ilk_group_follow */
TEST(a_job_may_follow_a_group_whose_pool_is_gone) {
    ilk_pool *first = pool_of(2), *second = pool_of(1);
    struct outsider outsider = {.pool = first, .kind = GROUP, .stage = STAGE_INIT};
    ilk_group group = {0}, done = {0};
    ilk_job waiter, follower;
    pool_submit_as(first, &waiter, wait_for_a_part, &outsider, &group, ILK_PRIORITY_NORMAL);
    pool_await_blocked(first, 1);
    stage_reach(&outsider.stage, 2);
    group_await(&group);
    pool_end(first);
    ilk_job_init(&follower, nothing, NULL);
    ilk_job_set_group(&follower, &done);
    check(ilk_group_follow(&outsider.of_part, second, &follower));
    group_await(&done);
    pool_end(second);
}

/* ---- Idle ---- */

enum { GENERATIONS = 6 };

struct offspring {
    ilk_pool *pool;
    ILK_ATOMIC(int) ended;
    struct member {
        ilk_timer timer; /* or its job alone */
        struct offspring *offspring;
        ilk_job follower;
        ilk_group group;
        int generation;
    } members[GENERATIONS];
};

static void end_member(void *context) {
    struct member *member = context;
    ilk_atomic_fetch_add(&member->offspring->ended, 1, memory_order_relaxed);
}

static void begin_member(struct offspring *offspring, int generation);

static void run_member(void *context) {
    struct member *member = context;
    if (member->generation + 1 < GENERATIONS) {
        begin_member(member->offspring, member->generation + 1);
    }
    end_member(member);
}

/* In turn as a job, as a timer's job, and as one that a job follows. */
static void begin_member(struct offspring *offspring, int generation) {
    struct member *member = &offspring->members[generation];
    *member = (struct member){.offspring = offspring, .generation = generation};
    ilk_timer_init(&member->timer, run_member, member);
    if (generation % 3 == 1) {
        check_equal(ilk_pool_submit_at(offspring->pool, &member->timer, ilk_deadline_in_ns(200000)), ILK_OK);
        return;
    }
    ilk_job *job = ilk_timer_job(&member->timer);
    ilk_job_set_group(job, &member->group);
    check(ilk_pool_submit(offspring->pool, job));
    if (generation % 3 == 2) {
        ilk_job_init(&member->follower, end_member, member);
        check(ilk_group_follow(&member->group, offspring->pool, &member->follower));
    }
}
/* contract: ilk_pool_wait_idle_until */
TEST(idle_is_when_jobs_timers_and_followers_have_ended) {
    ilk_pool *pool = pool_of(2);
    check_equal(ilk_pool_wait_idle_until(pool, far_limit()), ILK_OK);
    for (int round = 0; round < stress_rounds(300); round++) {
        struct offspring offspring = {.pool = pool};
        begin_member(&offspring, 0);
        check_equal(ilk_pool_wait_idle_until(pool, far_limit()), ILK_OK);
        check_equal(ilk_atomic_load(&offspring.ended, memory_order_relaxed), GENERATIONS + GENERATIONS / 3);
    }
    pool_end(pool);
}

struct idle_waiter {
    ilk_pool *pool;
    struct thread thread;
};

/* Woken: at its limit it would see the pool idle as well. */
static void wait_idle(void *context) {
    const struct idle_waiter *waiter = context;
    const uint64_t deadline = far_limit();
    check_equal(ilk_pool_wait_idle_until(waiter->pool, deadline), ILK_OK);
    check(ilk_now_ns() < deadline);
}

static void await_no_threads(ilk_pool *pool) {
    const uint64_t deadline = far_limit();
    while (ilk_pool_get_info(pool).threads != 0) {
        check(ilk_now_ns() < deadline);
        sched_yield();
    }
}

static void begin_to_wait_idle(struct idle_waiter *waiter) {
    thread_start(&waiter->thread, wait_idle, waiter);
    thread_await_sleep(&waiter->thread);
}
/* contract: ilk_pool_wait_idle_until */
TEST(a_pool_with_a_timer_is_idle_when_that_is_cancelled) {
    ilk_pool *pool = pool_of(1);
    ilk_timer timer;
    ilk_timer_init(&timer, nothing, NULL);
    check_equal(ilk_pool_submit_at(pool, &timer, ILK_FOREVER), ILK_OK);
    struct idle_waiter waiter = {.pool = pool};
    begin_to_wait_idle(&waiter);
    /* Another thread has waited, and given up: the first one waits on. */
    check_equal(ilk_pool_wait_idle_until(pool, ilk_deadline_in_ns(1000000)), ILK_TIMEDOUT);
    check(ilk_pool_cancel(pool, &timer));
    thread_join(&waiter.thread);
    pool_end(pool);
}

struct handing_back {
    ilk_pool *pool;
    ilk_job first, second;
    ilk_group of_second;
    struct stage first_runs; /* 1: begun; 2: it may end */
    struct stage second_is_handed_back;
};

static void hold_first(void *context) {
    struct handing_back *handing = context;
    stage_reach(&handing->first_runs, 1);
    stage_await(&handing->first_runs, 2);
}

static void hold_second(void *context, ilk_job *job) {
    struct handing_back *handing = context;
    check(job == &handing->second);
    stage_reach(&handing->second_is_handed_back, 1);
    stage_await(&handing->second_is_handed_back, 2);
}

static void close_now(void *context) {
    struct handing_back *handing = context;
    ilk_pool_close_now(handing->pool, hold_second, handing);
}

/*  worker          close_now                  waiting thread
 *   runs the first
 *                   hands the second back
 *                                              sleeps
 *   ends, and so does its thread
 *                                              not idle yet
 *                   ends                       idle                  */
/* contract: ilk_pool_close, ilk_pool_close_now, ilk_pool_wait_idle_until, ilk_pool_wait_until */
TEST(a_pool_is_idle_and_a_group_over_when_all_is_handed_back) {
    ilk_pool *pool = pool_of_at_most(1);
    struct handing_back handing = {
        .pool = pool, .first_runs = STAGE_INIT, .second_is_handed_back = STAGE_INIT};
    pool_submit_as(pool, &handing.first, hold_first, &handing, NULL, ILK_PRIORITY_NORMAL);
    stage_await(&handing.first_runs, 1);
    pool_submit_as(pool, &handing.second, nothing, NULL, &handing.of_second, ILK_PRIORITY_NORMAL);
    struct thread closer;
    thread_start(&closer, close_now, &handing);
    stage_await(&handing.second_is_handed_back, 1);
    struct idle_waiter waiter = {.pool = pool};
    begin_to_wait_idle(&waiter);
    stage_reach(&handing.first_runs, 2);
    await_no_threads(pool);
    check_equal(ilk_pool_wait_idle_until(pool, ilk_now_ns()), ILK_TIMEDOUT);
    check_equal(ilk_group_wait_until(&handing.of_second, ilk_now_ns()), ILK_TIMEDOUT);
    stage_reach(&handing.second_is_handed_back, 2);
    thread_join(&waiter.thread);
    thread_join(&closer);
    group_await(&handing.of_second);
    pool_end(pool);
}

/* ---- Waits for another pool ---- */

struct other_pool {
    ilk_pool *pool;
    bool is_closed;
    struct stage stage;
};

static void wait_for_other_pool(void *context) {
    struct other_pool *other = context;
    check_equal(other->is_closed ? ilk_pool_wait_until(other->pool, far_limit())
                                 : ilk_pool_wait_idle_until(other->pool, far_limit()),
                ILK_OK);
}
static void await_stage(void *context) {
    stage_await(&((struct other_pool *)context)->stage, 1);
}
static void reach_stage(void *context) {
    stage_reach(&((struct other_pool *)context)->stage, 1);
}

/* The other pool ends when a job has run that stands behind the one that waits. */
TEST(a_wait_for_another_pool_lets_a_thread_take_over) {
    for (int is_closed = 0; is_closed < 2; is_closed++) {
        ilk_pool *pool = pool_of(1);
        struct other_pool other = {.pool = pool_of(1), .is_closed = is_closed == 1, .stage = STAGE_INIT};
        ilk_job waited, waiter, behind;
        ilk_group group = {0};
        pool_submit_as(other.pool, &waited, await_stage, &other, NULL, ILK_PRIORITY_NORMAL);
        if (other.is_closed) {
            ilk_pool_close(other.pool);
        }
        pool_submit_as(pool, &waiter, wait_for_other_pool, &other, &group, ILK_PRIORITY_NORMAL);
        pool_submit_as(pool, &behind, reach_stage, &other, &group, ILK_PRIORITY_NORMAL);
        group_await(&group);
        pool_end(other.pool);
        pool_end(pool);
    }
}

/* ---- A lock that is held over a wait ---- */

struct locked_wait {
    ilk_pool *pool;
    ilk_mutex mutex;
    ilk_group awaited, all;
    ilk_job low, high, holder;
};

static void want_the_lock(void *context) {
    struct locked_wait *self = context;
    ilk_pool_will_block();
    ilk_mutex_lock(&self->mutex);
    ilk_pool_did_block();
    ilk_mutex_unlock(&self->mutex);
}

static void wait_under_the_lock(void *context) {
    struct locked_wait *self = context;
    ilk_mutex_lock(&self->mutex);
    pool_submit_as(self->pool, &self->low, nothing, NULL, &self->awaited, ILK_PRIORITY_LOW);
    pool_submit_as(self->pool, &self->high, want_the_lock, self, &self->all, ILK_PRIORITY_HIGH);
    group_await(&self->awaited);
    ilk_mutex_unlock(&self->mutex);
}

/* The thread that takes over begins the HIGH job first, which wants the lock. */
/* contract: pool.G */
TEST(a_lock_may_be_held_over_a_wait_where_jobs_that_want_it_call_will_block) {
    for (int round = 0; round < stress_rounds(100); round++) {
        ilk_pool *pool = pool_of(1);
        struct locked_wait self = {.pool = pool};
        ilk_mutex_init(&self.mutex, false);
        pool_submit_as(pool, &self.holder, wait_under_the_lock, &self, &self.all, ILK_PRIORITY_NORMAL);
        group_await(&self.all);
        pool_end(pool);
    }
}
