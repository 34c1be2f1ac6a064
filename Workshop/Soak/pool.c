/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool: every job runs once, or is handed back once; groups, loops, forked jobs and timers end complete.
 */
#include "soak.h"

enum { JOBS = 40, TIMERS = 8, NUMBERS = 500 };

struct workers {
    ilk_pool *pool;
};

static void set_up_pool(void *state, int variant) {
    struct workers *me = state;
    (void)variant;
    while (me->pool == NULL) {
        const ilk_pool_options options = {
            .threads = 1 + chance(4), .kept_threads = 1, .idle_ns = chance(2) == 0 ? 1000000 : 0};
        at("ilk_pool_create");
        ilk_status status = ilk_pool_create(&me->pool, &options);
        expect(status == ILK_OK || status == ILK_NOMEM);
    }
}

struct counted {
    ilk_job job;
    _Atomic(int) ran, handed_back;
};

static void run_counted(void *counted) {
    atomic_fetch_add(&((struct counted *)counted)->ran, 1);
}

static void hand_back(void *unused, ilk_job *job) {
    (void)unused;
    atomic_fetch_add(&((struct counted *)job)->handed_back, 1); /* the job is its first field */
}

static void prepare(struct counted *jobs, ilk_group *group) {
    for (int i = 0; i < JOBS; i++) {
        jobs[i].ran = jobs[i].handed_back = 0;
        ilk_job_init(&jobs[i].job, run_counted, &jobs[i]);
        ilk_job_set_priority(&jobs[i].job, (ilk_priority)(i / 8 % 3));
        if (group != NULL) {
            ilk_job_set_group(&jobs[i].job, group);
        }
    }
}

static void submit_all(ilk_pool *pool, struct counted *jobs) {
    ilk_job *some[8];
    for (int i = 0; i < JOBS; i += 8) {
        for (int j = 0; j < 8; j++) {
            some[j] = &jobs[i + j].job;
        }
        if (i % 16 == 0) {
            expect(ilk_pool_submit_many(pool, some, 8));
            continue;
        }
        for (int j = 0; j < 8; j++) {
            expect(ilk_pool_submit(pool, some[j]));
        }
    }
}

static void open_latch(void *latch) {
    ilk_latch_count_down(latch);
}

static void use_group(ilk_pool *pool) {
    struct counted jobs[JOBS];
    ilk_group group;
    ilk_job follower;
    ilk_latch followed;
    ilk_group_init(&group);
    ilk_latch_init(&followed, 1);
    prepare(jobs, &group);
    ilk_job_init(&follower, open_latch, &followed);
    at("submit");
    submit_all(pool, jobs);
    bool follows = chance(2) == 0;
    if (follows) {
        at("follow");
        expect(ilk_group_follow(&group, pool, &follower));
        expect(ilk_latch_wait_until(&followed, ILK_FOREVER) == ILK_OK);
    } else {
        do {
            at("ilk_group_wait_until");
        } while (ilk_group_wait_until(&group, some_deadline()) != ILK_OK);
    }
    for (int i = 0; i < JOBS; i++) {
        expect(jobs[i].ran == 1);
    }
    at("ilk_group_wait_until, at the end");
    expect(ilk_group_wait_until(&group, ILK_FOREVER) == ILK_OK);
}

static void visit(void *visits, size_t first, size_t end) {
    for (; first < end; first++) {
        atomic_fetch_add(&((_Atomic(int) *)visits)[first], 1);
    }
}

static void use_loop(ilk_pool *pool) {
    _Atomic(int) visits[NUMBERS] = {0};
    at("ilk_pool_for");
    expect(ilk_pool_for(pool, 0, NUMBERS, chance(20), visit, visits));
    for (int i = 0; i < NUMBERS; i++) {
        expect(visits[i] == 1);
    }
}

struct tree {
    ilk_pool *pool;
    ilk_group group;
    uint32_t depth, leaves;
};

static void grow(void *argument) {
    struct tree *tree = argument;
    if (tree->depth == 0) {
        tree->leaves = 1;
        return;
    }
    struct tree left = {.pool = tree->pool, .depth = tree->depth - 1}, right = left;
    ilk_job job;
    ilk_pool_fork(tree->pool, &job, grow, &left);
    grow(&right);
    ilk_pool_join(tree->pool, &job);
    tree->leaves = left.leaves + right.leaves;
}

static void use_forks(ilk_pool *pool) {
    struct tree tree = {.pool = pool, .depth = chance(7)};
    ilk_job job;
    ilk_job_init(&job, grow, &tree);
    ilk_job_set_group(&job, &tree.group);
    at("fork and join");
    expect(ilk_pool_submit(pool, &job));
    expect(ilk_group_wait_until(&tree.group, ILK_FOREVER) == ILK_OK);
    expect(tree.leaves == 1u << tree.depth);
}

struct alarm {
    ilk_timer timer;
    uint64_t time;
    ilk_semaphore *rung;
    _Atomic(int) rang;
};

static void ring_alarm(void *argument) {
    struct alarm *alarm = argument;
    ilk_semaphore *rung = alarm->rung;
    expect(ilk_now_ns() >= alarm->time);
    alarm->rang++;
    ilk_semaphore_signal(rung, 1); /* the last touch */
}

static void use_timers(ilk_pool *pool) {
    struct alarm alarms[TIMERS];
    ilk_semaphore rung;
    int cancelled = 0;
    ilk_semaphore_init(&rung, 0);
    for (int i = 0; i < TIMERS; i++) {
        struct alarm *alarm = &alarms[i];
        alarm->time = ilk_deadline_in_ns(chance(3000000));
        alarm->rung = &rung;
        alarm->rang = 0;
        ilk_timer_init(&alarm->timer, ring_alarm, alarm);
        ilk_status status;
        do {
            at("ilk_pool_submit_at");
            status = ilk_pool_submit_at(pool, &alarm->timer, alarm->time);
        } while (status == ILK_NOMEM);
        expect(status == ILK_OK);
    }
    bool is_cancelled[TIMERS] = {false};
    for (int i = 0; i < TIMERS; i += 2) {
        is_cancelled[i] = ilk_pool_cancel(pool, &alarms[i].timer);
        cancelled += is_cancelled[i];
    }
    for (int i = cancelled; i < TIMERS; i++) {
        at("wait for a timer");
        ilk_semaphore_wait(&rung);
    }
    for (int i = 0; i < TIMERS; i++) {
        expect(alarms[i].rang + is_cancelled[i] == 1);
    }
    expect(ilk_semaphore_value(&rung) == 0);
    ilk_semaphore_destroy(&rung);
}

static void block(void *semaphores) {
    ilk_pool_will_block();
    ilk_semaphore_wait(&((ilk_semaphore *)semaphores)[0]);
    ilk_pool_did_block();
    ilk_semaphore_signal(&((ilk_semaphore *)semaphores)[1], 1);
}

static void use_blocking(ilk_pool *pool) {
    ilk_semaphore semaphores[2];
    ilk_job job;
    ilk_semaphore_init(&semaphores[0], 0);
    ilk_semaphore_init(&semaphores[1], 0);
    ilk_job_init(&job, block, semaphores);
    expect(ilk_pool_submit(pool, &job));
    /* A thread in its place may be refused, and is asked for again with a later submission only. */
    bool is_alone = is_chosen(fault_of_threads_refused) || is_chosen(fault_of_memory_refused);
    if (is_alone) {
        ilk_semaphore_signal(&semaphores[0], 1);
    }
    use_group(pool); /* beside it */
    if (!is_alone) {
        ilk_semaphore_signal(&semaphores[0], 1);
    }
    at("wait for a blocked job");
    ilk_semaphore_wait(&semaphores[1]);
}

static void use_pool(void *state, int index) {
    ilk_pool *pool = ((struct workers *)state)->pool;
    static void (*const uses[])(ilk_pool *) = {use_group, use_group,  use_loop,
                                               use_forks, use_timers, use_blocking};
    (void)index;
    for (int i = 0; i < 20; i++) {
        uses[chance(sizeof uses / sizeof *uses)](pool);
    }
}

static void check_pool(void *state, bool is_last) {
    struct workers *me = state;
    at("ilk_pool_wait_idle_until");
    expect(ilk_pool_wait_idle_until(me->pool, ILK_FOREVER) == ILK_OK);
    if (!is_last && chance(4) != 0) {
        return;
    }
    struct counted jobs[JOBS];
    prepare(jobs, NULL);
    at("close");
    submit_all(me->pool, jobs);
    if (chance(2) == 0) {
        ilk_pool_close_now(me->pool, hand_back, NULL);
    } else {
        ilk_pool_close(me->pool);
    }
    at("ilk_pool_wait_until");
    expect(ilk_pool_wait_until(me->pool, ILK_FOREVER) == ILK_OK);
    at("ilk_pool_destroy");
    ilk_pool_destroy(me->pool);
    for (int i = 0; i < JOBS; i++) {
        expect(jobs[i].ran + jobs[i].handed_back == 1);
    }
    me->pool = NULL;
}

const struct activity pools[] = {
    {number_of_pool, 3, sizeof(struct workers), 0, set_up_pool, use_pool, check_pool},
    {.threads = 0},
};
