/* SPDX-License-Identifier: Apache-2.0
 *
 * What every C test uses: cmocka, checks on any thread, threads with handshakes, children for misuse.
 *
 * Schedules are forced: a test moves threads through numbered stages (`stage_reach`, `stage_await`), and the
 * kernel says that a thread sleeps inside a call (`thread_await_sleep`).
 *
 * ctest runs each test in a process of its own: `rwlock_test NAME`.
 */
#ifndef INTERLOCK_TESTS_SUPPORT_TEST_H
#define INTERLOCK_TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <interlock/deadline.h>
#include <interlock/status.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

/* Tests and the bodies of threads are given what not each of them uses. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* ---- Checks, usable on every thread (cmocka's own jump out of the main one only) ---- */

#define check(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            check_failed(__FILE__, __LINE__, #condition);                                                    \
        }                                                                                                    \
    } while (0)

_Noreturn void check_failed(const char *file, int line, const char *condition);

/* The next step, and its seed (0: none), for a failure to print; NULL ends it. */
void check_during(const char *what, uint64_t seed);

#define check_equal(actual, expected)                                                                        \
    check_equal_at(__FILE__, __LINE__, #actual " == " #expected, (long long)(actual), (long long)(expected))

void check_equal_at(const char *file, int line, const char *text, long long actual, long long expected);

/* ---- Stages ---- */

/* A number that only grows. Orders memory like a mutex: a test of what a primitive makes visible must not
 * have one between the write and the read. */
struct stage {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int value;
};

#define STAGE_INIT                                                                                           \
    { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 }

void stage_reach(struct stage *stage, int value);
void stage_advance(struct stage *stage); /* to the next number */
void stage_await(struct stage *stage, int value);
int stage_now(struct stage *stage);

/* ---- Time ---- */

#define MILLISECONDS(count) ((uint64_t)(count)*1000000)

/* ---- Threads ---- */

typedef void thread_body(void *context);

struct thread {
    pthread_t id;
    thread_body *body;
    void *context;
    struct stage life; /* 1: running, with kernel_id set; 2: the body has returned */
    pid_t kernel_id;
};

/* Starts `body(context)`; returns when it runs. */
void thread_start(struct thread *thread, thread_body *body, void *context);

/* Waits for the end. */
void thread_join(struct thread *thread);

/* True once the body has returned. */
bool thread_is_done(struct thread *thread);

/* Waits until the thread sleeps in futex(2), which both park backends end in. For threads whose body can
 * sleep only in the call under test. */
void thread_await_sleep(struct thread *thread);

/* Is it asleep there now? */
bool thread_sleeps(const struct thread *thread);

/* How often it has gone to sleep so far, anywhere; -1 when it has ended. */
long thread_times_slept(const struct thread *thread);

/* The calling thread, and those that it starts from here on, share one core. */
void thread_share_one_core(void);

/* Starts `body(context)` under SCHED_FIFO at `priority`. False: the system refuses. */
bool thread_try_real_time(pthread_t *id, int priority, void *(*body)(void *), void *context);

/* thread_interrupt sends SIGUSR1; thread_allow_interrupts, called once, gives it an empty handler that
 * interrupts system calls. */
void thread_allow_interrupts(void);
void thread_interrupt(const struct thread *thread);

/* Until another thread has made `condition` false. */
#define yield_while(condition)                                                                               \
    do {                                                                                                     \
        while (condition) {                                                                                  \
            sched_yield();                                                                                   \
        }                                                                                                    \
    } while (0)

/* Starts `count` threads that begin `body` at the same moment, each with `contexts` + i * `size`; returns
 * when all have ended. */
void threads_run(int count, thread_body *body, void *contexts, size_t size);

/* ---- Children ---- */

/* Runs `body(context)` in a child process, which ends after 30 s at most. Fills `output` with what it wrote to standard
 * error, cut to `size`; answers its status as waitpid(2) does. */
int child_run(void (*body)(void *context), void *context, char *output, size_t size);

/* Runs `misuse(context)` in a child process. It must end with SIGABRT after one line on standard error that
 * starts with "interlock: CALL(" and contains `text`. */
void expect_misuse(void (*misuse)(void *context), void *context, const char *call, const char *text);

/* ---- Sanitizers and sizes of stress ---- */

#if defined(__has_feature)
#define HAS_ADDRESS_SANITIZER __has_feature(address_sanitizer)
#define HAS_THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#if defined(__SANITIZE_ADDRESS__)
#define HAS_ADDRESS_SANITIZER 1
#else
#define HAS_ADDRESS_SANITIZER 0
#endif
#if defined(__SANITIZE_THREAD__)
#define HAS_THREAD_SANITIZER 1
#else
#define HAS_THREAD_SANITIZER 0
#endif
#endif

/* Both have an allocator, threads and system calls of their own. */
#define IS_SANITIZED (HAS_ADDRESS_SANITIZER || HAS_THREAD_SANITIZER)

/* A tenth of `count`; all of it with INTERLOCK_STRESS=full, a quarter with =less. Under a sanitizer, which is ten times
 * slower, a tenth with either, and a fortieth without. */
int stress_rounds(int count);

/* A test of many rounds calls it as it makes them: its limit of time counts from here, however slow the machine is. */
void test_goes_on(void);

/* For stress schedules; never 0 for a seed that is not. */
uint32_t next_random(uint32_t *state);

/* How a call that may wait is made. */
enum manner { TRIES, LIMITED, WAITS };

enum manner any_manner(uint32_t *random);

/* ---- The program ---- */

/* A test, which adds itself to its program's before main. CMakeLists.txt reads these lines: each is a test of ctest. */
#define TEST(claim)                                                                                          \
    static void claim(void **state);                                                                         \
    __attribute__((constructor)) static void claim##_is_added(void) {                                        \
        test_add(#claim, claim);                                                                             \
    }                                                                                                        \
    static void claim(void **state)

void test_add(const char *name, CMUnitTestFunction body);

/* The test ends here, skipped for a reason that it prints. */
#define skip_because(reason)                                                                                 \
    do {                                                                                                     \
        print_message("skipped: %s\n", reason);                                                              \
        skip();                                                                                              \
    } while (0)

#define skip_if(condition, reason)                                                                           \
    do {                                                                                                     \
        if (condition) {                                                                                     \
            skip_because(reason);                                                                            \
        }                                                                                                    \
    } while (0)

#ifdef ILK_CHECKED
#define IS_CHECKED true
#define skip_unless_checked() ((void)0)
#else
#define IS_CHECKED false
#define skip_unless_checked()                                                                                \
    skip_because("only a checked build knows what a thread holds (-DINTERLOCK_CHECKED=ON)")
#endif

#endif
