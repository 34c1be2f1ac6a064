/* SPDX-License-Identifier: Apache-2.0
 *
 * What is bounded in an ilk_pool: jobs at a time after some have blocked, and how long timers keep other calls from the
 * timers' mutex. The linker puts this file in front of the submission of a timer's job (--wrap).
 */
/* contract: pool.h */
#include "pool/pool.h"
#include "support/pool.h"
#include <interlock/interlock.h>
#include <interlock/pool.h>
#include <sched.h>
#include <stdlib.h>

/* ---- Jobs at a time ---- */

struct again {
    ilk_pool *pool;
    ilk_job job;
    ilk_group *group;
    struct stage *other; /* NULL: the job does not block first */
    struct stage runs;   /* 1: for the first time */
    ILK_ATOMIC(bool) * ends;
    ILK_ATOMIC(uint32_t) count;
};

/* Its worker's own deque is never empty between two of its jobs. */
static void submit_itself(void *context) {
    struct again *again = context;
    if (ilk_atomic_fetch_add(&again->count, 1, memory_order_relaxed) == 0) {
        if (again->other != NULL) {
            ilk_pool_will_block();
            stage_reach(&again->runs, 1);
            stage_await(again->other, 1);
            ilk_pool_did_block();
        }
        stage_reach(&again->runs, 1);
    }
    if (!ilk_atomic_load(again->ends, memory_order_relaxed)) {
        check(ilk_pool_submit(again->pool, &again->job));
    }
}

static void begin(struct again *again) {
    ilk_job_init(&again->job, submit_itself, again);
    ilk_job_set_group(&again->job, again->group);
    check(ilk_pool_submit(again->pool, &again->job));
    stage_await(&again->runs, 1);
}

/*  first thread         second thread
 *   job blocks
 *                        another job runs, again and again
 *   goes on, and runs
 *   again and again
 *                        one of the two becomes spare, and ends */
TEST(a_pool_runs_no_more_jobs_than_threads_once_a_job_has_blocked) {
    ilk_pool *pool = pool_make((ilk_pool_options){.threads = 1, .idle_ns = MILLISECONDS(1)});
    ILK_ATOMIC(bool) ends = false;
    ilk_group group = {0};
    struct again other = {.pool = pool, .group = &group, .runs = STAGE_INIT, .ends = &ends};
    struct again first = {
        .pool = pool, .group = &group, .runs = STAGE_INIT, .ends = &ends, .other = &other.runs};
    begin(&first);
    begin(&other);
    const uint64_t deadline = far_limit();
    while (ilk_pool_get_info(pool).threads != 1) {
        check(ilk_now_ns() < deadline);
        sched_yield();
    }
    ilk_atomic_store(&ends, true, memory_order_relaxed);
    group_await(&group);
    pool_end(pool);
}

/* ---- Timers ---- */

static struct stage hand_over = STAGE_INIT; /* 1: a timer's job is to be submitted; 2: it may be */
static bool holds_hand_over;

void __real_ilk__pool_push_outstanding(ilk_pool *pool, ilk_job *job);
void __wrap_ilk__pool_push_outstanding(ilk_pool *pool, ilk_job *job);

void __wrap_ilk__pool_push_outstanding(ilk_pool *pool, ilk_job *job) {
    if (holds_hand_over && stage_now(&hand_over) == 0) {
        stage_reach(&hand_over, 1);
        stage_await(&hand_over, 2);
    }
    __real_ilk__pool_push_outstanding(pool, job);
}

static void nothing(void *unused) {}

static void set(ilk_pool *pool, ilk_timer *timer, ilk_group *group, uint64_t deadline_ns) {
    ilk_timer_init(timer, nothing, NULL);
    ilk_job_set_group(ilk_timer_job(timer), group);
    check_equal(ilk_pool_submit_at(pool, timer, deadline_ns), ILK_OK);
}

/*  timers' thread              another thread
 *   takes a batch out
 *   is to submit the first
 *                              sets a timer, takes it back, and one of those that are due: it waits for nothing
 *   submits */
/* contract: ilk_pool_submit_at */
TEST(timers_are_handed_over_in_batches) {
    enum { TIMERS = 1000, BATCH_MOST = 64 };
    static ilk_timer timers[TIMERS];
    ilk_timer later;
    ilk_group group = {0};
    ilk_pool *pool = pool_make((ilk_pool_options){.threads = 1});
    holds_hand_over = true;
    const uint64_t due = ilk_deadline_in_ns(MILLISECONDS(20)); /* most are set by then */
    for (int i = 0; i < TIMERS; i++) {
        set(pool, &timers[i], &group, due);
    }
    stage_await(&hand_over, 1);
    set(pool, &later, NULL, ILK_FOREVER);
    check(ilk_pool_get_info(pool).timers >= TIMERS - BATCH_MOST + 1);
    check(ilk_pool_cancel(pool, &later));
    stage_reach(&hand_over, 2);
    group_await(&group);
    check_equal(ilk_pool_get_info(pool).timers, 0);
    pool_end(pool);
}

enum { MANY = 100000, CHILDREN_MOST = 64 };

/* To take a timer out melds its children. */
static void expect_few_children(const ilk_timer *timers) {
    for (int i = 0; i < MANY; i++) {
        int children = 0;
        for (const ilk_timer *child = timers[i].child; child != NULL; child = child->sibling) {
            children++;
        }
        check(children <= CHILDREN_MOST);
    }
}

enum order { AS_ONE, ASCENDING, DESCENDING, RANDOM, ORDERS };

static uint64_t in_order(enum order order, int i, uint32_t *random) {
    const uint64_t second = MILLISECONDS(1000);
    const uint64_t far = ilk_deadline_in_ns(3600 * second) / second * second;
    const int places[ORDERS] = {0, i, -i, (int)(next_random(random) % MANY)};
    return far + (uint64_t)(MANY + places[order]);
}

struct handed_back {
    const ilk_timer *timers;
    ILK_ATOMIC(uint32_t) counts[MANY];
};

static void count_back(void *context, ilk_job *job) {
    struct handed_back *back = context;
    /* The job is the timer's first member. */
    ilk_atomic_fetch_add(&back->counts[(const ilk_timer *)(const void *)job - back->timers], 1,
                         memory_order_relaxed);
}

/* Neither setting many nor cancelling many, in any order, leaves a timer that is dear to take out; and each is taken
 * out once. */
/* contract: ilk_pool_submit_at */
TEST(no_timer_is_dear_to_take_out) {
    ilk_timer *timers = calloc(MANY, sizeof *timers);
    struct handed_back *back = calloc(1, sizeof *back);
    check(timers != NULL && back != NULL);
    back->timers = timers;
    for (enum order order = AS_ONE; order < ORDERS; order++) {
        ilk_pool *pool = pool_make((ilk_pool_options){.threads = 1});
        uint32_t random = 20261124 + order;
        check_during("order and seed", random);
        for (int i = 0; i < MANY; i++) {
            set(pool, &timers[i], NULL, in_order(order, i, &random));
        }
        expect_few_children(timers);
        for (int i = 0; i < MANY; i++) {
            if (i == 0 ||
                next_random(&random) % 2 == 0) { /* the first: another of the same deadline is the soonest */
                check(ilk_pool_cancel(pool, &timers[i]));
            }
        }
        expect_few_children(timers);
        for (int i = 0; i < MANY; i++) {
            if (timers[i].pool == NULL) {
                set(pool, &timers[i], NULL, in_order(order, i, &random));
            }
        }
        expect_few_children(timers);
        ilk_pool_close_now(pool, count_back, back);
        check_equal(ilk_pool_get_info(pool).timers, 0);
        pool_end(pool);
        for (int i = 0; i < MANY; i++) {
            check_equal(ilk_atomic_load(&back->counts[i], memory_order_relaxed), order + 1);
        }
        check_during(NULL, 0);
    }
    free(back);
    free(timers);
}
