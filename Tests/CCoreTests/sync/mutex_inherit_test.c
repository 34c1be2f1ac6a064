/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mutex with priority inheritance, beside mutex_test.c: where the kernel has a say.
 */
#include "support/fork.h"
#include "support/sandbox.h"
#include "sync/mutex_waiter.h"
#include <errno.h>
#include <linux/futex.h>
#include <unistd.h>

static void need_inheritance(void) {
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, true);
    if (ilk_atomic_load(&mutex.settings, memory_order_relaxed) == 0) {
        print_message("skipped: no mutex inherits priority in this build\n");
        skip();
    }
}

/* Before Linux 5.14 there was only the wall clock. */
static void a_far_deadline_on_the_wall_clock_is_not_over_at_once(void **state) {
    (void)state;
    need_inheritance();
    need_children();
    pid_t child = fork();
    if (is_child(child)) {
        check(sandbox_refuse_futex(FUTEX_LOCK_PI2, ENOSYS));
        wait_by_far_deadlines(true);
        _exit(7);
    }
    expect_exit(child, 7);
}

static void wait_for_an_inheriting_owner_that_has_ended(void *context) {
    (void)context;
    ilk_mutex mutex;
    struct thread owner;
    ilk_mutex_init(&mutex, true);
    thread_start(&owner, lock_and_end, &mutex);
    thread_join(&owner);
    check(!ilk_mutex_try_lock(&mutex));
    (void)!ilk_mutex_lock_until(&mutex, ilk_deadline_in_ns(MILLISECONDS(1)));
}

static void waiting_for_an_inheriting_owner_that_has_ended_is_reported(void **state) {
    (void)state;
    need_inheritance();
    expect_misuse(wait_for_an_inheriting_owner_that_has_ended, NULL, "ilk_mutex_lock", "has ended");
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

static void a_sleeper_gets_an_inheriting_mutex_whose_owner_ends(void **state) {
    (void)state;
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_far_deadline_on_the_wall_clock_is_not_over_at_once),
    cmocka_unit_test(waiting_for_an_inheriting_owner_that_has_ended_is_reported),
    cmocka_unit_test(a_sleeper_gets_an_inheriting_mutex_whose_owner_ends),
};

TEST_MAIN(tests)
