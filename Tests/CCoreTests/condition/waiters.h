/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that wait on a condition once, and a call right after an unlock.
 */
#ifndef INTERLOCK_TESTS_CONDITION_WAITERS_H
#define INTERLOCK_TESTS_CONDITION_WAITERS_H

#include "support/test.h"
#include <interlock/condition.h>
#include <sched.h>

struct waiter {
    ilk_condition *condition;
    ilk_mutex *mutex;
    uint64_t deadline_ns;
    ilk_status status;
    int *order; /* guarded */
    int place;
    struct thread thread;
    bool waits; /* guarded */
};

static inline void wait_once(void *context) {
    struct waiter *self = context;
    ilk_mutex_lock(self->mutex);
    self->waits = true;
    self->status = ilk_condition_wait_until(self->condition, self->mutex, self->deadline_ns);
    self->place = ++*self->order; /* under the mutex again, whatever the answer */
    ilk_mutex_unlock(self->mutex);
}
/* It is in the queue once the mutex is free again: a thread that sleeps may still wait for the mutex. */
static inline void await_queued(struct waiter *waiter) {
    for (bool waits = false; !waits; sched_yield()) {
        ilk_mutex_lock(waiter->mutex);
        waits = waiter->waits;
        ilk_mutex_unlock(waiter->mutex);
    }
}
static inline void start_waiters(struct waiter *waiters, size_t count, struct waiter like) {
    for (size_t index = 0; index < count; index++) {
        waiters[index] = like;
        thread_start(&waiters[index].thread, wait_once, &waiters[index]);
        await_queued(&waiters[index]);
        thread_await_sleep(&waiters[index].thread);
    }
}

/* The next unlock of this thread is followed by a call. The linker puts the function before the core's. */
static __thread void (*call_after_unlock)(void *context);
static __thread void *context_after_unlock;

static inline void after_next_unlock(void (*call)(void *context), void *context) {
    call_after_unlock = call;
    context_after_unlock = context;
}
void __real_ilk_mutex_unlock(ilk_mutex *mutex);
void __wrap_ilk_mutex_unlock(ilk_mutex *mutex);
void __wrap_ilk_mutex_unlock(ilk_mutex *mutex) {
    __real_ilk_mutex_unlock(mutex);
    void (*const call)(void *context) = call_after_unlock;
    call_after_unlock = NULL;
    if (call != NULL) {
        call(context_after_unlock);
    }
}

#endif
