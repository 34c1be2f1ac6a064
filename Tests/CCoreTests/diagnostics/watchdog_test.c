/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that reports waits beyond a limit, beside the threads that wait; and the handlers that reports go to. The
 * linker puts the test into the middle of a snapshot.
 */
#include "diagnostics/report.h"
#include "diagnostics/reports.h"
#include <interlock/inline/atomic.h>
#include <interlock/mutex.h>

/* ---- The watchdog ---- */

static ilk_mutex waited_for;
static struct stage rounds = STAGE_INIT;
static struct thread late_waiter;
static ILK_ATOMIC(bool) interrupts_snapshot;

/* A snapshot has taken the time, and no record yet. */
void *__real_ilk__pages_allocate(size_t size);
void *__wrap_ilk__pages_allocate(size_t size);
void *__wrap_ilk__pages_allocate(size_t size) {
    if (ilk_atomic_exchange(&interrupts_snapshot, false, memory_order_relaxed)) {
        stage_reach(&rounds, 1);
        stage_await(&rounds, 2);
        thread_await_sleep(&late_waiter);
        stage_reach(&rounds, 3);
    } else if (stage_now(&rounds) >= 3) {
        stage_advance(&rounds);
    }
    return __real_ilk__pages_allocate(size);
}

static void take_it(void) {
    ilk_mutex_lock(&waited_for);
    ilk_mutex_unlock(&waited_for);
}

static void wait_within_a_snapshot(void *unused) {
    (void)unused;
    take_it(); /* known before */
    stage_await(&rounds, 1);
    stage_reach(&rounds, 2);
    take_it();
}

static void a_wait_that_begins_within_a_snapshot_is_not_beyond_the_limit(void **state) {
    (void)state;
    begin_reports();
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    ilk_mutex_init(&waited_for, false);
    thread_start(&late_waiter, wait_within_a_snapshot, NULL);
    thread_await_sleep(&late_waiter);
    ilk_mutex_lock(&waited_for);
    ilk_atomic_store(&interrupts_snapshot, true, memory_order_relaxed);
    check_equal(ilk_set_hang_limit(MILLISECONDS(3600000)), ILK_OK);
    stage_await(&rounds,
                5); /* a report would be over: it takes pages too, and then comes the next snapshot */
    check_equal(ilk_set_hang_limit(0), ILK_OK);
    check_equal(reports.count, 0);
    ilk_mutex_unlock(&waited_for);
    thread_join(&late_waiter);
}

static ILK_ATOMIC(bool) is_reported;
static void note_report(const ilk_report *report, void *context) {
    (void)context;
    if (report->kind == ILK_REPORT_HANG) {
        ilk_atomic_store(&is_reported, true, memory_order_relaxed);
    }
}

static void wait_until_reported(void *unused) {
    (void)unused;
    while (!ilk_atomic_load(&is_reported, memory_order_relaxed)) {
        check_equal(ilk_mutex_lock_until(&waited_for, ilk_deadline_in_ns(MILLISECONDS(250))), ILK_TIMEDOUT);
    }
}

/* For ThreadSanitizer: nothing but the records is between the watchdog and the thread's end. */
static void a_thread_may_end_after_its_wait_was_reported(void **state) {
    (void)state;
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

/* ---- Handlers of reports ---- */

static char one, other;
static void expect_one(const ilk_report *report, void *context) {
    (void)report;
    check(context == &one);
}
static void expect_other(const ilk_report *report, void *context) {
    (void)report;
    check(context == &other);
}

static void change_handlers(void *unused) {
    (void)unused;
    for (int round = stress_rounds(200000); round > 0; round--) {
        ilk_set_report_handler(expect_one, &one);
        ilk_set_report_handler(expect_other, &other);
    }
}

static void a_handler_gets_its_own_context(void **state) {
    (void)state;
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_wait_that_begins_within_a_snapshot_is_not_beyond_the_limit),
    cmocka_unit_test(a_thread_may_end_after_its_wait_was_reported),
    cmocka_unit_test(a_handler_gets_its_own_context),
};

TEST_MAIN(tests)
