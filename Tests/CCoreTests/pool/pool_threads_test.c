/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads of an ilk_pool: another one takes over while a job blocks, spare ones come back and end, they are as
 * asked, sleep when idle, and may be refused by the system: the linker puts this file in front of ilk__thread_start
 * (--wrap).
 */
/* contract: pool.h */
#include "diagnostics/thread_list.h"
#include "platform/threads.h"
#include "support/pool.h"
#include <dirent.h>
#include <fcntl.h>
#include <interlock/interlock.h>
#include <interlock/park.h>
#include <interlock/pool.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- Refusing ---- */

static ILK_ATOMIC(int) allowed = INT32_MAX; /* so many threads more */

bool __real_ilk__thread_start(ilk__thread *thread, const struct ilk__thread_options *options,
                              void (*function)(void *context), void *context);
bool __wrap_ilk__thread_start(ilk__thread *thread, const struct ilk__thread_options *options,
                              void (*function)(void *context), void *context);

bool __wrap_ilk__thread_start(ilk__thread *thread, const struct ilk__thread_options *options,
                              void (*function)(void *context), void *context) {
    if (ilk_atomic_load(&allowed, memory_order_relaxed) == 0) {
        return false;
    }
    ilk_atomic_fetch_sub(&allowed, 1, memory_order_relaxed);
    return __real_ilk__thread_start(thread, options, function, context);
}

static void allow(int threads) {
    ilk_atomic_store(&allowed, threads, memory_order_relaxed);
}

/* ---- Pools and jobs ---- */

/* Until the pool has so many threads; the system ends them when it likes. */
static void await_threads(ilk_pool *pool, uint32_t threads) {
    const uint64_t deadline = far_limit();
    while (ilk_pool_get_info(pool).threads != threads) {
        check(ilk_pool_get_info(pool).threads >= 1);
        check(ilk_now_ns() < deadline);
        sched_yield();
    }
}

static void meet(void *context) {
    check_equal(ilk_barrier_wait_until(context, far_limit(), NULL), ILK_OK);
}

static void block_and_meet(void *context) {
    ilk_pool_will_block();
    ilk_pool_will_block(); /* may be nested */
    meet(context);
    ilk_pool_did_block();
    ilk_pool_did_block();
}

static void nothing(void *context) {}

enum { MOST_JOBS = 8 };

struct meeting {
    ilk_barrier barrier;
    ilk_group group;
    ilk_job jobs[MOST_JOBS];
};

/* `count` jobs that end when all have begun. */
static void run_meeting(ilk_pool *pool, struct meeting *meeting, uint32_t count, void (*function)(void *)) {
    memset(meeting, 0, sizeof *meeting);
    ilk_barrier_init(&meeting->barrier, count);
    for (uint32_t i = 0; i < count; i++) {
        pool_submit(pool, &meeting->jobs[i], function, &meeting->barrier, &meeting->group);
    }
    group_await(&meeting->group);
}

/* ---- Blocking ---- */
/* contract: ilk_pool_did_block, ilk_pool_will_block */
TEST(blocking_jobs_run_at_once_on_fewer_threads) {
    ilk_pool *pool = pool_make((ilk_pool_options){.threads = 2});
    struct meeting meeting;
    for (int round = 0; round < stress_rounds(200); round++) {
        run_meeting(pool, &meeting, 4, block_and_meet);
    }
    check(ilk_pool_get_info(pool).threads >= 4);
    check_equal(ilk_pool_get_info(pool).blocked, 0);
    pool_end(pool);
}

TEST(spare_threads_end_down_to_those_that_are_kept) {
    ilk_pool *pool = pool_make((ilk_pool_options){.threads = 2, .idle_ns = MILLISECONDS(1)});
    struct meeting meeting;
    for (int round = 0; round < stress_rounds(20); round++) {
        run_meeting(pool, &meeting, 6, block_and_meet);
        await_threads(pool, 2);
    }
    run_meeting(pool, &meeting, 2, meet); /* those two run jobs */
    pool_end(pool);
}

/* All are idle for the same time: one stays, and the pool goes on. */
TEST(threads_whose_time_is_up_together_leave_one) {
    ilk_pool *pool =
        pool_make((ilk_pool_options){.threads = 4, .kept_threads = 1, .idle_ns = MILLISECONDS(1)});
    struct meeting meeting;
    for (int round = 0; round < stress_rounds(50); round++) {
        run_meeting(pool, &meeting, 4, meet);
        await_threads(pool, 1);
        check_equal(ilk_pool_wait_until(pool, 0), ILK_TIMEDOUT);
    }
    pool_end(pool);
}

/* It must not be a thread leak either, which ThreadSanitizer reports when the process ends. */
TEST(a_pool_may_last_until_the_process_ends) {
    static ilk_pool *pool;
    pool = pool_make((ilk_pool_options){.threads = 4, .kept_threads = 1, .idle_ns = MILLISECONDS(1)});
    struct meeting meeting;
    run_meeting(pool, &meeting, 4, meet);
    await_threads(pool, 1);
}
/* contract: pool.E */
TEST(one_submission_of_many_jobs_starts_as_many_threads) {
    ilk_pool *pool = pool_make((ilk_pool_options){.threads = 4, .kept_threads = 1});
    struct meeting meeting = {.group = {0}};
    ilk_barrier_init(&meeting.barrier, 4);
    ilk_job *jobs[4];
    for (int i = 0; i < 4; i++) {
        ilk_job_init(&meeting.jobs[i], meet, &meeting.barrier);
        ilk_job_set_group(&meeting.jobs[i], &meeting.group);
        jobs[i] = &meeting.jobs[i];
    }
    check(ilk_pool_submit_many(pool, jobs, 4));
    group_await(&meeting.group);
    check_equal(ilk_pool_get_info(pool).threads, 4);
    pool_end(pool);
}
/* contract: ilk_pool_get_info */
TEST(there_are_never_more_threads_than_the_most) {
    ilk_pool *pool = pool_make((ilk_pool_options){.threads = 2, .max_threads = 3});
    struct meeting meeting = {.group = {0}};
    ilk_group late = {0};
    ilk_job job;
    ilk_barrier_init(&meeting.barrier, 4); /* three jobs and this thread */
    for (int i = 0; i < 3; i++) {
        pool_submit(pool, &meeting.jobs[i], block_and_meet, &meeting.barrier, &meeting.group);
    }
    pool_await_blocked(pool, 3);
    pool_submit(pool, &job, nothing, NULL, &late);
    check_equal(ilk_pool_get_info(pool).threads, 3);
    check_equal(ilk_group_wait_until(&late, ilk_deadline_in_ns(MILLISECONDS(5))), ILK_TIMEDOUT);
    check_equal(ilk_pool_get_info(pool).threads, 3);
    meet(&meeting.barrier);
    group_await(&late);
    group_await(&meeting.group);
    pool_end(pool);
}

struct crowd {
    ilk_job jobs[66];
    ilk_group group;
    struct stage stage;
};

static void block_at_stage(void *context) {
    ilk_pool_will_block();
    stage_await(context, 1);
    ilk_pool_did_block();
}

/* So often standard error says that all threads are blocked. */
static int notes_of(ilk_pool_options options, uint32_t most) {
    FILE *file = tmpfile();
    const int standard_error = dup(STDERR_FILENO);
    check(file != NULL && standard_error >= 0 && dup2(fileno(file), STDERR_FILENO) == STDERR_FILENO);
    ilk_pool *pool = pool_make(options);
    static struct crowd crowd;
    for (int round = 0; round < 2; round++) {
        crowd = (struct crowd){.stage = STAGE_INIT};
        for (uint32_t i = 0; i < most; i++) {
            pool_submit(pool, &crowd.jobs[i], block_at_stage, &crowd.stage, &crowd.group);
        }
        pool_await_blocked(pool, most);
        pool_submit(pool, &crowd.jobs[most], nothing, NULL, &crowd.group);
        stage_reach(&crowd.stage, 1);
        group_await(&crowd.group);
    }
    pool_end(pool);
    check(dup2(standard_error, STDERR_FILENO) == STDERR_FILENO && close(standard_error) == 0);
    rewind(file);
    int notes = 0;
    char line[512];
    while (fgets(line, sizeof line, file) != NULL) {
        check(strstr(line, "threads of pool \"capped\" are blocked, and jobs wait") != NULL);
        notes++;
    }
    check_equal(fclose(file), 0);
    return notes;
}

struct cancelled {
    ilk_pool *pool;
    ilk_job *job;
    bool goes_on; /* after its calls */
};

/* A thread that is cancelled before its calls, and ends at the first cancellation point. */
static bool goes_on(void *(*calls)(void *), ilk_pool *pool, ilk_job *job) {
    struct cancelled cancelled = {.pool = pool, .job = job};
    pthread_t thread;
    check_equal(pthread_create(&thread, NULL, calls, &cancelled), 0);
    check_equal(pthread_join(thread, NULL), 0);
    return cancelled.goes_on;
}

static void *submit_cancelled(void *context) {
    struct cancelled *cancelled = context;
    check_equal(pthread_cancel(pthread_self()), 0);
    check(ilk_pool_submit(cancelled->pool, cancelled->job));
    cancelled->goes_on = true;
    return NULL;
}

static void *end_cancelled(void *context) {
    struct cancelled *cancelled = context;
    check_equal(pthread_cancel(pthread_self()), 0);
    pool_end(cancelled->pool);
    cancelled->goes_on = true;
    return NULL;
}

/* The submission says that all threads are blocked, the end joins a thread. */
/* contract: pool.I */
TEST(no_call_is_a_cancellation_point) {
    const int standard_error = dup(STDERR_FILENO);
    const int none = open("/dev/null", O_WRONLY);
    check(standard_error >= 0 && none >= 0 && dup2(none, STDERR_FILENO) == STDERR_FILENO);
    enum { MOST = 65 };
    ilk_pool *pool = pool_make((ilk_pool_options){.threads = 1});
    static struct crowd crowd;
    crowd = (struct crowd){.stage = STAGE_INIT};
    for (uint32_t i = 0; i < MOST; i++) {
        pool_submit(pool, &crowd.jobs[i], block_at_stage, &crowd.stage, &crowd.group);
    }
    pool_await_blocked(pool, MOST);
    ilk_job_init(&crowd.jobs[MOST], nothing, NULL);
    const bool submits = goes_on(submit_cancelled, pool, &crowd.jobs[MOST]);
    check_equal(dup2(standard_error, STDERR_FILENO), STDERR_FILENO);
    check(close(standard_error) == 0 && close(none) == 0);
    check(submits);
    stage_reach(&crowd.stage, 1);
    group_await(&crowd.group);
    check(goes_on(end_cancelled, pool, NULL));
}
/* contract: ilk_pool_will_block */
TEST(a_default_limit_of_threads_is_told_of_once) {
    check_equal(notes_of((ilk_pool_options){.name = "capped", .threads = 1}, 65), 1);
    check_equal(notes_of((ilk_pool_options){.name = "capped", .threads = 1, .max_threads = 2}, 2), 0);
}

struct waiting {
    ilk_pool *pool;
    ilk_job job;
    ilk_group group;
};

static void block_for_a_group(void *context) {
    struct waiting *waiting = context;
    pool_submit(waiting->pool, &waiting->job, nothing, NULL, &waiting->group);
    ilk_pool_will_block();
    group_await(&waiting->group); /* sleeps: another thread runs the job */
    ilk_pool_did_block();
}
/* contract: pool.G */
TEST(a_job_may_wait_for_a_group_between_will_and_did_block) {
    ilk_pool *pool = pool_make((ilk_pool_options){.threads = 1});
    for (int round = 0; round < stress_rounds(200); round++) {
        struct waiting waiting = {.pool = pool};
        ilk_group group = {0};
        ilk_job job;
        pool_submit(pool, &job, block_for_a_group, &waiting, &group);
        group_await(&group);
    }
    pool_end(pool);
}

/* ---- Joining beneath others ---- */

struct level {
    ilk_pool *pool;
    ilk_job forked, plain;
    struct level *next;
    ILK_ATOMIC(int) * deepest;
};

static _Thread_local int nested;

/* Forks, submits a job that does the same, and joins: the submitted job lies above the forked one in the deque. */
static void fork_submit_join(void *context) {
    struct level *level = context;
    nested++;
    if (nested > ilk_atomic_load(level->deepest, memory_order_relaxed)) {
        ilk_atomic_store(level->deepest, nested, memory_order_relaxed);
    }
    ilk_pool_fork(level->pool, &level->forked, nothing, NULL);
    if (level->next != NULL) {
        check(ilk_pool_submit(level->pool, &level->next->plain));
    }
    ilk_pool_join(level->pool, &level->forked);
    nested--;
}
/* contract: pool.G */
TEST(a_join_finds_its_job_beneath_others) {
    enum { LEVELS = 200 };
    static struct level levels[LEVELS];
    ILK_ATOMIC(int) deepest = 0;
    ilk_group group = {0};
    ilk_pool *pool = pool_make((ilk_pool_options){.threads = 1});
    for (int i = 0; i < LEVELS; i++) {
        levels[i] =
            (struct level){.pool = pool, .next = i + 1 < LEVELS ? &levels[i + 1] : NULL, .deepest = &deepest};
        ilk_job_init(&levels[i].plain, fork_submit_join, &levels[i]);
        ilk_job_set_group(&levels[i].plain, &group);
    }
    check(ilk_pool_submit(pool, &levels[0].plain));
    group_await(&group);
    check_equal(ilk_atomic_load(&deepest, memory_order_relaxed), 1);
    pool_end(pool);
}

/* ---- As asked ---- */

struct seen {
    char name[32];
    int nice;
    size_t stack_size;
    bool holds_signals;
    ilk_barrier *barrier;
};

static void look(void *context) {
    struct seen *seen = context;
    ilk_pool_will_block(); /* the later threads are started by workers */
    check_equal(pthread_getname_np(pthread_self(), seen->name, sizeof seen->name), 0);
    seen->nice = getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid));
    pthread_attr_t attributes;
    check_equal(pthread_getattr_np(pthread_self(), &attributes), 0);
    check_equal(pthread_attr_getstacksize(&attributes, &seen->stack_size), 0);
    check_equal(pthread_attr_destroy(&attributes), 0);
    sigset_t mask;
    check_equal(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
    seen->holds_signals = sigismember(&mask, SIGUSR1) == 1 && sigismember(&mask, SIGTERM) == 1;
    meet(seen->barrier);
    ilk_pool_did_block();
}

TEST(threads_are_as_asked) {
    enum { COUNT = 5 };
    const int own = getpriority(PRIO_PROCESS, 0);
    const int more = own <= 16 ? 3 : 0;
    ilk_pool *pool = pool_make((ilk_pool_options){
        .name = "a long name of a pool", .threads = 1, .stack_size = 300001, .nice = more});
    struct seen seen[COUNT];
    ilk_barrier barrier;
    ilk_group group = {0};
    ilk_job jobs[COUNT];
    memset(seen, 0, sizeof seen);
    ilk_barrier_init(&barrier, COUNT);
    for (int i = 0; i < COUNT; i++) {
        seen[i].barrier = &barrier;
        pool_submit(pool, &jobs[i], look, &seen[i], &group);
    }
    group_await(&group);
    for (int i = 0; i < COUNT; i++) {
        check(strncmp(seen[i].name, "a long name", 11) == 0);
        check_equal(seen[i].nice, own + more);
        check(seen[i].stack_size >= 300001 && seen[i].stack_size < 2 * 1048576);
        check(seen[i].holds_signals);
        for (int other = 0; other < i; other++) {
            check(strcmp(seen[i].name, seen[other].name) != 0);
        }
    }
    pool_end(pool);
}

static void tell_name(void *context) {
    check_equal(pthread_getname_np(pthread_self(), context, 32), 0);
}

static bool has_thread(const char *name) {
    DIR *tasks = opendir("/proc/self/task");
    check(tasks != NULL);
    bool is_there = false;
    for (struct dirent *task; !is_there && (task = readdir(tasks)) != NULL;) {
        char found[32];
        ilk__thread_name((uint32_t)strtoul(task->d_name, NULL, 10), found, sizeof found);
        is_there = strcmp(found, name) == 0;
    }
    closedir(tasks);
    return is_there;
}

/* The system keeps 15 bytes of a thread's name: the pool's, and a number or a word. */
TEST(names_of_threads_are_cut_between_characters) {
    static const char *const names[] = {
        "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4",
        "n\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"};
    static const char *const expected[][2] = {
        {"\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4-0", "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4-timers"},
        {"n\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4-0", "n\xC3\xA4\xC3\xA4\xC3\xA4-timers"}};
    for (int i = 0; i < 2; i++) {
        ilk_pool *pool = pool_make((ilk_pool_options){.name = names[i], .threads = 1});
        char seen[32];
        ilk_group group = {0};
        ilk_job job;
        pool_submit(pool, &job, tell_name, seen, &group);
        group_await(&group);
        assert_string_equal(seen, expected[i][0]);
        ilk_timer timer;
        ilk_timer_init(&timer, tell_name, seen);
        ilk_job_set_group(ilk_timer_job(&timer), &group);
        check_equal(ilk_pool_submit_at(pool, &timer, 0), ILK_OK);
        group_await(&group);
        assert_true(has_thread(expected[i][1]));
        pool_end(pool);
    }
}
/* contract: ilk_pool_create */
TEST(options_that_cannot_be_are_refused) {
    ilk_pool *const untouched = (ilk_pool *)state;
    ilk_pool *pool = untouched;
    const ilk_pool_options wrong[] = {
        {.threads = ILK_POOL_MAX_THREADS + 1},  {.max_threads = ILK_POOL_MAX_THREADS + 1},
        {.threads = 3, .max_threads = 2},       {.threads = 1, .max_threads = 2, .kept_threads = 3},
        {.threads = 1, .stack_size = SIZE_MAX}, {.threads = 1, .stack_size = (size_t)PTRDIFF_MAX + 1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        check_equal(ilk_pool_create(&pool, &wrong[i]), ILK_INVALID);
        check(pool == untouched);
    }
    pool = pool_make((ilk_pool_options){.threads = ILK_POOL_MAX_THREADS, .kept_threads = 1});
    pool_end(pool);
}

/* contract: ilk_pool_create */
TEST(a_stack_is_no_smaller_than_the_system_allows) {
    skip_if(IS_SANITIZED, "a sanitizer needs more of a stack");
    ilk_pool *pool = pool_make((ilk_pool_options){.threads = 1, .stack_size = 1});
    ilk_group group = {0};
    ilk_job job;
    pool_submit(pool, &job, nothing, NULL, &group);
    group_await(&group);
    pool_end(pool);
}

/* contract: ilk_pool_create */
TEST(a_pool_whose_stacks_there_is_no_memory_for_is_not_made) {
    ilk_pool *const untouched = (ilk_pool *)state;
    ilk_pool *pool = untouched;
    const ilk_pool_options options = {.threads = 1,
                                      .stack_size = (size_t)1 << 47}; /* all that a process may have */
    check_equal(ilk_pool_create(&pool, &options), ILK_NOMEM);
    check(pool == untouched);
}

/* ---- Idle ---- */

static uint64_t cpu_time(clockid_t clock) {
    struct timespec time;
    check_equal(clock_gettime(clock, &time), 0);
    return MILLISECONDS(1000) * (uint64_t)time.tv_sec + (uint64_t)time.tv_nsec;
}

/* What the process uses in some milliseconds in which this thread sleeps. */
static uint64_t others_use(void) {
    ILK_ATOMIC(uint32_t) never;
    ilk_atomic_store(&never, 0, memory_order_relaxed);
    const uint64_t before = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
    while (ilk_park_wait(&never, 0, ilk_deadline_in_ns(MILLISECONDS(40))) != ILK_TIMEDOUT) {
    }
    return cpu_time(CLOCK_PROCESS_CPUTIME_ID) - before;
}

/* Also those beyond the target that are kept, however short their idle time. */
/* contract: pool.F */
TEST(idle_threads_use_no_processor) {
    ilk_pool *pool = pool_make((ilk_pool_options){.threads = 2, .kept_threads = 4, .idle_ns = 1});
    struct meeting meeting;
    run_meeting(pool, &meeting, 4, block_and_meet);
    /* A thread on its way to sleep may be kept off its core for a while: quiet is what stays so. */
    const uint64_t deadline = far_limit();
    for (int quiet = 0; quiet < 5; quiet = others_use() < MILLISECONDS(2) ? quiet + 1 : 0) {
        check(ilk_now_ns() < deadline);
    }
    pool_end(pool);
}

/* ---- Refused ---- */
/* contract: ilk_pool_create */
TEST(a_pool_goes_on_with_the_threads_there_are) {
    allow(1);
    ilk_pool *pool = pool_make((ilk_pool_options){.threads = 3});
    check_equal(ilk_pool_get_info(pool).threads, 1);
    check_equal(ilk_pool_get_info(pool).refused, 1);
    ilk_group group = {0};
    ilk_job jobs[100];
    for (int i = 0; i < 100; i++) {
        pool_submit(pool, &jobs[i], nothing, NULL, &group);
    }
    group_await(&group);
    ilk_timer timer;
    ilk_timer_init(&timer, nothing, NULL);
    check_equal(ilk_pool_submit_at(pool, &timer, 0), ILK_NOMEM);
    /* Its worker is held, and jobs come: the pool asks again, after a while. */
    allow(INT32_MAX);
    struct meeting meeting = {.group = {0}};
    ilk_barrier_init(&meeting.barrier, 4); /* three workers and this thread */
    for (int i = 0; i < 3; i++) {
        pool_submit(pool, &meeting.jobs[i], meet, &meeting.barrier, &meeting.group);
    }
    static ilk_job more[100000];
    for (int i = 0; ilk_pool_get_info(pool).threads != 3; i++) {
        check(i < 100000);
        pool_submit(pool, &more[i], nothing, NULL, &meeting.group);
        const uint64_t next = ilk_deadline_in_ns(MILLISECONDS(1));
        yield_while(ilk_now_ns() < next);
    }
    meet(&meeting.barrier);
    group_await(&meeting.group);
    pool_end(pool);
}
/* contract: ilk_pool_create */
TEST(a_pool_without_any_thread_is_no_memory) {
    allow(0);
    ilk_pool *const untouched = (ilk_pool *)state;
    ilk_pool *pool = untouched;
    check_equal(ilk_pool_create(&pool, NULL), ILK_NOMEM);
    check(pool == untouched);
    allow(INT32_MAX);
}

/* The only thread blocks for a job while the system refuses another: the next submission asks again. */
/* contract: ilk_pool_create */
TEST(a_refused_thread_is_asked_for_again) {
    for (int round = 0; round < stress_rounds(50); round++) {
        ilk_pool *pool = pool_make((ilk_pool_options){.threads = 1});
        struct meeting meeting = {.group = {0}};
        ilk_job job;
        ilk_barrier_init(&meeting.barrier, 2);
        allow(0);
        pool_submit(pool, &meeting.jobs[0], block_and_meet, &meeting.barrier, &meeting.group);
        yield_while(ilk_pool_get_info(pool).blocked == 0);
        pool_submit(pool, &meeting.jobs[1], meet, &meeting.barrier, &meeting.group);
        check_equal(ilk_pool_get_info(pool).refused, 1);
        check_equal(ilk_pool_get_info(pool).threads, 1);
        allow(INT32_MAX);
        pool_submit(pool, &job, nothing, NULL, &meeting.group);
        group_await(&meeting.group);
        pool_end(pool);
    }
}

struct parent {
    ilk_pool *pool;
    ilk_group children;
    ilk_job job, child;
};

static void wait_for_low_child(void *context) {
    struct parent *parent = context;
    ilk_job_init(&parent->child, nothing, NULL);
    ilk_job_set_group(&parent->child, &parent->children);
    ilk_job_set_priority(&parent->child, ILK_PRIORITY_LOW); /* not in the worker's own deque */
    check(ilk_pool_submit(parent->pool, &parent->child));
    group_await(&parent->children);
}

/* The only thread's job waits for one that no other thread begins: the pool may have more threads, and the system has
 * none. */
/* contract: pool.G */
TEST(a_job_that_waits_finds_its_own_where_threads_are_refused) {
    struct parent parent = {.pool = pool_make((ilk_pool_options){.threads = 1})};
    ilk_group group = {0};
    allow(0);
    pool_submit(parent.pool, &parent.job, wait_for_low_child, &parent, &group);
    group_await(&group);
    check(ilk_pool_get_info(parent.pool).refused > 0);
    allow(INT32_MAX);
    pool_end(parent.pool);
}

/* ---- Misuse ---- */

static void exit_thread(void *context) {
    pthread_exit(context);
}
static void forget(void *context) {
    ilk_pool_will_block();
}
static void run_one(void (*function)(void *)) {
    ilk_pool *pool = pool_make((ilk_pool_options){.threads = 1});
    ilk_group group = {0};
    ilk_job job;
    pool_submit(pool, &job, function, NULL, &group);
    group_await(&group);
    pool_end(pool);
}
static void end_thread(void *context) {
    run_one(exit_thread);
}
static void forget_did_block(void *context) {
    run_one(forget);
}
static void did_block_alone(void *context) {
    ilk_pool_did_block();
}
static void did_without_will(void *context) {
    ilk_pool_will_block(); /* not a thread of a pool: nothing */
    ilk_pool_did_block();
    run_one(did_block_alone);
}
struct forked {
    ilk_pool *pool;
    ilk_job job;
};
static void fork_only(void *context) {
    struct forked *forked = context;
    ilk_pool_fork(forked->pool, &forked->job, nothing, NULL);
}
static void join_elsewhere(void *context) {
    struct forked forked = {.pool = pool_make((ilk_pool_options){.threads = 1})};
    ilk_group group = {0};
    ilk_job job;
    pool_submit(forked.pool, &job, fork_only, &forked, &group);
    group_await(&group);
    ilk_pool_join(forked.pool, &forked.job);
}
/* contract: ilk_pool_did_block, ilk_pool_fork, ilk_pool_join, ilk_pool_will_block, pool.I */
TEST(misuse_is_reported) {
    expect_misuse(end_thread, NULL, "ilk_pool_submit", "ended its thread");
    expect_misuse(forget_did_block, NULL, "ilk_pool_did_block", "between will_block and did_block");
    expect_misuse(did_without_will, NULL, "ilk_pool_did_block", "between will_block and did_block");
    expect_misuse(join_elsewhere, NULL, "ilk_pool_join", "another thread");
}
