/* SPDX-License-Identifier: Apache-2.0
 *
 * Each kind of lock that a thread may wait under for a predicate, and threads that do so.
 */
#ifndef INTERLOCK_TESTS_CONDITION_GUARD_H
#define INTERLOCK_TESTS_CONDITION_GUARD_H

#include "support/test.h"
#include <interlock/condition.h>
#include <unistd.h>

/* ---- One kind of lock ---- */

struct guard {
    const char *name;
    bool inherits;
    bool is_rwlock;
    ilk_mutex mutex;
    ilk_rwlock lock;
};

static inline void guard_init(struct guard *guard) {
    ilk_mutex_init(&guard->mutex, guard->inherits);
    ilk_rwlock_init(&guard->lock);
}
static inline void guard_lock(struct guard *guard) {
    if (guard->is_rwlock) {
        ilk_rwlock_write_lock(&guard->lock);
    } else {
        ilk_mutex_lock(&guard->mutex);
    }
}
static inline void guard_unlock(struct guard *guard) {
    if (guard->is_rwlock) {
        ilk_rwlock_write_unlock(&guard->lock);
    } else {
        ilk_mutex_unlock(&guard->mutex);
    }
}
static inline ilk_status guard_await(struct guard *guard, ilk_predicate predicate, void *context,
                                     uint64_t deadline_ns) {
    return guard->is_rwlock ? ilk_rwlock_write_await_until(&guard->lock, predicate, context, deadline_ns)
                            : ilk_mutex_await_until(&guard->mutex, predicate, context, deadline_ns);
}

static inline void for_each_guard(void (*body)(struct guard *guard)) {
    static struct guard guards[] = {{.name = "mutex"},
                                    {.name = "inheriting mutex", .inherits = true},
                                    {.name = "rwlock", .is_rwlock = true}};
    for (size_t index = 0; index < sizeof guards / sizeof *guards; index++) {
        check_during(guards[index].name, 0);
        guard_init(&guards[index]);
        body(&guards[index]);
    }
    check_during(NULL, 0);
}

/* ---- A waiter ---- */

struct waiter {
    struct guard *guard;
    const int *value; /* guarded */
    int wanted;
    uint64_t deadline_ns;
    ilk_status status;
    int judged; /* how often its predicate was asked; guarded */
    int *order; /* guarded: counts those that came through */
    int place;
    struct thread thread;
};

static bool has_wanted(void *context) {
    struct waiter *self = context;
    self->judged++;
    return *self->value == self->wanted;
}
static inline void wait_for_wanted(void *context) {
    struct waiter *self = context;
    guard_lock(self->guard);
    self->status = guard_await(self->guard, has_wanted, self, self->deadline_ns);
    check_equal(*self->value == self->wanted, self->status == ILK_OK);
    if (self->order != NULL) {
        self->place = ++*self->order;
    }
    guard_unlock(self->guard);
}
static inline void wait_for_wanted_and_end_a_child(void *context) {
    struct waiter *self = context;
    const pid_t parent = getpid();
    wait_for_wanted(self);
    if (getpid() != parent) {
        _exit(self->status == ILK_TIMEDOUT ? 0 : 1);
    }
}
static inline void start_waiter(struct waiter *waiter) {
    thread_start(&waiter->thread, wait_for_wanted, waiter);
    thread_await_sleep(&waiter->thread);
}
static inline void set_value(struct guard *guard, int *value, int to) {
    guard_lock(guard);
    *value = to;
    guard_unlock(guard);
}

#endif
