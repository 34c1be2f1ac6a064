/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread that waits for an ilk_mutex, and one that ends as its owner.
 */
#ifndef INTERLOCK_TESTS_SYNC_MUTEX_WAITER_H
#define INTERLOCK_TESTS_SYNC_MUTEX_WAITER_H

#include "support/test.h"
#include <interlock/mutex.h>

struct mutex_waiter {
    ilk_mutex *mutex;
    uint64_t deadline_ns;
    uint64_t *plain; /* guarded by the mutex, for ThreadSanitizer */
    ilk_status status;
    struct thread thread;
};

static inline void wait_for_mutex(void *context) {
    struct mutex_waiter *self = context;
    self->status = ilk_mutex_lock_until(self->mutex, self->deadline_ns);
    if (self->status == ILK_OK) {
        if (self->plain != NULL) {
            ++*self->plain;
        }
        ilk_mutex_unlock(self->mutex);
    }
}

static inline void lock_and_end(void *context) {
    ilk_mutex_lock(context);
}

static inline void wait_by_far_deadlines(bool inherits) {
    const uint64_t deadlines[] = {ILK_FOREVER - 1, UINT64_MAX / 2 + ilk_now_ns(),
                                  ilk_deadline_in_ns(MILLISECONDS(86400000))};
    for (size_t i = 0; i < sizeof deadlines / sizeof *deadlines; i++) {
        ilk_mutex mutex;
        ilk_mutex_init(&mutex, inherits);
        ilk_mutex_lock(&mutex);
        struct mutex_waiter waiter = {.mutex = &mutex, .deadline_ns = deadlines[i]};
        thread_start(&waiter.thread, wait_for_mutex, &waiter);
        thread_await_sleep(&waiter.thread); /* fails where the wait is over at once */
        ilk_mutex_unlock(&mutex);
        thread_join(&waiter.thread);
        check_equal(waiter.status, ILK_OK);
    }
}

#endif
