/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that reports waits beyond a limit, beside the threads that wait and in children of fork; and the handlers
 * that reports go to. The linker puts the test into the middle of a round, and of the settings.
 */
#include "diagnostics/report.h"
#include "diagnostics/reports.h"
#include "platform/threads.h"
#include "support/fork.h"
#include <fcntl.h>
#include <interlock/inline/atomic.h>
#include <interlock/mutex.h>
#include <interlock/spsc.h>
#include <signal.h>
#include <sys/wait.h>

/* ---- The watchdog ---- */

static ilk_mutex waited_for;

static void take_it(void) {
    ilk_mutex_lock(&waited_for);
    ilk_mutex_unlock(&waited_for);
}

static ILK_ATOMIC(bool) is_reported;
static void note_report(const ilk_report *report, void *context) {
    if (report->kind == ILK_REPORT_HANG) {
        ilk_atomic_store(&is_reported, true, memory_order_relaxed);
    }
}

/* What the watchdog's clock is ahead of the system's. */
static ILK_ATOMIC(uint64_t) ahead_ns;

uint64_t __real_ilk__clock_now_ns(void);
uint64_t __wrap_ilk__clock_now_ns(void);
uint64_t __wrap_ilk__clock_now_ns(void) {
    return __real_ilk__clock_now_ns() + ilk_atomic_load(&ahead_ns, memory_order_relaxed);
}

/* The watchdog has taken the time, and looks at the records: in every round once, or twice and more where it
 * reports. */
static struct stage looks = STAGE_INIT;
static struct stage late = STAGE_INIT;
static struct thread late_waiter;
static ILK_ATOMIC(bool) interrupts_round;
static struct stage stalled = STAGE_INIT;
static ILK_ATOMIC(bool) stalls_round;

struct ilk__record *__real_ilk__records_first(void);
struct ilk__record *__wrap_ilk__records_first(void);
struct ilk__record *__wrap_ilk__records_first(void) {
    if (ilk_atomic_exchange(&interrupts_round, false, memory_order_relaxed)) {
        stage_reach(&late, 1);
        stage_await(&late, 2);
        thread_await_sleep(&late_waiter);
    }
    if (ilk_atomic_exchange(&stalls_round, false, memory_order_relaxed)) {
        stage_reach(&stalled, 1);
        stage_await(&stalled, 2);
    }
    stage_advance(&looks);
    return __real_ilk__records_first();
}

/* Returns when the watchdog has begun and ended a round after this call, which ends its sleep. */
static void have_a_round(uint64_t limit_ns) {
    for (int round = 0; round < 2; round++) {
        const int now = stage_now(&looks);
        check_equal(ilk_set_hang_limit(limit_ns), ILK_OK);
        stage_await(&looks, now + 1);
    }
}

static void wait_late(void *unused) {
    take_it(); /* known before */
    stage_await(&late, 1);
    stage_reach(&late, 2);
    take_it();
}
/* contract: ilk_set_hang_limit, ilk_set_hang_signal */
TEST(a_wait_that_begins_within_a_round_is_not_beyond_the_limit) {
    begin_reports();
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    ilk_mutex_init(&waited_for, false);
    thread_start(&late_waiter, wait_late, NULL);
    thread_await_sleep(&late_waiter);
    ilk_mutex_lock(&waited_for);
    ilk_atomic_store(&interrupts_round, true, memory_order_relaxed);
    have_a_round(MILLISECONDS(3600000));
    have_a_round(MILLISECONDS(3600000));
    check_equal(ilk_set_hang_limit(0), ILK_OK);
    check_equal(stage_now(&late), 2);
    check_equal(reports.count, 0);
    ilk_mutex_unlock(&waited_for);
    thread_join(&late_waiter);
}

static void wait_once(void *unused) {
    take_it();
}

/* Another thread waits for the mutex, which this one has, and is watched. */
static void begin_to_wait(struct thread *waiter) {
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    ilk_mutex_init(&waited_for, false);
    ilk_mutex_lock(&waited_for);
    thread_start(waiter, wait_once, NULL);
    thread_await_sleep(waiter);
}

/* The whole process stands still: the watchdog finds itself late by as much as its threads seem to have waited. Then
 * the wait goes on, and its own time is beyond the limit. */
/* contract: ilk_set_hang_limit, ilk_set_hang_signal */
TEST(what_a_process_is_stopped_for_is_no_wait) {
    static const uint64_t limit_ns = MILLISECONDS(3600000);
    ilk_set_report_handler(note_report, NULL);
    struct thread waiter;
    begin_to_wait(&waiter);
    have_a_round(limit_ns);
    ilk_atomic_store(&ahead_ns, 2 * limit_ns, memory_order_relaxed);
    for (int round = 0; round < 10; round++) { /* a report would be over by then */
        have_a_round(limit_ns);
    }
    check(!ilk_atomic_load(&is_reported, memory_order_relaxed));
    while (!ilk_atomic_load(&is_reported, memory_order_relaxed)) {
        have_a_round(MILLISECONDS(1)); /* as long it has waited */
    }
    ilk_atomic_store(&ahead_ns, 0, memory_order_relaxed);
    check_equal(ilk_set_hang_limit(0), ILK_OK);
    ilk_mutex_unlock(&waited_for);
    thread_join(&waiter);
}

/* Another thread begins to wait while the handler runs, which takes two hours. */
enum { HOUR_MS = 3600000 };
static struct thread second_waiter;
static struct stage slow_reports = STAGE_INIT;
static void report_slowly(const ilk_report *report, void *context) {
    check_equal(report->kind, ILK_REPORT_HANG);
    if (stage_now(&slow_reports) == 0) {
        thread_start(&second_waiter, wait_once, NULL);
        thread_await_sleep(&second_waiter);
        ilk_atomic_store(&ahead_ns, MILLISECONDS(2 * HOUR_MS), memory_order_relaxed);
        check_equal(ilk_set_hang_limit(MILLISECONDS(HOUR_MS)), ILK_OK);
    }
    stage_advance(&slow_reports);
}
/* contract: ilk_set_hang_limit, ilk_set_hang_signal */
TEST(what_a_report_takes_is_waited_for) {
    ilk_set_report_handler(report_slowly, NULL);
    struct thread waiter;
    begin_to_wait(&waiter);
    check_equal(ilk_set_hang_limit(MILLISECONDS(1)), ILK_OK);
    stage_await(&slow_reports, 1);
    for (int round = 0; round < 10; round++) { /* a report would be over by then */
        have_a_round(MILLISECONDS(HOUR_MS));
    }
    check_equal(stage_now(&slow_reports), 2);
    check_equal(ilk_set_hang_limit(0), ILK_OK);
    ilk_mutex_unlock(&waited_for);
    thread_join(&waiter);
    thread_join(&second_waiter);
}

enum { CROWD = 400 };

__attribute__((noinline)) static void wait_deep_down(volatile int depth) {
    if (depth > 0) {
        wait_deep_down(depth - 1);
        depth = 0; /* no tail call: each has a frame */
    } else {
        take_it();
    }
}

static void wait_with_a_full_stack(void *unused) {
    wait_deep_down(ILK_STACK_FRAMES);
}

static struct stage crowd_reports = STAGE_INIT;
static void count_crowd(const ilk_report *report, void *waits) {
    static const char line[] = "\n  waits for ";
    if (stage_now(&crowd_reports) != 0) {
        return;
    }
    for (const char *place = report->text; (place = strstr(place, line)) != NULL; place += sizeof line - 1) {
        *(int *)waits += 1;
    }
    stage_reach(&crowd_reports, 1);
}
/* contract: ilk_set_hang_limit, ilk_set_hang_signal */
TEST(a_report_has_all_threads_of_a_crowd) {
    static struct thread crowd[CROWD];
    int waits = 0;
    ilk_set_report_handler(count_crowd, &waits);
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    ilk_mutex_init(&waited_for, false);
    ilk_mutex_lock(&waited_for);
    for (int index = 0; index < CROWD; index++) {
        thread_start(&crowd[index], wait_with_a_full_stack, NULL);
    }
    for (int index = 0; index < CROWD; index++) {
        thread_await_sleep(&crowd[index]);
    }
    check_equal(ilk_set_hang_limit(MILLISECONDS(1)), ILK_OK);
    stage_await(&crowd_reports, 1);
    check_equal(ilk_set_hang_limit(0), ILK_OK);
    check_equal(waits, CROWD);
    ilk_mutex_unlock(&waited_for);
    for (int index = 0; index < CROWD; index++) {
        thread_join(&crowd[index]);
    }
}

static void count_report(const ilk_report *report, void *count) {
    ilk_atomic_fetch_add((ILK_ATOMIC(unsigned) *)count, 1, memory_order_relaxed);
}
/* contract: ilk_set_hang_limit, ilk_set_hang_signal */
TEST(a_wait_beyond_the_limit_is_reported_once) {
    static ILK_ATOMIC(unsigned) count;
    ilk_set_report_handler(count_report, (void *)&count);
    ilk_set_report_abort(true); /* of orders, and of waits for oneself */
    struct thread waiter;
    begin_to_wait(&waiter);
    while (ilk_atomic_load(&count, memory_order_relaxed) == 0) {
        have_a_round(1);
    }
    for (int round = 0; round < 10; round++) {
        have_a_round(1);
    }
    ilk_set_report_abort(false);
    check_equal(ilk_set_hang_limit(0), ILK_OK);
    check_equal(ilk_atomic_load(&count, memory_order_relaxed), 1);
    ilk_mutex_unlock(&waited_for);
    thread_join(&waiter);
}

static void wait_until_reported(void *unused) {
    while (!ilk_atomic_load(&is_reported, memory_order_relaxed)) {
        check_equal(ilk_mutex_lock_until(&waited_for, ilk_deadline_in_ns(MILLISECONDS(250))), ILK_TIMEDOUT);
    }
}

/* For ThreadSanitizer: nothing but the records is between the watchdog and the thread's end. */
/* contract: ilk_set_hang_limit, ilk_set_hang_signal */
TEST(a_thread_may_end_after_its_wait_was_reported) {
    ilk_set_report_handler(note_report, NULL);
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    ilk_mutex_init(&waited_for, false);
    ilk_mutex_lock(&waited_for);
    check_equal(ilk_set_hang_limit(MILLISECONDS(1)), ILK_OK);
    struct thread waiter;
    thread_start(&waiter, wait_until_reported, NULL);
    thread_join(&waiter);
    check_equal(ilk_set_hang_limit(0), ILK_OK);
    ilk_mutex_unlock(&waited_for);
}

/* Ten times a second: with the tables locked, a program that names its objects would wait. */
static ILK_ATOMIC(uint32_t) pages_taken;
void *__real_ilk__pages_allocate(size_t size);
void *__wrap_ilk__pages_allocate(size_t size);
void *__wrap_ilk__pages_allocate(size_t size) {
    ilk_atomic_fetch_add(&pages_taken, 1, memory_order_relaxed);
    return __real_ilk__pages_allocate(size);
}
/* contract: ilk_set_hang_limit, ilk_set_hang_signal */
TEST(a_round_copies_no_objects_while_nothing_is_beyond_the_limit) {
    struct thread waiter;
    begin_to_wait(&waiter);
    const uint32_t before = ilk_atomic_load(&pages_taken, memory_order_relaxed);
    have_a_round(MILLISECONDS(3600000));
    have_a_round(MILLISECONDS(3600000));
    check_equal(ilk_set_hang_limit(0), ILK_OK);
    check_equal(ilk_atomic_load(&pages_taken, memory_order_relaxed), before);
    ilk_mutex_unlock(&waited_for);
    thread_join(&waiter);
}

/* ---- Descriptors ---- */

static unsigned open_descriptors(void) {
    unsigned count = 0;
    for (int file = 0; file < 256; file++) {
        count += fcntl(file, F_GETFD) >= 0;
    }
    return count;
}

/* A daemon closes what it does not know, and gives the numbers to files of its own. */
/* contract: ilk_set_hang_limit, ilk_set_hang_signal */
TEST(diagnosis_keeps_no_file_descriptor_open) {
    const unsigned before = open_descriptors();
    ilk_diagnose(ILK_DIAGNOSE_ALL);
    ilk_spsc *ring;
    check_equal(ilk_spsc_create(&ring, 4, sizeof(int)), ILK_OK);
    check_equal(ilk_set_hang_signal(SIGUSR2), ILK_OK);
    have_a_round(MILLISECONDS(3600000));
    check_equal(open_descriptors(), before);
    check_equal(ilk_set_hang_limit(0), ILK_OK);
    check_equal(ilk_set_hang_signal(0), ILK_OK);
    ilk_spsc_destroy(ring);
}

/* ---- The signal ---- */

static void on_signal_before(int number) {}

static void (*handler_of(int number))(int) {
    struct sigaction action;
    check_equal(sigaction(number, NULL, &action), 0);
    return action.sa_handler;
}
/* contract: ilk_set_hang_limit, ilk_set_hang_signal */
TEST(a_signal_set_twice_is_given_back_as_it_was) {
    const struct sigaction action = {.sa_handler = on_signal_before};
    check_equal(sigaction(SIGUSR1, &action, NULL), 0);
    check_equal(ilk_set_hang_signal(SIGUSR1), ILK_OK);
    check_equal(ilk_set_hang_signal(SIGUSR1), ILK_OK);
    check(handler_of(SIGUSR1) != on_signal_before);
    check_equal(ilk_set_hang_signal(SIGUSR2), ILK_OK);
    check(handler_of(SIGUSR1) == on_signal_before);
    check_equal(ilk_set_hang_signal(0), ILK_OK);
    check(handler_of(SIGUSR2) == SIG_DFL);
}

/* The program knows nothing of the signal. */
/* contract: ilk_set_hang_limit, ilk_set_hang_signal */
TEST(what_the_signal_interrupts_goes_on) {
    check_equal(ilk_set_hang_signal(SIGUSR2), ILK_OK);
    struct sigaction action;
    check_equal(sigaction(SIGUSR2, NULL, &action), 0);
    check((action.sa_flags & SA_RESTART) != 0);
    check_equal(ilk_set_hang_signal(0), ILK_OK);
}

/* ---- fork ---- */

static ILK_ATOMIC(uint32_t) forks;
static void fork_in_handler(int number) {
    const pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    int status;
    if (child > 0 && waitpid(child, &status, 0) == child) {
        ilk_atomic_fetch_add(&forks, 1, memory_order_relaxed);
    }
}

/* In the middle of a change of the settings. */
static bool interrupts_settings;
static void interrupt_settings(void) {
    if (interrupts_settings) {
        check_equal(raise(SIGUSR1), 0);
    }
}
static bool refuses_threads;
bool __real_ilk__thread_start(ilk__thread *thread, const struct ilk__thread_options *options,
                              void (*function)(void *context), void *context);
bool __wrap_ilk__thread_start(ilk__thread *thread, const struct ilk__thread_options *options,
                              void (*function)(void *context), void *context);
bool __wrap_ilk__thread_start(ilk__thread *thread, const struct ilk__thread_options *options,
                              void (*function)(void *context), void *context) {
    if (refuses_threads) {
        return false;
    }
    interrupt_settings();
    const bool is_started = __real_ilk__thread_start(thread, options, function, context);
    interrupt_settings();
    return is_started;
}

/* The system has no thread for it; then it has one for something else. */
/* contract: ilk_set_hang_limit, ilk_set_hang_signal */
TEST(a_limit_that_has_failed_is_none) {
    ilk_set_report_handler(note_report, NULL);
    struct thread waiter;
    begin_to_wait(&waiter);
    ilk_atomic_store(&ahead_ns, MILLISECONDS(1000), memory_order_relaxed);
    refuses_threads = true;
    check_equal(ilk_set_hang_limit(MILLISECONDS(1)), ILK_NOMEM);
    refuses_threads = false;
    check_equal(ilk_set_hang_signal(SIGUSR1), ILK_OK);
    const int now = stage_now(&looks);
    check_equal(raise(SIGUSR1), 0);
    stage_await(&looks, now + 1); /* the thread's first round is over, or has found the limit */
    have_a_round(MILLISECONDS(HOUR_MS));
    check(!ilk_atomic_load(&is_reported, memory_order_relaxed));
    check_equal(ilk_set_hang_limit(0), ILK_OK);
    check_equal(ilk_set_hang_signal(0), ILK_OK);
    ilk_mutex_unlock(&waited_for);
    thread_join(&waiter);
}
int __real_sigaction(int number, const struct sigaction *action, struct sigaction *before);
int __wrap_sigaction(int number, const struct sigaction *action, struct sigaction *before);
int __wrap_sigaction(int number, const struct sigaction *action, struct sigaction *before) {
    interrupt_settings();
    return __real_sigaction(number, action, before);
}

static void change_settings(void *unused) {
    struct sigaction action = {.sa_handler = fork_in_handler};
    check_equal(sigaction(SIGUSR1, &action, NULL), 0);
    interrupts_settings = true;
    check_equal(ilk_set_hang_limit(MILLISECONDS(3600000)), ILK_OK);
    check_equal(ilk_atomic_load(&forks, memory_order_relaxed), 1); /* held back, both became one */
    check_equal(ilk_set_hang_signal(SIGUSR2), ILK_OK);
    check_equal(ilk_atomic_load(&forks, memory_order_relaxed), 2);
    check_equal(ilk_set_hang_signal(0), ILK_OK);
    check_equal(ilk_atomic_load(&forks, memory_order_relaxed), 3);
    _exit(7);
}

TEST(a_handler_that_forks_may_interrupt_the_settings) {
    need_children();
    char output[4096];
    const int status = child_run(change_settings, NULL, output, sizeof output);
    check_text(output, "");
    check(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static uint64_t samples_of(const void *object) {
    static ilk_figures figures[8];
    const size_t count = ilk_figures_snapshot(figures, 8);
    for (size_t index = 0; index < count && index < 8; index++) {
        if (figures[index].object == object) {
            return figures[index].samples;
        }
    }
    return 0;
}

static void sample_a_ring(void *unused) {
    ilk_spsc *ring;
    check_equal(ilk_spsc_create(&ring, 4, sizeof(int)), ILK_OK);
    yield_while(samples_of(ring) == 0);
    _exit(7);
}

/* The parent has a thread that samples, and the child has not. */
TEST(a_child_of_fork_samples_its_rings) {
    need_children();
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    ilk_spsc *ring;
    check_equal(ilk_spsc_create(&ring, 4, sizeof(int)), ILK_OK);
    yield_while(samples_of(ring) == 0);
    char output[4096];
    const int status = child_run(sample_a_ring, NULL, output, sizeof output);
    check_text(output, "");
    check(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    ilk_spsc_destroy(ring);
}

/* Its own thread looks at rings alone: ten times a second, and it has looked three times. */
static void ask_for_nothing_but_samples(void *unused) {
    ilk_set_report_handler(note_report, NULL);
    ilk_atomic_store(&is_reported, false, memory_order_relaxed);
    ilk_mutex_init(&waited_for, false);
    ilk_mutex_lock(&waited_for);
    struct thread waiter;
    thread_start(&waiter, wait_once, NULL);
    thread_await_sleep(&waiter);
    ilk_spsc *ring;
    check_equal(raise(SIGUSR2), 0);
    check_equal(ilk_spsc_create(&ring, 4, sizeof(int)), ILK_OK);
    yield_while(samples_of(ring) < 3);
    check(!ilk_atomic_load(&is_reported, memory_order_relaxed));
    check_equal(ilk_set_hang_limit(MILLISECONDS(1)), ILK_OK);
    yield_while(!ilk_atomic_load(&is_reported, memory_order_relaxed));
    _exit(7);
}

TEST(a_child_of_fork_has_no_limit_and_no_signal_until_it_asks) {
    need_children();
    ilk_diagnose(ILK_DIAGNOSE_ALL);
    check_equal(ilk_set_hang_limit(MILLISECONDS(1)), ILK_OK);
    check_equal(ilk_set_hang_signal(SIGUSR2), ILK_OK);
    char output[4096];
    const int status = child_run(ask_for_nothing_but_samples, NULL, output, sizeof output);
    check_text(output, "");
    check(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    check_equal(ilk_set_hang_limit(0), ILK_OK);
    check_equal(ilk_set_hang_signal(0), ILK_OK);
}

static void have_a_round_in_a_child(void *unused) {
    have_a_round(MILLISECONDS(3600000));
    _exit(7);
}

/* Its parent's thread is within a round, and has not seen the signal yet. */
/* contract: ilk_set_hang_limit, ilk_set_hang_signal */
TEST(a_child_of_fork_does_not_answer_its_parents_signal) {
    need_children();
    check_equal(ilk_set_hang_signal(SIGUSR2), ILK_OK);
    ilk_atomic_store(&stalls_round, true, memory_order_relaxed);
    check_equal(ilk_set_hang_limit(MILLISECONDS(3600000)), ILK_OK);
    stage_await(&stalled, 1);
    check_equal(raise(SIGUSR2), 0);
    char output[4096];
    const int status = child_run(have_a_round_in_a_child, NULL, output, sizeof output);
    check_text(output, "");
    check(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    stage_reach(&stalled, 2);
    check_equal(ilk_set_hang_limit(0), ILK_OK);
    check_equal(ilk_set_hang_signal(0), ILK_OK);
}

/* ---- Handlers of reports ---- */

static char one, other;
static void expect_one(const ilk_report *report, void *context) {
    check(context == &one);
}
static void expect_other(const ilk_report *report, void *context) {
    check(context == &other);
}

static void change_handlers(void *unused) {
    for (int round = stress_rounds(200000); round > 0; round--) {
        ilk_set_report_handler(expect_one, &one);
        ilk_set_report_handler(expect_other, &other);
    }
}
/* contract: ilk_set_report_abort, ilk_set_report_handler */
TEST(a_handler_gets_its_own_context) {
    ilk_set_report_handler(expect_one, &one);
    struct thread changer;
    thread_start(&changer, change_handlers, NULL);
    while (!thread_is_done(&changer)) {
        for (int round = 0; round < 1000; round++) {
            ilk__report_deliver(ILK_REPORT_INVERSION, "", "");
        }
    }
    thread_join(&changer);
}
