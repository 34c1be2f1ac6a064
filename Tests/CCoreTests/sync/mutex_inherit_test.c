/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mutex with priority inheritance, beside mutex_test.c: where the kernel has a say.
 */
/* contract: mutex.h */
#include "support/fork.h"
#include "support/sandbox.h"
#include "sync/mutex_waiter.h"
#include <errno.h>
#include <interlock/recursive_mutex.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static void need_inheritance(void) {
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, true);
    skip_if(ilk_atomic_load(&mutex.settings, memory_order_relaxed) == 0,
            "no mutex inherits priority in this build");
}

/* Before Linux 5.14 there was only the wall clock. */
/* contract: ilk_mutex_lock_until */
TEST(a_far_deadline_on_the_wall_clock_is_not_over_at_once) {
    need_inheritance();
    need_children();
    need_sandbox();
    pid_t child = fork();
    if (is_child(child)) {
        check(sandbox_refuse_futex(FUTEX_LOCK_PI2, ENOSYS));
        wait_by_far_deadlines(true);
        _exit(7);
    }
    expect_exit(child, 7);
}

static void find_it_taken(void *context) {
    check_equal(ilk_mutex_lock_until(context, 1), ILK_TIMEDOUT);
}
/* contract: ilk_mutex_lock_until */
TEST(a_deadline_of_long_ago_on_the_wall_clock_is_over) {
    need_inheritance();
    need_children();
    need_sandbox();
    pid_t child = fork();
    if (is_child(child)) {
        check(sandbox_refuse_futex(FUTEX_LOCK_PI2, ENOSYS));
        ilk_mutex mutex;
        ilk_mutex_init(&mutex, true);
        ilk_mutex_lock(&mutex);
        struct thread waiter;
        thread_start(&waiter, find_it_taken, &mutex);
        thread_join(&waiter);
        ilk_mutex_unlock(&mutex);
        _exit(7);
    }
    expect_exit(child, 7);
}

static void wait_for_an_inheriting_owner_that_has_ended(void *context) {
    ilk_mutex mutex;
    struct thread owner;
    ilk_mutex_init(&mutex, true);
    thread_start(&owner, lock_and_end, &mutex);
    thread_join(&owner);
    check(!ilk_mutex_try_lock(&mutex));
    (void)!ilk_mutex_lock_until(&mutex, ilk_deadline_in_ns(MILLISECONDS(1)));
}

TEST(waiting_for_an_inheriting_owner_that_has_ended_is_reported) {
    need_inheritance();
    expect_misuse(wait_for_an_inheriting_owner_that_has_ended, NULL, "ilk_mutex_lock_until", "has ended");
}

struct ending_owner {
    ilk_mutex mutex;
    struct stage stage; /* 1: owns it, 2: may end */
};

static void own_until_told(void *context) {
    struct ending_owner *self = context;
    ilk_mutex_lock(&self->mutex);
    stage_reach(&self->stage, 1);
    stage_await(&self->stage, 2);
}

TEST(a_sleeper_gets_an_inheriting_mutex_whose_owner_ends) {
    need_inheritance();
    static struct ending_owner owner;
    owner = (struct ending_owner){.stage = STAGE_INIT};
    ilk_mutex_init(&owner.mutex, true);
    struct thread thread;
    thread_start(&thread, own_until_told, &owner);
    stage_await(&owner.stage, 1);
    struct mutex_waiter waiter = {.mutex = &owner.mutex, .deadline_ns = ILK_FOREVER};
    thread_start(&waiter.thread, wait_for_mutex, &waiter);
    thread_await_sleep(&waiter.thread);
    stage_reach(&owner.stage, 2);
    thread_join(&thread);
    thread_join(&waiter.thread);
    check_equal(waiter.status, ILK_OK);
    check(ilk_mutex_try_lock(&owner.mutex)); /* and it is as any other */
    ilk_mutex_unlock(&owner.mutex);
}

/* ---- A recursive mutex whose owner ends ---- */

struct recursive_owner {
    ilk_recursive_mutex mutex;
    struct stage stage; /* 1: owns it thrice, 2: may end */
};
static void own_thrice_until_told(void *context) {
    struct recursive_owner *self = context;
    for (int held = 0; held < 3; held++) {
        ilk_recursive_mutex_lock(&self->mutex);
    }
    stage_reach(&self->stage, 1);
    stage_await(&self->stage, 2);
}
static void lock_and_unlock_once(void *context) {
    struct recursive_owner *self = context;
    ilk_recursive_mutex_lock(&self->mutex);
    ilk_recursive_mutex_unlock(&self->mutex);
}
/* contract: recursive_mutex.E */
TEST(a_sleeper_begins_anew_with_a_recursive_mutex_whose_owner_ends) {
    need_inheritance();
    static struct recursive_owner owner;
    owner = (struct recursive_owner){.stage = STAGE_INIT};
    ilk_recursive_mutex_init(&owner.mutex, true);
    struct thread thread, waiter;
    thread_start(&thread, own_thrice_until_told, &owner);
    stage_await(&owner.stage, 1);
    thread_start(&waiter, lock_and_unlock_once, &owner);
    thread_await_sleep(&waiter);
    stage_reach(&owner.stage, 2);
    thread_join(&thread);
    thread_join(&waiter);
    check(ilk_mutex_try_lock(&owner.mutex.mutex));
    ilk_mutex_unlock(&owner.mutex.mutex);
}

static void own_thrice(void *context) {
    for (int held = 0; held < 3; held++) {
        ilk_recursive_mutex_lock(context);
    }
}
static void wait_for_a_recursive_owner_that_has_ended(void *context) {
    ilk_recursive_mutex mutex;
    ilk_recursive_mutex_init(&mutex, true);
    struct thread owner;
    thread_start(&owner, own_thrice, &mutex);
    thread_join(&owner);
    ilk_recursive_mutex_lock(&mutex);
}
TEST(an_ended_recursive_owner_is_reported_with_its_own_call) {
    need_inheritance();
    expect_misuse(wait_for_a_recursive_owner_that_has_ended, NULL, "ilk_recursive_mutex_lock", "has ended");
}

/* ---- An owner that is just ending ---- */

long __real_ilk__system_call(long number, const uintptr_t arguments[6]);
long __wrap_ilk__system_call(long number, const uintptr_t arguments[6]);

/* Relaxed: threads that start, join and sleep order them. */
static ILK_ATOMIC(int) refusals;   /* of waits, that are still to come */
static ILK_ATOMIC(int) refused_by; /* errno */
static ILK_ATOMIC(bool) refuses_unlocks;

/* The kernel answers so between the owner's end and its own note of it: EAGAIN; or as a signal comes: EINTR. */
long __wrap_ilk__system_call(long number, const uintptr_t arguments[6]) {
    const unsigned operation = (unsigned)arguments[1] & ~(unsigned)FUTEX_PRIVATE_FLAG;
    if (number == SYS_futex && (operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2) &&
        ilk_atomic_load(&refusals, memory_order_relaxed) > 0) {
        ilk_atomic_fetch_sub(&refusals, 1, memory_order_relaxed);
        return -ilk_atomic_load(&refused_by, memory_order_relaxed);
    }
    if (number == SYS_futex && operation == FUTEX_UNLOCK_PI &&
        ilk_atomic_load(&refuses_unlocks, memory_order_relaxed)) {
        return -EPERM;
    }
    return __real_ilk__system_call(number, arguments);
}

TEST(a_waiter_asks_again_while_the_owner_is_just_ending) {
    need_inheritance();
    const int errors[] = {EAGAIN, EINTR};
    for (int kind = 0; kind < 4; kind++) {
        ilk_mutex mutex;
        ilk_mutex_init(&mutex, true);
        ilk_mutex_lock(&mutex);
        ilk_atomic_store(&refused_by, errors[kind % 2], memory_order_relaxed);
        ilk_atomic_store(&refusals, 3, memory_order_relaxed);
        struct mutex_waiter waiter = {.mutex = &mutex,
                                      .deadline_ns = kind < 2 ? ILK_FOREVER : ILK_FOREVER - 1};
        thread_start(&waiter.thread, wait_for_mutex, &waiter);
        thread_await_sleep(&waiter.thread);
        check_equal(ilk_atomic_load(&refusals, memory_order_relaxed), 0);
        ilk_mutex_unlock(&mutex);
        thread_join(&waiter.thread);
        check_equal(waiter.status, ILK_OK);
    }
}

static void unlock_where_the_system_refuses(void *context) {
    struct mutex_waiter waiter = {.deadline_ns = ILK_FOREVER};
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, true);
    ilk_mutex_lock(&mutex);
    waiter.mutex = &mutex;
    thread_start(&waiter.thread, wait_for_mutex, &waiter);
    thread_await_sleep(&waiter.thread);
    ilk_atomic_store(&refuses_unlocks, true, memory_order_relaxed);
    ilk_mutex_unlock(&mutex);
}
TEST(an_unlock_that_the_system_refuses_is_reported) {
    need_inheritance();
    expect_misuse(unlock_where_the_system_refuses, NULL, "ilk_mutex_unlock", "refuses to hand it over");
}
