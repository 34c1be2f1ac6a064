/* SPDX-License-Identifier: Apache-2.0
 *
 * An ilk_condition that ends as its waiters are woken, and one in a child of fork.
 */
#include "condition/waiters.h"
#include "diagnostics/reports.h"
#include "support/fork.h"
#include <interlock/condition.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- Freed by the thread that was woken ---- */

struct shared {
    ilk_condition condition;
    bool is_set; /* guarded */
};
struct owner {
    ilk_mutex mutex;
    struct shared *shared;
};
static void wait_and_free(void *context) {
    struct owner *owner = context;
    ilk_mutex_lock(&owner->mutex);
    struct shared *shared = owner->shared;
    while (!shared->is_set) {
        check_equal(ilk_condition_wait_until(&shared->condition, &owner->mutex, ILK_FOREVER), ILK_OK);
    }
    ilk_mutex_unlock(&owner->mutex);
    memset(shared, 0xA5, sizeof *shared);
    free(shared);
}
/* contract: condition.I */
TEST(the_woken_thread_may_free_the_condition) {
    for (int round = 0; round < stress_rounds(3000); round++) {
        struct owner owner;
        ilk_mutex_init(&owner.mutex, false);
        owner.shared = calloc(1, sizeof *owner.shared);
        check(owner.shared != NULL);
        struct thread thread;
        thread_start(&thread, wait_and_free, &owner);
        ilk_mutex_lock(&owner.mutex);
        owner.shared->is_set = true;
        ilk_condition_signal(&owner.shared->condition); /* the waiter frees it once the mutex is free */
        ilk_mutex_unlock(&owner.mutex);
        thread_join(&thread);
    }
}

/* On a page of its own, which goes: a waiter on its way out that touched the condition would crash. */
/* contract: condition.I */
TEST(the_thread_that_woke_the_last_may_free_the_condition) {
    enum { WAITERS = 4 };
    const size_t size = (size_t)sysconf(_SC_PAGESIZE);
    for (int round = 0; round < stress_rounds(1000); round++) {
        ilk_condition *condition =
            mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        check(condition != MAP_FAILED);
        ilk_mutex mutex = ILK_MUTEX_INIT;
        int order = 0;
        struct waiter waiters[WAITERS];
        start_waiters(waiters, WAITERS,
                      (struct waiter){condition, &mutex, ILK_FOREVER, ILK_CLOSED, &order, 0, {0}, false});
        const bool owns = round % 2 == 0, broadcasts = round % 4 < 2;
        if (owns) {
            ilk_mutex_lock(&mutex);
        }
        for (int index = 0; index < (broadcasts ? 1 : WAITERS); index++) {
            (broadcasts ? ilk_condition_broadcast : ilk_condition_signal)(condition);
        }
        check_equal(munmap(condition, size), 0);
        if (owns) {
            ilk_mutex_unlock(&mutex);
        }
        for (int index = 0; index < WAITERS; index++) {
            thread_join(&waiters[index].thread);
            check_equal(waiters[index].status, ILK_OK);
        }
    }
}

/* A condition, and the mutex that lies there once it is gone. */
union place {
    ilk_condition condition;
    ilk_mutex mutex;
};
static void signal_and_make_a_mutex(void *context) {
    union place *place = context;
    ilk_condition_signal(&place->condition);
    ilk_mutex_init(&place->mutex, false);
    check_equal(ilk_mutex_observe(&place->mutex, ILK_DIAGNOSE_HANG), ILK_OK);
}
/* The signal comes before the waiter sleeps. */
/* contract: condition.I */
TEST(a_signalled_wait_leaves_alone_what_diagnosis_watches_there) {
    union place place = {.condition = ILK_CONDITION_INIT};
    ilk_mutex mutex = ILK_MUTEX_INIT;
    check_equal(ilk_mutex_observe(&mutex, ILK_DIAGNOSE_HANG), ILK_OK); /* the wait is watched, too */
    ilk_mutex_lock(&mutex);
    after_next_unlock(signal_and_make_a_mutex, &place);
    check_equal(ilk_condition_wait_until(&place.condition, &mutex, ILK_FOREVER), ILK_OK);
    ilk_mutex_unlock(&mutex);
    ilk_mutex_lock(&place.mutex);
    char expected[64];
    snprintf(expected, sizeof expected, "  holds mutex %p ", (void *)&place.mutex);
    check_contains(diagnosis(ILK_AS_TEXT), expected);
    ilk_mutex_unlock(&place.mutex);
}

/* ---- Fork ---- */

/* contract: condition.h */
TEST(a_child_finds_no_waiter_of_a_condition) {
    need_children();
    ilk_condition condition = ILK_CONDITION_INIT;
    ilk_mutex mutex = ILK_MUTEX_INIT;
    int order = 0;
    const struct waiter waiting = {&condition, &mutex, ILK_FOREVER, ILK_CLOSED, &order, 0, {0}, false};
    struct waiter waiter, own;
    start_waiters(&waiter, 1, waiting);
    const pid_t child = fork();
    if (is_child(child)) {
        ilk_condition_signal(&condition);
        check_equal(ilk_atomic_load(&condition.word, memory_order_relaxed), 0);
        ilk_condition_broadcast(&condition);
        start_waiters(&own, 1, waiting);
        ilk_condition_signal(&condition);
        thread_join(&own.thread);
        _exit(own.status == ILK_OK ? 0 : 1);
    }
    expect_exit(child, 0);
    check(!thread_is_done(&waiter.thread));
    ilk_condition_signal(&condition);
    thread_join(&waiter.thread);
}
