/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_pool: that each job runs once and sees what came before it, order and priorities, groups and followers, fork and
 * join, loops, timers. Closing, threads and fork(2) are in pool_ending_test.c and pool_threads_test.c.
 */
/* contract: pool.h */
#include "support/pool.h"
#include <interlock/pool.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* ---- Each job once ---- */

struct counted {
    ilk_job job;
    ilk_pool *pool;
    ILK_ATOMIC(uint32_t) * runs; /* of this job */
    struct counted *children;    /* that it submits */
    int child_count;
    ilk_group *group;
};

static void run_counted(void *context) {
    struct counted *counted = context;
    ilk_atomic_fetch_add(counted->runs, 1, memory_order_relaxed);
    for (int i = 0; i < counted->child_count; i++) {
        pool_submit_as(counted->pool, &counted->children[i].job, run_counted, &counted->children[i],
                       counted->group, (ilk_priority)(i % 3));
    }
}

enum { SUBMITTERS = 3, CHILDREN = 4 };

struct submitter {
    ilk_pool *pool;
    struct counted *jobs;
    int count;
    ilk_group *group;
};

static void submit_all(void *context) {
    struct submitter *submitter = context;
    for (int i = 0; i < submitter->count; i++) {
        pool_submit_as(submitter->pool, &submitter->jobs[i].job, run_counted, &submitter->jobs[i],
                       submitter->group, (ilk_priority)(i % 3));
    }
}

/* From several threads and from jobs, with stealing and overflowing deques: more children at once than fit. */
/* contract: ilk_pool_submit, pool.A */
TEST(every_job_runs_once) {
    const int count = stress_rounds(20000);
    ilk_pool *pool = pool_of(3);
    ilk_group group = {0};
    struct submitter submitters[SUBMITTERS];
    const size_t all = (size_t)count * (1 + CHILDREN) * SUBMITTERS;
    ILK_ATOMIC(uint32_t) *runs = calloc(all, sizeof *runs);
    struct counted *jobs = calloc(all, sizeof *jobs);
    check(runs != NULL && jobs != NULL);
    for (size_t i = 0; i < all; i++) {
        jobs[i] = (struct counted){.pool = pool, .runs = &runs[i], .group = &group};
    }
    for (int s = 0; s < SUBMITTERS; s++) {
        struct counted *first = jobs + (size_t)s * (size_t)count * (1 + CHILDREN);
        submitters[s] = (struct submitter){pool, first, count, &group};
        for (int i = 0; i < count; i++) {
            /* The last one has all the children of its submitter that are left: they overflow its deque. */
            const bool is_last = i == count - 1;
            const bool has_children = is_last || i % 2 == 0;
            first[i].children = first + count + (size_t)i * CHILDREN;
            first[i].child_count = has_children ? CHILDREN : 0;
        }
    }
    threads_run(SUBMITTERS, submit_all, submitters, sizeof *submitters);
    group_await(&group);
    for (int s = 0; s < SUBMITTERS; s++) {
        for (int i = 0; i < count; i++) {
            const struct counted *job = &submitters[s].jobs[i];
            check_equal(ilk_atomic_load(job->runs, memory_order_relaxed), 1);
            for (int child = 0; child < job->child_count; child++) {
                check_equal(ilk_atomic_load(job->children[child].runs, memory_order_relaxed), 1);
            }
        }
    }
    pool_end(pool);
    free(jobs);
    free(runs);
}

struct swarm {
    ilk_job job;
    ilk_pool *pool;
    struct counted *jobs;
    int count;
    ilk_group *group;
};

static void submit_swarm(void *context) {
    struct swarm *swarm = context;
    for (int i = 0; i < swarm->count; i++) {
        pool_submit(swarm->pool, &swarm->jobs[i].job, run_counted, &swarm->jobs[i], swarm->group);
    }
}
/* contract: pool.A */
TEST(a_job_may_submit_more_than_a_deque_holds) {
    enum { COUNT = 5000 };
    ilk_pool *pool = pool_of(2);
    ilk_group group = {0};
    static struct counted jobs[COUNT];
    static ILK_ATOMIC(uint32_t) runs[COUNT];
    for (int i = 0; i < COUNT; i++) {
        jobs[i] = (struct counted){.pool = pool, .runs = &runs[i]};
    }
    struct swarm swarm = {.pool = pool, .jobs = jobs, .count = COUNT, .group = &group};
    pool_submit(pool, &swarm.job, submit_swarm, &swarm, &group);
    group_await(&group);
    for (int i = 0; i < COUNT; i++) {
        check_equal(ilk_atomic_load(&runs[i], memory_order_relaxed), 1);
    }
    pool_end(pool);
}

struct plain {
    ilk_job job;
    int given, found;
};

static void read_given(void *context) {
    struct plain *plain = context;
    plain->found = plain->given; /* ThreadSanitizer looks at both */
}
/* contract: pool.B */
TEST(a_job_sees_what_was_done_before_and_its_waiter_what_it_did) {
    enum { COUNT = 64 };
    ilk_pool *pool = pool_of(2);
    for (int round = 0; round < stress_rounds(300); round++) {
        ilk_group group = {0};
        struct plain plain[COUNT];
        for (int i = 0; i < COUNT; i++) {
            plain[i].given = round + i;
            pool_submit_as(pool, &plain[i].job, read_given, &plain[i], &group, (ilk_priority)(i % 3));
        }
        group_await(&group);
        for (int i = 0; i < COUNT; i++) {
            check_equal(plain[i].found, round + i);
        }
    }
    pool_end(pool);
}

static void free_own_memory(void *context) {
    free(context);
}

TEST(a_job_may_free_itself) {
    ilk_pool *pool = pool_of(2);
    for (int i = 0; i < stress_rounds(2000); i++) {
        ilk_job *job = malloc(sizeof *job);
        check(job != NULL);
        pool_submit(pool, job, free_own_memory, job, NULL);
    }
    pool_end(pool);
}

/* ---- Order ---- */

/* A one-thread pool whose worker is held until the test has submitted what it wants to see the order of. */
struct order {
    ilk_pool *pool;
    ilk_job holder;
    struct stage held; /* 1: the worker is held; 2: it may go on */
    int log[4096];     /* numbers of jobs in the order in which they ran */
    int logged;
    struct numbered {
        ilk_job job;
        struct order *order;
        int number;
    } jobs[4096];
};

static void hold(void *context) {
    struct order *order = context;
    stage_reach(&order->held, 1);
    stage_await(&order->held, 2);
}

static void log_number(void *context) {
    struct numbered *numbered = context;
    numbered->order->log[numbered->order->logged++] = numbered->number; /* one worker */
}

static struct order *begin_order(void) {
    struct order *order = calloc(1, sizeof *order);
    check(order != NULL);
    order->held = (struct stage)STAGE_INIT;
    order->pool = pool_of(1);
    pool_submit_as(order->pool, &order->holder, hold, order, NULL, ILK_PRIORITY_HIGH);
    stage_await(&order->held, 1);
    return order;
}

static void add(struct order *order, int number, ilk_priority priority) {
    order->jobs[number] = (struct numbered){.order = order, .number = number};
    pool_submit_as(order->pool, &order->jobs[number].job, log_number, &order->jobs[number], NULL, priority);
}

static void finish_order(struct order *order) {
    stage_reach(&order->held, 2);
    pool_end(order->pool);
}
/* contract: ilk_pool_submit_many, pool.C */
TEST(jobs_of_one_priority_begin_in_order) {
    struct order *order = begin_order();
    for (int i = 0; i < 1000; i++) {
        add(order, i, ILK_PRIORITY_NORMAL);
    }
    ilk_job *many[1000];
    for (int i = 1000; i < 2000; i++) {
        order->jobs[i] = (struct numbered){.order = order, .number = i};
        ilk_job_init(&order->jobs[i].job, log_number, &order->jobs[i]);
        many[i - 1000] = &order->jobs[i].job;
    }
    check(ilk_pool_submit_many(order->pool, many, 1000));
    check(ilk_pool_submit_many(order->pool, many, 0));
    finish_order(order);
    check_equal(order->logged, 2000);
    bool seen[2000] = {false};
    for (int i = 0; i < 2000; i++) {
        check(!seen[order->log[i]]);
        seen[order->log[i]] = true;
        /* One job in sixteen comes from the front of the queue, past those that a refill moved to the deque. */
        check(abs(order->log[i] - i) <= 16);
    }
    free(order);
}
/* contract: ilk_group_init, ilk_job_init, ilk_job_set_group, ilk_job_set_priority, ilk_timer_init */
/* contract: ilk_timer_job, pool.D */
TEST(high_goes_before_normal_and_normal_before_low) {
    struct order *order = begin_order();
    add(order, 0, ILK_PRIORITY_LOW);
    add(order, 1, ILK_PRIORITY_NORMAL);
    add(order, 2, ILK_PRIORITY_HIGH);
    finish_order(order);
    check_equal(order->logged, 3);
    check_equal(order->log[0], 2);
    check_equal(order->log[1], 1);
    check_equal(order->log[2], 0);
    free(order);
}

/* Guarantee D: behind 3,000 HIGH jobs, LOW job k begins after at most 64 (k + 1) jobs, and NORMAL jobs come too. */
/* contract: pool.D */
TEST(no_priority_starves) {
    enum { HIGH = 3000, LOW = 20, NORMAL = 100 };
    struct order *order = begin_order();
    for (int i = 0; i < LOW; i++) {
        add(order, i, ILK_PRIORITY_LOW);
    }
    for (int i = 0; i < NORMAL; i++) {
        add(order, LOW + i, ILK_PRIORITY_NORMAL);
    }
    for (int i = 0; i < HIGH; i++) {
        add(order, LOW + NORMAL + i, ILK_PRIORITY_HIGH);
    }
    finish_order(order);
    check_equal(order->logged, HIGH + LOW + NORMAL);
    int low = 0, normal = 0;
    for (int i = 0; i < order->logged; i++) {
        if (order->log[i] < LOW) {
            check_equal(order->log[i], low);
            check(i <= 64 * (low + 1));
            low++;
        } else if (order->log[i] < LOW + NORMAL) {
            check(i <= 16 * (normal + 1) + 16 * (normal + 1) / 3 +
                           16); /* one in sixteen, but where that is LOW's */
            normal++;
        }
    }
    free(order);
}

/* ---- Age ---- */

static void do_nothing(void *context) {}

enum { MANY = 200 };

/* Jobs that wait beside one that submits itself again until all have begun. */
struct crowd {
    ilk_pool *pool;
    ilk_group group;
    ilk_job restless, host;
    ILK_ATOMIC(long) runs; /* of the restless one */
    ILK_ATOMIC(int) begun;
    int count;
    long begun_after[2 * MANY]; /* in runs of the restless job */
    struct waiting_job {
        ilk_job job;
        struct crowd *crowd;
    } jobs[2 * MANY];
    struct stage stage; /* 1: the host has a thread; 2: it has submitted; 3: it may end */
};

/* Far beyond every bound: the test fails instead of running for ever. */
enum { FAR_RUNS = 3000000 };

static void run_restless(void *context) {
    struct crowd *crowd = context;
    const long runs = ilk_atomic_fetch_add(&crowd->runs, 1, memory_order_relaxed) + 1;
    if (ilk_atomic_load(&crowd->begun, memory_order_relaxed) < crowd->count && runs < FAR_RUNS) {
        check(ilk_pool_submit(crowd->pool, &crowd->restless));
    }
}

static void begin_waiting_job(void *context) {
    struct waiting_job *waiting = context;
    struct crowd *crowd = waiting->crowd;
    crowd->begun_after[waiting - crowd->jobs] = ilk_atomic_load(&crowd->runs, memory_order_relaxed);
    ilk_atomic_fetch_add(&crowd->begun, 1, memory_order_relaxed);
}

static void submit_waiting(struct crowd *crowd, int index, ilk_priority priority) {
    crowd->jobs[index].crowd = crowd;
    pool_submit_as(crowd->pool, &crowd->jobs[index].job, begin_waiting_job, &crowd->jobs[index],
                   &crowd->group, priority);
}

static void host_all(void *context) {
    struct crowd *crowd = context;
    stage_reach(&crowd->stage, 1);
    for (int i = 0; i < crowd->count; i++) {
        submit_waiting(crowd, i, ILK_PRIORITY_NORMAL);
    }
    stage_reach(&crowd->stage, 2);
    stage_await(&crowd->stage, 3);
}

static struct crowd *make_crowd(uint32_t threads, int count) {
    struct crowd *crowd = calloc(1, sizeof *crowd);
    check(crowd != NULL);
    crowd->stage = (struct stage)STAGE_INIT;
    crowd->pool = pool_of(threads);
    crowd->count = count;
    return crowd;
}

/* The greatest number of runs before a job of `first` to `last` - 1, over its place. */
static void check_bound(const struct crowd *crowd, int first, int last, long base, long per_place) {
    for (int i = first; i < last; i++) {
        check(crowd->begun_after[i] <= base + per_place * (i - first + 1));
    }
}

static void end_crowd(struct crowd *crowd) {
    group_await(&crowd->group);
    pool_end(crowd->pool);
    check_equal(ilk_atomic_load(&crowd->begun, memory_order_relaxed), crowd->count);
}

static void hold_crowd(void *context) {
    struct crowd *crowd = context;
    stage_reach(&crowd->stage, 1);
    stage_await(&crowd->stage, 3);
}

/* Guarantee D for the inbox, a refilled deque and LOW jobs, beside a job that goes to the deque or comes as HIGH. */
/* contract: pool.D */
TEST(jobs_from_outside_begin_beside_one_that_submits_itself) {
    const ilk_priority priorities[] = {ILK_PRIORITY_NORMAL, ILK_PRIORITY_HIGH};
    for (int i = 0; i < 2; i++) {
        struct crowd *crowd = make_crowd(1, 2 * MANY);
        pool_submit_as(crowd->pool, &crowd->host, hold_crowd, crowd, NULL, ILK_PRIORITY_HIGH);
        stage_await(&crowd->stage, 1);
        ilk_job first; /* its refill takes some of the others to the deque */
        pool_submit(crowd->pool, &first, do_nothing, NULL, NULL);
        if (i == 0) {
            pool_submit_as(crowd->pool, &crowd->restless, run_restless, crowd, &crowd->group, priorities[i]);
        }
        for (int job = 0; job < 2 * MANY; job++) {
            submit_waiting(crowd, job, job < MANY ? ILK_PRIORITY_NORMAL : ILK_PRIORITY_LOW);
        }
        if (i == 1) {
            pool_submit_as(crowd->pool, &crowd->restless, run_restless, crowd, &crowd->group, priorities[i]);
        }
        stage_reach(&crowd->stage, 3);
        end_crowd(crowd);
        check_bound(crowd, 0, MANY, 1024, 64);
        check_bound(crowd, MANY, 2 * MANY, 0, 64);
        free(crowd);
    }
}

/* The same for jobs that a job has submitted: beneath its successor in its own deque. */
/* contract: pool.D */
TEST(jobs_of_a_job_begin_beside_one_that_submits_itself) {
    struct crowd *crowd = make_crowd(1, MANY);
    pool_submit(crowd->pool, &crowd->host, host_all, crowd, NULL);
    stage_await(&crowd->stage, 2);
    pool_submit(crowd->pool, &crowd->restless, run_restless, crowd, &crowd->group);
    stage_reach(&crowd->stage, 3);
    end_crowd(crowd);
    check_bound(crowd, 0, MANY, 16384, 0);
    free(crowd);
}

/* And in the deque of a worker that has been in one job ever since, while the only other one is never out of work. */
/* contract: pool.D */
TEST(jobs_in_a_busy_workers_deque_begin_on_another) {
    struct crowd *crowd = make_crowd(2, MANY), *holder = make_crowd(1, 0); /* of which the stage is used */
    ilk_job other;
    pool_submit(crowd->pool, &other, hold_crowd, holder, NULL);
    stage_await(&holder->stage, 1);
    pool_submit(crowd->pool, &crowd->host, host_all, crowd, NULL);
    stage_await(&crowd->stage, 2);
    pool_submit_as(crowd->pool, &crowd->restless, run_restless, crowd, &crowd->group, ILK_PRIORITY_HIGH);
    stage_reach(&holder->stage, 3); /* its worker has the restless job from here on */
    const uint64_t deadline = far_limit();
    while (ilk_atomic_load(&crowd->begun, memory_order_relaxed) < MANY &&
           ilk_atomic_load(&crowd->runs, memory_order_relaxed) < FAR_RUNS) {
        check(ilk_now_ns() < deadline);
        sched_yield();
    }
    stage_reach(&crowd->stage, 3);
    end_crowd(crowd);
    pool_end(holder->pool);
    check_bound(crowd, 0, MANY, 2 * 16384, 0);
    free(holder);
    free(crowd);
}

/* A job that comes by a timer, or when a job of another pool has ended. */
struct later {
    ilk_timer timer;
    ilk_group before;
    ilk_job first;
};

static void prepare_waiting(struct crowd *crowd, int index, ilk_job *job, ilk_priority priority) {
    crowd->jobs[index].crowd = crowd;
    ilk_job_set_priority(job, priority);
    ilk_job_set_group(job, &crowd->group);
}

static void set_waiting(struct crowd *crowd, int index, ilk_priority priority, struct later *later) {
    ilk_timer_init(&later->timer, begin_waiting_job, &crowd->jobs[index]);
    prepare_waiting(crowd, index, ilk_timer_job(&later->timer), priority);
    check_equal(ilk_pool_submit_at(crowd->pool, &later->timer, (uint64_t)index + 1),
                ILK_OK); /* due, in order */
}

static void follow_waiting(struct crowd *crowd, int index, ilk_priority priority, struct later *later,
                           ilk_pool *other) {
    pool_submit_as(other, &later->first, do_nothing, NULL, &later->before,
                   ILK_PRIORITY_HIGH); /* HIGH: in order */
    ilk_job_init(&crowd->jobs[index].job, begin_waiting_job, &crowd->jobs[index]);
    prepare_waiting(crowd, index, &crowd->jobs[index].job, priority);
    check(ilk_group_follow(&later->before, crowd->pool, &crowd->jobs[index].job));
}

static void await_no_timers(ilk_pool *pool) {
    const uint64_t deadline = far_limit();
    while (ilk_pool_get_info(pool).timers != 0) {
        check(ilk_now_ns() < deadline);
        sched_yield();
    }
}

enum route { BY_TIMER, AS_FOLLOWER };
enum { EACH = 100, PRIORITIES = 3 };

/*  worker                   this thread, beside the timers' thread, or another pool's
 *   is in the host
 *                            submits the restless job, then EACH jobs of each priority come in their order
 *   runs the restless job until all have begun                                                             */
static void expect_bounds(enum route route, ilk_priority of_restless) {
    static struct later later[PRIORITIES * EACH];
    memset(later, 0, sizeof later);
    struct crowd *crowd = make_crowd(1, PRIORITIES * EACH), *holder = make_crowd(1, 0);
    ilk_job first, held;
    pool_submit_as(crowd->pool, &crowd->host, hold_crowd, crowd, NULL, ILK_PRIORITY_HIGH);
    stage_await(&crowd->stage, 1);
    pool_submit_as(holder->pool, &held, hold_crowd, holder, NULL, ILK_PRIORITY_HIGH);
    stage_await(&holder->stage, 1);
    pool_submit(crowd->pool, &first, do_nothing, NULL, NULL); /* whose refill takes others */
    pool_submit_as(crowd->pool, &crowd->restless, run_restless, crowd, &crowd->group, of_restless);
    for (int i = 0; i < PRIORITIES * EACH; i++) {
        const ilk_priority priority = (ilk_priority)(i / EACH);
        if (route == BY_TIMER) {
            set_waiting(crowd, i, priority, &later[i]);
        } else {
            follow_waiting(crowd, i, priority, &later[i], holder->pool);
        }
    }
    ilk_timer last; /* taken out: the batch before it has been submitted */
    ilk_timer_init(&last, do_nothing, NULL);
    await_no_timers(crowd->pool);
    check_equal(ilk_pool_submit_at(crowd->pool, &last, 0), ILK_OK);
    await_no_timers(crowd->pool);
    stage_reach(&holder->stage, 3);
    pool_end(holder->pool);
    stage_reach(&crowd->stage, 3);
    end_crowd(crowd);
    check_bound(crowd, ILK_PRIORITY_NORMAL * EACH, (ILK_PRIORITY_NORMAL + 1) * EACH, 1024, 64);
    check_bound(crowd, ILK_PRIORITY_HIGH * EACH, (ILK_PRIORITY_HIGH + 1) * EACH, 0, 2);
    check_bound(crowd, ILK_PRIORITY_LOW * EACH, (ILK_PRIORITY_LOW + 1) * EACH, 0, 64);
    free(holder);
    free(crowd);
}
/* contract: pool.D */
TEST(timers_jobs_begin_beside_one_that_submits_itself) {
    expect_bounds(BY_TIMER, ILK_PRIORITY_NORMAL);
    expect_bounds(BY_TIMER, ILK_PRIORITY_HIGH);
}
/* contract: pool.D */
TEST(jobs_that_follow_begin_beside_one_that_submits_itself) {
    expect_bounds(AS_FOLLOWER, ILK_PRIORITY_NORMAL);
    expect_bounds(AS_FOLLOWER, ILK_PRIORITY_HIGH);
}

/* ---- Groups ---- */
/* contract: ilk_group_wait_until */
TEST(a_waiter_may_free_the_group_at_once) {
    ilk_pool *pool = pool_of(2);
    for (int round = 0; round < stress_rounds(3000); round++) {
        ilk_group *group = calloc(1, sizeof *group);
        struct plain plain[3];
        for (int i = 0; i < 3; i++) {
            pool_submit(pool, &plain[i].job, read_given, &plain[i], group);
        }
        group_await(group);
        free(group);
    }
    pool_end(pool);
}
/* contract: ilk_group_wait_until */
TEST(a_wait_for_a_group_times_out_not_early) {
    ilk_group group = {0};
    check_equal(ilk_group_wait_until(&group, 0), ILK_OK); /* no jobs */
    struct order *order = begin_order();
    struct plain plain;
    pool_submit(order->pool, &plain.job, read_given, &plain, &group);
    check_equal(ilk_group_wait_until(&group, 0), ILK_TIMEDOUT);
    const uint64_t deadline = ilk_deadline_in_ns(20 * 1000000);
    check_equal(ilk_group_wait_until(&group, deadline), ILK_TIMEDOUT);
    check(ilk_now_ns() >= deadline);
    finish_order(order);
    check_equal(ilk_group_wait_until(&group, 0), ILK_OK);
    free(order);
}

struct follower {
    ilk_job job;
    ilk_group done;
    struct plain *plain;
    int count, sum;
};

static void sum_up(void *context) {
    struct follower *follower = context;
    for (int i = 0; i < follower->count; i++) {
        follower->sum += follower->plain[i].found;
    }
}
/* contract: ilk_group_follow, pool.B */
TEST(a_follower_runs_after_the_last_job_and_sees_all) {
    enum { COUNT = 20 };
    ilk_pool *pool = pool_of(2);
    for (int round = 0; round < stress_rounds(1000); round++) {
        ilk_group group = {0};
        struct plain plain[COUNT];
        struct follower follower = {.plain = plain, .count = round % COUNT};
        for (int i = 0; i < follower.count; i++) {
            plain[i].given = 1;
            pool_submit(pool, &plain[i].job, read_given, &plain[i], &group);
        }
        ilk_job_init(&follower.job, sum_up, &follower);
        ilk_job_set_group(&follower.job, &follower.done);
        check(ilk_group_follow(&group, pool, &follower.job));
        group_await(&follower.done);
        check_equal(follower.sum, follower.count);
        check_equal(ilk_group_wait_until(&group, 0), ILK_OK);
    }
    pool_end(pool);
}

/* ---- Waiting workers ---- */

struct waiter {
    ilk_job job;
    ilk_pool *pool;
    int depth_left;
    ILK_ATOMIC(int) * deepest;
    struct waiter *next;
};

static _Thread_local int nested;

static void submit_next_and_wait(void *context) {
    struct waiter *waiter = context;
    nested++;
    int deepest = ilk_atomic_load(waiter->deepest, memory_order_relaxed);
    while (nested > deepest && !ilk_atomic_compare_exchange(waiter->deepest, &deepest, nested,
                                                            memory_order_relaxed, memory_order_relaxed)) {
    }
    if (waiter->depth_left > 0) {
        ilk_group group = {0};
        waiter->next->depth_left = waiter->depth_left - 1;
        pool_submit(waiter->pool, &waiter->next->job, submit_next_and_wait, waiter->next, &group);
        group_await(&group);
    }
    nested--;
}

/* One thread, and jobs that wait for jobs: 300 deep, while one stack holds ILK_POOL_HELP_DEPTH. */
/* contract: pool.G */
TEST(a_worker_that_waits_runs_jobs_on_top_to_a_bound) {
    enum { DEPTH = 300 };
    ilk_pool *pool = pool_of(1);
    static struct waiter waiters[DEPTH + 1];
    ILK_ATOMIC(int) deepest = 0;
    for (int i = 0; i <= DEPTH; i++) {
        waiters[i] =
            (struct waiter){.pool = pool, .deepest = &deepest, .next = &waiters[(i + 1) % (DEPTH + 1)]};
    }
    waiters[0].depth_left = DEPTH;
    ilk_group group = {0};
    pool_submit(pool, &waiters[0].job, submit_next_and_wait, &waiters[0], &group);
    group_await(&group);
    check_equal(ilk_atomic_load(&deepest, memory_order_relaxed), ILK_POOL_HELP_DEPTH);
    check(ilk_pool_get_info(pool).threads > 1);
    pool_end(pool);
}

/* ---- Fork and join ---- */

struct fibonacci {
    ilk_job job;
    ilk_pool *pool;
    int n;
    long result;
};

static void fibonacci(void *context) {
    struct fibonacci *self = context;
    if (self->n < 2) {
        self->result = self->n;
        return;
    }
    struct fibonacci one = {.pool = self->pool, .n = self->n - 1};
    struct fibonacci two = {.pool = self->pool, .n = self->n - 2};
    ilk_pool_fork(self->pool, &two.job, fibonacci, &two);
    fibonacci(&one);
    ilk_pool_join(self->pool, &two.job);
    self->result = one.result + two.result;
}
/* contract: ilk_pool_fork, ilk_pool_join */
TEST(forked_jobs_are_joined_with_their_results) {
    ilk_pool *pool = pool_of(3);
    for (int round = 0; round < stress_rounds(20); round++) {
        struct fibonacci root = {.pool = pool, .n = 18};
        ilk_group group = {0};
        pool_submit(pool, &root.job, fibonacci, &root, &group);
        group_await(&group);
        check_equal(root.result, 2584);
    }
    struct fibonacci outside = {.pool = pool, .n = 12};
    fibonacci(&outside); /* not the pool's thread: it runs all itself */
    check_equal(outside.result, 144);
    pool_end(pool);
}

/* ---- Loops ---- */

struct loop {
    ILK_ATOMIC(uint8_t) * visits;
    size_t longest;
    ILK_ATOMIC(size_t) longest_seen;
};

static void visit(void *context, size_t first, size_t end) {
    struct loop *loop = context;
    check(first < end);
    if (end - first > ilk_atomic_load(&loop->longest_seen, memory_order_relaxed)) {
        ilk_atomic_store(&loop->longest_seen, end - first, memory_order_relaxed);
    }
    for (size_t i = first; i < end; i++) {
        ilk_atomic_fetch_add(&loop->visits[i], 1, memory_order_relaxed);
        for (volatile size_t work = 0; work < i % 97 * (i % 1000 == 0 ? 1000 : 1); work++) { /* uneven */
        }
    }
}
/* contract: ilk_pool_for */
TEST(a_loop_visits_each_number_once) {
    enum { MOST = 20000 };
    static ILK_ATOMIC(uint8_t) visits[MOST];
    ilk_pool *pool = pool_of(3);
    const size_t grains[] = {0, 1, 7, MOST};
    for (size_t g = 0; g < sizeof grains / sizeof *grains; g++) {
        for (size_t count = 0; count <= MOST; count = count * 3 + 1) {
            struct loop loop = {.visits = visits};
            for (size_t i = 0; i < MOST; i++) {
                ilk_atomic_store(&visits[i], 0, memory_order_relaxed);
            }
            check(ilk_pool_for(pool, 0, count, grains[g], visit, &loop));
            for (size_t i = 0; i < MOST; i++) {
                check_equal(ilk_atomic_load(&visits[i], memory_order_relaxed), i < count);
            }
            check(grains[g] == 0 || ilk_atomic_load(&loop.longest_seen, memory_order_relaxed) <= grains[g]);
        }
    }
    pool_end(pool);
}

static void count_part(void *context, size_t first, size_t end) {
    ilk_atomic_fetch_add((ILK_ATOMIC(size_t) *)context, 1, memory_order_relaxed);
}
/* contract: ilk_pool_for */
TEST(the_parts_of_a_long_loop_are_longer_than_one_where_the_pool_chooses) {
    enum { LENGTH = 100000 };
    ilk_pool *pool = pool_of(1);
    ILK_ATOMIC(size_t) parts = 0; /* Relaxed: a number by itself; the loop's end orders it. */
    check(ilk_pool_for(pool, 0, LENGTH, 0, count_part, &parts));
    check(ilk_atomic_load(&parts, memory_order_relaxed) <= LENGTH / 2);
    pool_end(pool);
}

/* ---- Timers ---- */

struct timed {
    ilk_timer timer;
    uint64_t deadline_ns, ran_ns;
    ILK_ATOMIC(int) runs;
};

static void note_time(void *context) {
    struct timed *timed = context;
    timed->ran_ns = ilk_now_ns();
    ilk_atomic_fetch_add(&timed->runs, 1, memory_order_release);
}

static void set(ilk_pool *pool, struct timed *timed, uint64_t nanoseconds, ilk_group *group) {
    ilk_timer_init(&timed->timer, note_time, timed);
    ilk_job_set_group(ilk_timer_job(&timed->timer), group);
    timed->deadline_ns = ilk_deadline_in_ns(nanoseconds);
    check_equal(ilk_pool_submit_at(pool, &timed->timer, timed->deadline_ns), ILK_OK);
}

/* A thousand in a random order, every third taken back: the others run once, none early. */
/* contract: ilk_pool_cancel, ilk_pool_submit_at */
TEST(timers_run_once_and_not_early) {
    enum { COUNT = 1000 };
    static struct timed timed[COUNT];
    ilk_pool *pool = pool_of(2);
    ilk_group group = {0};
    uint32_t random = 7;
    bool cancelled[COUNT] = {false};
    for (int i = 0; i < COUNT; i++) {
        set(pool, &timed[i], next_random(&random) % 60000000, &group);
    }
    for (int i = 0; i < COUNT; i += 3) {
        cancelled[i] = ilk_pool_cancel(pool, &timed[i].timer);
        check(!ilk_pool_cancel(pool, &timed[i].timer));
    }
    group_await(&group);
    for (int i = 0; i < COUNT; i++) {
        check_equal(ilk_atomic_load(&timed[i].runs, memory_order_acquire), cancelled[i] ? 0 : 1);
        check(cancelled[i] || timed[i].ran_ns >= timed[i].deadline_ns);
        check(!ilk_pool_cancel(pool, &timed[i].timer));
    }
    check_equal(ilk_pool_get_info(pool).timers, 0);
    pool_end(pool);
}
/* contract: ilk_pool_cancel, ilk_pool_submit_at */
TEST(a_sooner_timer_moves_the_alarm) {
    ilk_pool *pool = pool_of(1);
    ilk_group soon = {0};
    static struct timed late, sooner;
    set(pool, &late, MILLISECONDS(3600000), NULL);
    set(pool, &sooner, 1000000, &soon);
    group_await(&soon);
    check_equal(ilk_atomic_load(&late.runs, memory_order_acquire), 0);
    check_equal(ilk_pool_get_info(pool).timers, 1);
    check(ilk_pool_cancel(pool, &late.timer));
    pool_end(pool);
}
/* contract: ilk_pool_cancel, ilk_pool_submit_at */
TEST(a_timer_may_be_set_again) {
    ilk_pool *pool = pool_of(1);
    static struct timed timed;
    set(pool, &timed, MILLISECONDS(3600000), NULL);
    check(ilk_pool_cancel(pool, &timed.timer));
    ilk_group group = {0};
    set(pool, &timed, 0, &group);
    group_await(&group);
    set(pool, &timed, 0, &group);
    group_await(&group);
    check_equal(ilk_atomic_load(&timed.runs, memory_order_acquire), 2);
    pool_end(pool);
}
/* contract: ilk_pool_cancel */
TEST(a_timer_that_was_never_set_is_not_taken_back) {
    ilk_pool *pool = pool_of(1);
    ilk_timer never, set;
    ilk_timer_init(&never, do_nothing, NULL);
    ilk_timer_init(&set, do_nothing, NULL);
    check(!ilk_pool_cancel(pool, &never)); /* the pool has no timers yet */
    check_equal(ilk_pool_submit_at(pool, &set, ILK_FOREVER), ILK_OK);
    check(!ilk_pool_cancel(pool, &never));
    check(ilk_pool_cancel(pool, &set));
    pool_end(pool);
}
