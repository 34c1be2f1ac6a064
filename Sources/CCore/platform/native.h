/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to pthread mutexes and condition variables, for the park layer's fallback and cold tables. No
 * call fails: an error from pthread means a broken program, and aborts.
 *
 * A condition has one waiter at a time: glibc before 2.41 can lose a wake-up of several (bug 25847).
 */
#ifndef INTERLOCK_PLATFORM_NATIVE_H
#define INTERLOCK_PLATFORM_NATIVE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef pthread_mutex_t ilk__native_mutex;
typedef pthread_cond_t ilk__native_condition;

#define ILK__NATIVE_MUTEX_INIT PTHREAD_MUTEX_INITIALIZER

void ilk__native_mutex_lock(ilk__native_mutex *mutex);
bool ilk__native_mutex_try_lock(
    ilk__native_mutex *mutex); /* false: another call has it, this thread's perhaps */
void ilk__native_mutex_unlock(ilk__native_mutex *mutex);

void ilk__native_condition_init(ilk__native_condition *condition);
void ilk__native_condition_destroy(ilk__native_condition *condition);
/* With `mutex` held, until a CLOCK_MONOTONIC deadline or for ever; true unless it passed. May wake
 * spuriously. Not a cancellation point. */
bool ilk__native_condition_wait(ilk__native_condition *condition, ilk__native_mutex *mutex,
                                uint64_t deadline_ns);
void ilk__native_condition_signal(ilk__native_condition *condition);

#endif
