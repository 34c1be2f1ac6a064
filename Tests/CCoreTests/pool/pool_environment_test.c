/* SPDX-License-Identifier: Apache-2.0
 *
 * What threads of a pool have of the process and not of the thread that starts them: processors, scheduling class, nice
 * value; and the signals that they take.
 */
/* contract: pool.h */
#include "support/pool.h"
#include <dirent.h>
#include <interlock/diagnostics.h>
#include <interlock/interlock.h>
#include <interlock/pool.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Scheduling ---- */

struct scheduling {
    cpu_set_t processors;
    long policy;
    int nice;
};

static struct scheduling of_thread(pid_t thread) {
    struct scheduling seen;
    check_equal(sched_getaffinity(thread, sizeof seen.processors, &seen.processors), 0);
    seen.policy = syscall(SYS_sched_getscheduler, thread); /* the C library's own answer is a copy */
    seen.nice = getpriority(PRIO_PROCESS, (id_t)thread);
    return seen;
}

static pid_t own_id(void) {
    return (pid_t)syscall(SYS_gettid);
}

static bool set_policy(int policy) {
    const struct sched_param priority = {.sched_priority = policy == SCHED_FIFO || policy == SCHED_RR};
    return syscall(SYS_sched_setscheduler, 0, policy, &priority) == 0;
}

/* The lowest processor that the calling thread may run on alone. False: it has no other. */
static bool set_one_processor(void) {
    cpu_set_t all, one;
    check_equal(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2) {
        return false;
    }
    int processor = 0;
    while (!CPU_ISSET(processor, &all)) {
        processor++;
    }
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

/* ---- Started by a submitter ---- */

struct submitter {
    bool (*become)(void); /* what the process is not. False: it may not, or could not come back */
    bool could;
    ilk_pool *pool;
    struct stage held; /* 1: the pool's first thread blocks; 2: it goes on */
    ilk_job holder, job;
    ilk_group group;
    struct scheduling worker; /* the second thread of the pool */
};

static void hold(void *context) {
    struct submitter *submitter = context;
    ilk_pool_will_block();
    stage_reach(&submitter->held, 1);
    stage_await(&submitter->held, 2);
    ilk_pool_did_block();
}

static void see(void *context) {
    struct submitter *submitter = context;
    submitter->worker = of_thread(own_id());
}

static void become_and_submit(void *context) {
    struct submitter *submitter = context;
    submitter->could = submitter->become();
    if (submitter->could) {
        pool_submit(submitter->pool, &submitter->job, see, submitter, &submitter->group);
    }
}

/*  first thread    submitter, unlike the process
 *   blocks
 *                   submits: starts the second thread
 *                                                      second thread: like the process */
static void expect_worker_like_process(bool (*become)(void), long policy) {
    struct submitter submitter = {.become = become, .held = STAGE_INIT};
    submitter.pool = pool_make((ilk_pool_options){.threads = 1, .max_threads = 2});
    pool_submit(submitter.pool, &submitter.holder, hold, &submitter, NULL);
    stage_await(&submitter.held, 1);
    struct thread thread;
    thread_start(&thread, become_and_submit, &submitter);
    thread_join(&thread);
    group_await(&submitter.group);
    if (submitter.could) {
        const struct scheduling process = of_thread(getpid());
        check_equal(ilk_pool_get_info(submitter.pool).threads, 2);
        check(CPU_EQUAL(&submitter.worker.processors, &process.processors));
        check_equal(submitter.worker.policy, policy);
        check_equal(submitter.worker.nice, process.nice);
    }
    stage_reach(&submitter.held, 2);
    pool_end(submitter.pool);
    skip_if(!submitter.could, "the system has one processor, or refuses the change or the way back");
}

/* Without privilege there is no way out of SCHED_IDLE. */
static bool become_of_class(int policy) {
    const bool could = set_policy(policy) && set_policy(SCHED_OTHER) && set_policy(policy);
    check(!could || of_thread(own_id()).policy == policy);
    return could;
}

static bool become_idle(void) {
    return become_of_class(SCHED_IDLE);
}
static bool become_batch(void) {
    return become_of_class(SCHED_BATCH);
}
static bool become_fifo(void) {
    return become_of_class(SCHED_FIFO);
}
static bool become_round_robin(void) {
    return become_of_class(SCHED_RR);
}
static bool become_nicer(void) {
    const int own = getpriority(PRIO_PROCESS, (id_t)own_id());
    return own < 16 && setpriority(PRIO_PROCESS, (id_t)own_id(), own + 3) == 0 &&
           setpriority(PRIO_PROCESS, (id_t)own_id(), own) == 0 &&
           setpriority(PRIO_PROCESS, (id_t)own_id(), own + 3) == 0;
}

TEST(a_thread_has_not_the_processors_of_its_submitter) {
    expect_worker_like_process(set_one_processor, SCHED_OTHER);
}
TEST(a_thread_is_not_idle_like_its_submitter) {
    expect_worker_like_process(become_idle, SCHED_OTHER);
}
TEST(a_thread_is_not_batch_like_its_submitter) {
    expect_worker_like_process(become_batch, SCHED_OTHER);
}
TEST(a_thread_is_not_fifo_like_its_submitter) {
    expect_worker_like_process(become_fifo, SCHED_OTHER);
}
TEST(a_thread_is_not_round_robin_like_its_submitter) {
    expect_worker_like_process(become_round_robin, SCHED_OTHER);
}
TEST(a_thread_has_not_the_nice_value_of_its_submitter) {
    expect_worker_like_process(become_nicer, SCHED_OTHER);
}

/* ---- Like the process's first thread, which runs these tests ---- */

static bool become_other(void) {
    return set_policy(SCHED_OTHER);
}

TEST(threads_of_a_batch_process_are_batch) {
    check(set_policy(SCHED_BATCH));
    expect_worker_like_process(become_other, SCHED_BATCH);
}

/* Without what is not of the class. */
TEST(threads_of_a_batch_process_that_forks_others_are_batch) {
    check(set_policy(SCHED_BATCH | SCHED_RESET_ON_FORK));
    expect_worker_like_process(become_other, SCHED_BATCH);
}

TEST(threads_of_a_nice_process_are_nice) {
    const int own = getpriority(PRIO_PROCESS, 0);
    skip_if(own > 12, "the process is too nice"); /* the submitter is nicer still */
    check_equal(setpriority(PRIO_PROCESS, 0, own + 2), 0);
    expect_worker_like_process(become_nicer, SCHED_OTHER);
}

/* And so is the submitter. */
TEST(threads_of_a_real_time_process_are_not) {
    skip_if(!set_policy(SCHED_RR), "the system refuses real-time scheduling");
    expect_worker_like_process(become_round_robin, SCHED_OTHER);
}

static cpu_set_t all_processors;

static bool have_all_processors(void) {
    return sched_setaffinity(0, sizeof all_processors, &all_processors) == 0;
}

TEST(threads_of_a_process_on_one_processor_are_there) {
    all_processors = of_thread(0).processors;
    skip_if(!set_one_processor(), "there is one processor");
    expect_worker_like_process(have_all_processors, SCHED_OTHER);
}

static void make_from_one_processor(void *context) {
    if (set_one_processor()) {
        *(ilk_pool **)context = pool_make((ilk_pool_options){.name = "default"});
    }
}

TEST(a_pool_has_a_thread_for_each_processor_of_the_process) {
    ilk_pool *pool = NULL;
    struct thread thread;
    thread_start(&thread, make_from_one_processor, &pool);
    thread_join(&thread);
    skip_if(pool == NULL, "there is one processor");
    const cpu_set_t processors = of_thread(0).processors;
    check_equal(ilk_pool_get_info(pool).threads, CPU_COUNT(&processors));
    pool_end(pool);
}

/* ---- Signals ---- */

static const int synchronous[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};

/* What the kernel says of a thread: bit 0 is signal 1. */
static uint64_t signals_held_by(const char *thread) {
    char path[300], line[256];
    uint64_t held = 0;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
    FILE *status = fopen(path, "r");
    check(status != NULL);
    while (fgets(line, sizeof line, status) != NULL) {
        (void)sscanf(line, "SigBlk: %" SCNx64, &held);
    }
    fclose(status);
    return held;
}

static bool is_named(const char *thread, const char *name) {
    char path[300], known[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", thread);
    FILE *comm = fopen(path, "r");
    check(comm != NULL);
    check(fgets(known, sizeof known, comm) != NULL);
    fclose(comm);
    known[strcspn(known, "\n")] = '\0';
    return strcmp(known, name) == 0;
}

/* Signals that the library's threads hold back: 1 to 31 but the synchronous ones, and those that none can. */
static uint64_t signals_to_hold(void) {
    uint64_t held = UINT64_C(0x7fffffff);
    held &= ~(UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1));
    for (size_t index = 0; index < sizeof synchronous / sizeof *synchronous; index++) {
        held &= ~(UINT64_C(1) << (synchronous[index] - 1));
    }
    return held;
}

static void expect_signals_of(const char *name) {
    const uint64_t deadline = far_limit();
    bool was_found = false;
    while (!was_found) { /* a thread names itself */
        check(ilk_now_ns() < deadline);
        DIR *threads = opendir("/proc/self/task");
        check(threads != NULL);
        for (const struct dirent *entry = readdir(threads); entry != NULL; entry = readdir(threads)) {
            if (entry->d_name[0] != '.' && is_named(entry->d_name, name)) {
                check_equal(signals_held_by(entry->d_name) & UINT64_C(0x7fffffff), signals_to_hold());
                was_found = true;
            }
        }
        closedir(threads);
    }
}

static void nothing(void *unused) {}

/* The starting thread holds all back. */
/* contract: pool.I */
TEST(threads_hold_all_but_synchronous_signals_back) {
    sigset_t all;
    check_equal(sigfillset(&all), 0);
    check_equal(pthread_sigmask(SIG_SETMASK, &all, NULL), 0);
    ilk_pool *pool = pool_make((ilk_pool_options){.name = "held", .threads = 1});
    ilk_timer timer;
    ilk_timer_init(&timer, nothing, NULL);
    check_equal(ilk_pool_submit_at(pool, &timer, ILK_FOREVER), ILK_OK);
    check_equal(ilk_set_hang_limit(MILLISECONDS(3600000)), ILK_OK);
    expect_signals_of("held-0");
    expect_signals_of("held-timers");
    expect_signals_of("interlock-watch");
    check(ilk_pool_cancel(pool, &timer));
    pool_end(pool);
}

static void crash(void *unused) {
    volatile int *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(page != MAP_FAILED);
    *page = 1;
}

static void on_crash(int number) {
    _exit(number == SIGSEGV ? 42 : 43);
}

static void crash_in_job(void *unused) {
    /* Not the handlers of a sanitizer. */
    const struct sigaction action = {.sa_handler = on_crash};
    check_equal(sigaction(SIGSEGV, &action, NULL), 0);
    ilk_pool *pool = pool_make((ilk_pool_options){.threads = 1});
    static ilk_job job;
    pool_submit(pool, &job, crash, NULL, NULL);
    pool_end(pool);
}
/* contract: pool.I */
TEST(a_crash_handler_runs_for_a_crash_in_a_job) {
    char output[512];
    const int status = child_run(crash_in_job, NULL, output, sizeof output);
    check(WIFEXITED(status));
    check_equal(WEXITSTATUS(status), 42);
}
