/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for a predicate beside diagnosis, and beside fork.
 */
#include "condition/guard.h"
#include "support/fork.h"
#include <interlock/diagnostics.h>
#include <signal.h>

static bool always(void *context) {
    return true;
}

/* ---- Diagnosis ---- */

/* contract: ilk_mutex_observe */
TEST(a_mutex_that_is_no_longer_watched_still_wakes) {
    static struct guard guard;
    guard_init(&guard);
    int value = 0;
    check_equal(ilk_mutex_observe(&guard.mutex, 1), ILK_OK);
    struct waiter waiter = {.guard = &guard, .value = &value, .wanted = 1, .deadline_ns = ILK_FOREVER};
    start_waiter(&waiter);
    check_equal(ilk_mutex_observe(&guard.mutex, 0), ILK_OK);
    set_value(&guard, &value, 2);
    set_value(&guard, &value, 1);
    thread_join(&waiter.thread);
    check(ilk_mutex_try_lock(&guard.mutex));
    check_equal(guard_await(&guard, always, NULL, 0), ILK_OK);
    ilk_mutex_unlock(&guard.mutex);
    check_equal(ilk_atomic_load(&guard.mutex.word, memory_order_relaxed), 0);
}

/* contract: ilk_diagnose */
TEST(a_mutex_that_is_waited_under_bears_a_switch_of_diagnosis) {
    static struct guard guard;
    guard_init(&guard);
    int value = 0;
    struct waiter waiter = {.guard = &guard, .value = &value, .wanted = 1, .deadline_ns = ILK_FOREVER};
    start_waiter(&waiter);
    for (int round = 0; round < 2; round++) {
        ilk_diagnose(ILK_DIAGNOSE_ORDER);
        guard_lock(&guard);
        ilk_diagnose(0);
        guard_unlock(&guard); /* what was taken is given up, for diagnosis too */
    }
    ilk_diagnose(ILK_DIAGNOSE_ORDER);
    set_value(&guard, &value, 1);
    thread_join(&waiter.thread);
    ilk_diagnose(0);
    check_equal(waiter.status, ILK_OK);
}

/* ---- Fork ---- */

static volatile sig_atomic_t forked_child = -1;

static void fork_in_handler(int signal) {
    forked_child = fork();
}
/* Anew with a longer limit, where the machine lets it pass before the thread is seen asleep. */
static void times_out_in_a_child(struct guard *guard) {
    const pid_t parent = getpid();
    forked_child = -1;
    for (uint64_t limit = MILLISECONDS(300); forked_child == -1; limit *= 2) {
        int value = 0;
        struct waiter waiter = {.guard = guard, .value = &value, .wanted = 1};
        waiter.deadline_ns = ilk_deadline_in_ns(limit);
        thread_start(&waiter.thread, wait_for_wanted_and_end_a_child, &waiter);
        while (!thread_sleeps(&waiter.thread) && !thread_is_done(&waiter.thread)) {
        }
        if (!thread_is_done(&waiter.thread)) {
            check_equal(pthread_kill(waiter.thread.id, SIGUSR1), 0);
        }
        thread_join(&waiter.thread);
        check_equal(getpid(), parent);
    }
    expect_exit(forked_child, 0);
}
/* contract: condition.h */
TEST(a_child_that_a_handler_forks_ends_its_wait) {
    need_children();
    const struct sigaction action = {.sa_handler = fork_in_handler};
    check_equal(sigaction(SIGUSR1, &action, NULL), 0);
    for_each_guard(times_out_in_a_child);
}

static void forks(struct guard *guard) {
    int value = 0;
    struct waiter waiter = {.guard = guard, .value = &value, .wanted = 1, .deadline_ns = ILK_FOREVER};
    start_waiter(&waiter);
    guard_lock(guard);
    const pid_t child = fork();
    if (is_child(child)) {
        value = 1;
        check_equal(guard_await(guard, always, NULL, 0), ILK_OK); /* held as by the parent's thread */
        guard_unlock(guard);                                      /* there is no waiter */
        guard_lock(guard);
        guard_unlock(guard);
        check_equal(ilk_atomic_load(&guard->mutex.word, memory_order_relaxed), 0); /* nor a mark */
        struct waiter own = {.guard = guard, .value = &value, .wanted = 2, .deadline_ns = ILK_FOREVER};
        start_waiter(&own);
        set_value(guard, &value, 2);
        thread_join(&own.thread);
        ilk_rwlock_destroy(&guard->lock);
        _exit(own.status == ILK_OK ? 0 : 1);
    }
    guard_unlock(guard);
    expect_exit(child, 0);
    check(!thread_is_done(&waiter.thread));
    set_value(guard, &value, 1);
    thread_join(&waiter.thread);
}
/* contract: condition.h */
TEST(a_child_finds_no_waiter) {
    need_children();
    for_each_guard(forks);
}
