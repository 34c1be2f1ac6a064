/* SPDX-License-Identifier: Apache-2.0
 *
 * What diagnosis says of an ilk_pool: what its waits wait for, what its workers work on, and the cycles that lead
 * through both. What hangs does not end: each body runs in a child process, which kills itself when it has seen what it
 * waits for.
 */
/* contract: diagnostics.h */
#include "diagnostics/reports.h"
#include <interlock/interlock.h>
#include <interlock/pool.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Reports ---- */

static const char *report = "";

static void take_report(void) {
    report = diagnosis(ILK_AS_TEXT);
}

static bool has(const char *part) {
    return strstr(report, part) != NULL;
}

static void expect(const char *part) {
    check_contains(report, part);
}

/* Until the report has `part`. */
static void await_report(const char *part) {
    const uint64_t deadline = ilk_deadline_in_ns(UINT64_C(20000000000));
    do {
        if (ilk_now_ns() >= deadline) {
            expect(part);
        }
        sched_yield();
        take_report();
    } while (!has(part));
}

static void expect_kill(void (*body)(void *unused)) {
    char output[64 * 1024];
    const int status = child_run(body, NULL, output, sizeof output);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
        fprintf(stderr, "the child ended with status %#x after:\n%s\n", (unsigned)status, output);
        check_failed(__FILE__, __LINE__, "the child kills itself");
    }
}

/* Without a word of a sanitizer. */
static void end(void) {
    (void)kill(getpid(), SIGKILL);
}

/* ---- Pools ---- */

static ilk_pool *pool;
static ilk_group left, right;
static ilk_job jobs[3];
static struct stage begun = STAGE_INIT, may_go_on = STAGE_INIT;

static void begin(uint32_t threads) {
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    const ilk_pool_options options = {.name = "store", .threads = threads};
    check_equal(ilk_pool_create(&pool, &options), ILK_OK);
    ilk_group_init(&left);
    ilk_group_init(&right);
    check_equal(ilk_set_name(&left, "left"), ILK_OK);
    check_equal(ilk_set_name(&right, "right"), ILK_OK);
}

static void submit(int job, void (*function)(void *context), void *context, ilk_group *group) {
    ilk_job_init(&jobs[job], function, context);
    ilk_job_set_group(&jobs[job], group);
    check(ilk_pool_submit(pool, &jobs[job]));
}

/* "WORDS ADDRESS "NAME"". */
static const char *call(const char *words, const void *object, const char *name) {
    static char texts[4][96];
    static int next;
    char *text = texts[next++ % 4];
    snprintf(text, sizeof texts[0], "%s %p%s%s%s", words, object, name == NULL ? "" : " \"",
             name == NULL ? "" : name, name == NULL ? "" : "\"");
    return text;
}

/* ---- Two groups ---- */

static void wait_when_both_run(void *group) {
    stage_advance(&begun);
    stage_await(&begun, 2);
    check_equal(ilk_group_wait_until(group, ILK_FOREVER),
                ILK_OK); /* not as the last call: the stack has this one */
}

/*  store-0: a job of "left"       store-1: a job of "right"
 *   waits for "right"              waits for "left" */
static void cross(void *unused) {
    begin(2);
    submit(0, wait_when_both_run, &right, &left);
    submit(1, wait_when_both_run, &left, &right);
    await_report("cycle 1: ");
    expect(call("waits for group", &left, "left"));
    expect(call("waits for group", &right, "right"));
    expect(call("  works on a job of group", &left, "left"));
    expect(call("  works on a job of group", &right, "right"));
    expect("  works on a job of pool \"store\"\n");
    expect("held by the first, thread \"store-");
    expect("wait_when_both_run+0x");
    end();
}

TEST(two_groups_that_wait_for_each_other_are_a_cycle) {
    expect_kill(cross);
}

/* ---- A mutex ---- */

static ilk_mutex mutex;

static void want_mutex(void *unused) {
    ilk_mutex_lock(&mutex);
}

static void hold_mutex(void) {
    ilk_mutex_init(&mutex, false);
    check_equal(ilk_set_name(&mutex, "mutex"), ILK_OK);
    ilk_mutex_lock(&mutex);
}

static const char *awaited; /* by the thread that holds the mutex */

static void see_cycle(void *unused) {
    await_report("cycle 1: ");
    expect(awaited);
    expect(call("waits for mutex", &mutex, "mutex"));
    end();
}

/*  thread           store-0
 *   holds the mutex  wants it
 *   waits for the group, the end of the pool, the loop */
static void wait_for_group_with_mutex(void *unused) {
    begin(1);
    hold_mutex();
    awaited = call("waits for group", &left, "left");
    submit(0, want_mutex, unused, &left);
    static struct thread watcher;
    thread_start(&watcher, see_cycle, NULL);
    check_equal(ilk_group_wait_until(&left, ILK_FOREVER), ILK_OK);
}
static void wait_for_pool_with_mutex(void *unused) {
    begin(1);
    hold_mutex();
    awaited = "waits for the end of pool \"store\"";
    submit(0, want_mutex, unused, NULL);
    ilk_pool_close(pool);
    static struct thread watcher;
    thread_start(&watcher, see_cycle, NULL);
    check_equal(ilk_pool_wait_until(pool, ILK_FOREVER), ILK_OK);
}
static void destroy_pool_with_mutex(void *unused) {
    begin(1);
    hold_mutex();
    awaited = "waits for the end of pool \"store\"";
    submit(0, want_mutex, unused, NULL);
    yield_while(ilk_atomic_load(&mutex.word, memory_order_relaxed) >> 31 ==
                0); /* until the job waits: it has begun */
    static struct thread watcher;
    thread_start(&watcher, see_cycle, NULL);
    ilk_pool_destroy(pool);
}
static void want_mutex_in_part(void *context, size_t first, size_t last) {
    (void)first, (void)last;
    want_mutex(context);
}
static void run_loop_with_mutex(void *unused) {
    begin(2);
    hold_mutex();
    awaited = "waits for loop 0x";
    static struct thread watcher;
    thread_start(&watcher, see_cycle, NULL);
    check(ilk_pool_for(pool, 0, 100, 1, want_mutex_in_part, unused));
}

TEST(a_cycle_leads_through_a_pool_and_a_mutex) {
    expect_kill(wait_for_group_with_mutex);
    expect_kill(wait_for_pool_with_mutex);
    expect_kill(destroy_pool_with_mutex);
    expect_kill(run_loop_with_mutex);
}

/* ---- Fork and join ---- */

static ilk_job forked;

static void wait_for_left_elsewhere(void *unused) {
    stage_reach(&begun, 1);
    check_equal(ilk_group_wait_until(&left, ILK_FOREVER), ILK_OK);
}

static void fork_and_join(void *unused) {
    ilk_pool_fork(pool, &forked, wait_for_left_elsewhere, unused);
    stage_await(&begun, 1); /* another worker has it */
    ilk_pool_join(pool, &forked);
}

/*  store-0: a job of "left"     store-1
 *   forks                        runs the forked job, which waits for "left"
 *   joins */
static void join_across(void *unused) {
    begin(2);
    submit(0, fork_and_join, unused, &left);
    await_report("cycle 1: ");
    expect(call("waits for forked job", &forked, NULL));
    expect(call("  works on forked job", &forked, NULL));
    expect(call("waits for group", &left, "left"));
    end();
}

static ilk_job inner;

static void fork_and_join_inner(void *unused) {
    ilk_pool_fork(pool, &inner, wait_for_left_elsewhere, unused);
    stage_await(&begun, 1); /* a third one has it */
    ilk_pool_join(pool, &inner);
}

static void fork_and_join_outer(void *unused) {
    ilk_pool_fork(pool, &forked, fork_and_join_inner, unused);
    stage_await(&begun, 1);
    ilk_pool_join(pool, &forked);
}

/* The same, where the forked job joins another: which has the forked one as what it belongs to, beside itself. */
static void join_beneath_a_join(void *unused) {
    begin(3);
    submit(0, fork_and_join_outer, unused, &left);
    await_report("cycle 1: ");
    expect(call("waits for forked job", &forked, NULL));
    expect(call("waits for forked job", &inner, NULL));
    expect(call("  works on forked job", &inner, NULL));
    expect(call("waits for group", &left, "left"));
    end();
}

TEST(a_join_and_a_group_are_a_cycle) {
    expect_kill(join_across);
    expect_kill(join_beneath_a_join);
}

/* ---- On top of a wait ---- */

static void hold_place(void *unused) {
    stage_reach(&begun, 1);
    stage_await(&may_go_on, 2);
}

static void run_on_top(void *unused) {
    stage_reach(&begun, 2);
    stage_await(&may_go_on, 1);
}

static void submit_and_wait(void *unused) {
    submit(1, run_on_top, unused, &left);
    check_equal(ilk_group_wait_until(&left, ILK_FOREVER), ILK_OK);
    stage_reach(&begun, 3);
}

/*  store-0                    store-1
 *   a job of "left" runs
 *                              a job of "right" waits for "left", and runs another job of "left" on top
 *                              that has ended: it waits again
 *   ends
 *                              does not wait any longer */
static void see_a_job_on_top(void *unused) {
    begin(2);
    submit(0, hold_place, unused, &left);
    stage_await(&begun, 1);
    submit(2, submit_and_wait, unused, &right);
    stage_await(&begun, 2);
    take_report();
    check(!has("waits for"));
    expect(call("  works on a job of group", &left, "left"));
    expect(call("  works on a job of group", &right, "right"));
    stage_reach(&may_go_on, 1);
    await_report(call("  waits for group", &left, "left"));
    stage_reach(&may_go_on, 2);
    stage_await(&begun, 3);
    take_report();
    check(!has("waits for"));
    check(!has("cycle"));
    check_equal(ilk_group_wait_until(&right, ILK_FOREVER), ILK_OK);
    ilk_pool_destroy(pool);
    end();
}

TEST(a_worker_does_not_wait_while_it_runs_a_job_on_top) {
    expect_kill(see_a_job_on_top);
}

/* ---- Beyond a limit ---- */

static void keep_hang(const ilk_report *hang, void *unused) {
    if (hang->kind == ILK_REPORT_HANG && strstr(hang->text, "waits for group") != NULL) {
        static char kept[64 * 1024];
        snprintf(kept, sizeof kept, "%s", hang->text);
        report = kept;
        stage_reach(&begun, 2);
    }
}

static void wait_beyond_limit(void *unused) {
    begin(1);
    ilk_set_report_handler(keep_hang, NULL);
    check_equal(ilk_set_hang_limit(1000000), ILK_OK);
    submit(0, hold_place, unused, &left);
    static struct thread waiter;
    thread_start(&waiter, wait_for_left_elsewhere, NULL);
    stage_await(&begun, 2);
    expect(call("  waits for group", &left, "left"));
    end();
}

TEST(a_wait_for_a_group_beyond_the_limit_is_reported) {
    expect_kill(wait_beyond_limit);
}
