/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports of threads that wait for what has no holder.
 */
#include "diagnostics/reports.h"
#include <interlock/condition.h>
#include <interlock/latch.h>
#include <interlock/mpmc.h>
#include <interlock/mutex.h>
#include <interlock/rwlock.h>
#include <interlock/wait_set.h>

static ilk_mutex mutex;
static ilk_rwlock lock;

/* A limit that no test reaches. */
static uint64_t far(void) {
    return ilk_deadline_in_ns(MILLISECONDS(3600000));
}
static void wait_at_latch(void *latch) {
    check_equal(ilk_latch_wait_until(latch, far()), ILK_OK);
}
static void wait_at_ring(void *ring) {
    int element;
    check_equal(ilk_mpmc_pop_until(ring, &element, sizeof element, far()), ILK_CLOSED);
}
static ilk_condition condition = ILK_CONDITION_INIT;

static void wait_with_mutex(void *unused) {
    ilk_mutex_lock(&mutex);
    check_equal(ilk_condition_wait_until(&condition, &mutex, far()), ILK_OK);
    ilk_mutex_unlock(&mutex);
}
static void wait_with_write_lock(void *unused) {
    ilk_rwlock_write_lock(&lock);
    check_equal(ilk_condition_write_wait_until(&condition, &lock, far()), ILK_OK);
    ilk_rwlock_write_unlock(&lock);
}
static void wait_with_read_lock(void *unused) {
    ilk_rwlock_read_lock(&lock);
    check_equal(ilk_condition_read_wait_until(&condition, &lock, far()), ILK_OK);
    ilk_rwlock_read_unlock(&lock);
}
static void wait_for_set(void *set) {
    void *keys[1];
    size_t count;
    check_equal(ilk_wait_set_wait_until(set, keys, 1, &count, far()), ILK_OK);
}

/* contract: ilk_write_diagnosis */
TEST(waits_without_a_holder_are_told_too) {
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    ilk_latch latch;
    ilk_latch_init(&latch, 1);
    ilk_mpmc *ring;
    check_equal(ilk_mpmc_create(&ring, 4, sizeof(int)), ILK_OK);
    check_equal(ilk_set_name(ring, "ring"), ILK_OK);
    ilk_wait_set *set;
    check_equal(ilk_wait_set_create(&set), ILK_OK);
    check_equal(ilk_set_name(set, "set"), ILK_OK);
    ilk_mutex_init(&mutex, false);
    ilk_rwlock_init(&lock);
    const struct {
        void (*wait)(void *);
        const char *function;
        void *context;
        const void *object;
        const char *format;
    } waits[] = {
        {wait_at_latch, "wait_at_latch", &latch, &latch, "latch %p"},
        {wait_at_ring, "wait_at_ring", ring, ring, "mpmc %p \"ring\""},
        {wait_for_set, "wait_for_set", set, set, "wait set %p \"set\""},
        {wait_with_mutex, "wait_with_mutex", NULL, &condition, "condition %p"},
        {wait_with_write_lock, "wait_with_write_lock", NULL, &condition, "condition %p"},
        {wait_with_read_lock, "wait_with_read_lock", NULL, &condition, "condition %p"},
    };
    enum { WAITS = sizeof waits / sizeof waits[0] };
    struct thread threads[WAITS];
    for (int i = 0; i < WAITS; i++) {
        thread_start(&threads[i], waits[i].wait, waits[i].context);
        thread_await_sleep(&threads[i]);
    }
    const char *text = diagnosis(ILK_AS_TEXT);
    for (int i = 0; i < WAITS; i++) {
        char object[64], expected[256];
        snprintf(object, sizeof object, waits[i].format, waits[i].object);
        snprintf(expected, sizeof expected, " (%d)\n  waits for %s, for ", (int)threads[i].kernel_id, object);
        check_contains(text, expected);
        const char *const rest = strstr(text, expected) + strlen(expected);
        const char *const limit = strstr(rest, "; its limit is in ");
        check(limit != NULL && limit < strchr(rest, '\n'));
#if defined(__GLIBC__) || defined(__APPLE__) /* a stack is one frame elsewhere */
        snprintf(expected, sizeof expected, "\n      0  %s+0x", waits[i].function);
        check_contains(text, expected);
#endif
    }
    ilk_latch_count_down(&latch);
    ilk_mpmc_close(ring);
    ilk_wait_set_wake(set);
    ilk_condition_broadcast(&condition);
    for (int i = 0; i < WAITS; i++) {
        thread_join(&threads[i]);
    }
    check(strstr(diagnosis(ILK_AS_TEXT), "waits for") == NULL);
    ilk_mpmc_destroy(ring);
    ilk_wait_set_destroy(set);
    ilk_rwlock_destroy(&lock);
}

/* The report of a thread that looks at itself. */
static void check_waits_no_longer(void) {
    check(strstr(diagnosis(ILK_AS_TEXT), "waits for") == NULL);
}
/* contract: ilk_write_diagnosis */
TEST(a_wait_that_has_ended_is_told_no_longer) {
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    ilk_mutex_init(&mutex, false);
    ilk_wait_set *set;
    check_equal(ilk_wait_set_create(&set), ILK_OK);
    void *keys[1];
    size_t count;
    check_equal(ilk_wait_set_wait_until(set, keys, 1, &count, ilk_deadline_in_ns(MILLISECONDS(2))),
                ILK_TIMEDOUT);
    check_waits_no_longer();
    ilk_mutex_lock(&mutex);
    check_equal(ilk_condition_wait_until(&condition, &mutex, ilk_deadline_in_ns(MILLISECONDS(2))),
                ILK_TIMEDOUT);
    check_waits_no_longer();
    ilk_mutex_unlock(&mutex);
    ilk_wait_set_destroy(set);
}

static void wait_for_set_and_report(void *set) {
    wait_for_set(set);
    check_waits_no_longer();
}
/* A member that is added wakes the thread, which finds nothing and sleeps again. */
/* contract: ilk_write_diagnosis */
TEST(a_wait_for_a_set_is_one_however_often_the_thread_sleeps) {
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    ilk_latch latch;
    ilk_latch_init(&latch, 1);
    ilk_wait_set *set;
    check_equal(ilk_wait_set_create(&set), ILK_OK);
    struct thread waiter;
    thread_start(&waiter, wait_for_set_and_report, set);
    thread_await_sleep(&waiter);
    const long slept = thread_times_slept(&waiter);
    check_equal(ilk_wait_set_add_latch(set, &latch, &latch), ILK_OK);
    yield_while(thread_times_slept(&waiter) == slept);
    thread_await_sleep(&waiter);
    check_contains(diagnosis(ILK_AS_TEXT), "  waits for wait set ");
    ilk_wait_set_wake(set);
    thread_join(&waiter);
    ilk_wait_set_destroy(set);
}

static bool is_set(void *value) {
    return *(const bool *)value;
}
static void wait_under_lock(void *value) {
    ilk_rwlock_write_lock(&lock);
    check_equal(ilk_rwlock_write_await_until(&lock, is_set, value, ILK_FOREVER), ILK_OK);
    ilk_rwlock_write_unlock(&lock);
}
/* A thread whose wait has timed out waits no longer. */
/* contract: ilk_write_diagnosis */
TEST(a_wait_under_a_lock_for_a_predicate_is_told_while_it_lasts) {
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    bool value = false;
    ilk_mutex_init(&mutex, false);
    ilk_rwlock_init(&lock);
    ilk_mutex_lock(&mutex);
    check_equal(ilk_mutex_await_until(&mutex, is_set, &value, ilk_deadline_in_ns(MILLISECONDS(2))),
                ILK_TIMEDOUT);
    ilk_mutex_unlock(&mutex);
    check(strstr(diagnosis(ILK_AS_TEXT), "waits for") == NULL);
    struct thread waiter;
    thread_start(&waiter, wait_under_lock, &value);
    thread_await_sleep(&waiter);
    char expected[64];
    snprintf(expected, sizeof expected, "  waits for rwlock %p ", (void *)&lock);
    check_contains(diagnosis(ILK_AS_TEXT), expected);
    ilk_rwlock_write_lock(&lock);
    value = true;
    ilk_rwlock_write_unlock(&lock);
    thread_join(&waiter);
    ilk_rwlock_destroy(&lock);
}

static void wait_under_mutex(void *value) {
    ilk_mutex_lock(&mutex);
    check_equal(ilk_mutex_await_until(&mutex, is_set, value, ILK_FOREVER), ILK_OK);
    ilk_mutex_unlock(&mutex);
}
/* contract: ilk_mutex_observe */
TEST(a_mutex_is_watched_also_while_a_thread_waits_under_it) {
    bool value = false;
    ilk_mutex_init(&mutex, false);
    check_equal(ilk_mutex_observe(&mutex, ILK_DIAGNOSE_HANG), ILK_OK);
    struct thread waiter;
    thread_start(&waiter, wait_under_mutex, &value);
    thread_await_sleep(&waiter);
    check(strstr(diagnosis(ILK_AS_TEXT), "holds") == NULL);
    ilk_mutex_lock(&mutex);
    char expected[64];
    snprintf(expected, sizeof expected, "  holds mutex %p ", (void *)&mutex);
    check_contains(diagnosis(ILK_AS_TEXT), expected);
    value = true;
    ilk_mutex_unlock(&mutex);
    thread_join(&waiter);
    check(strstr(diagnosis(ILK_AS_TEXT), "holds") == NULL);
}
