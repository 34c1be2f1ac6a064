/* SPDX-License-Identifier: Apache-2.0
 *
 * pthread mutexes and condition variables (native.h). Deadlines are those of CLOCK_MONOTONIC, never of the
 * wall clock.
 */
#include "platform/native.h"

#include "platform/condition.h"
#include <errno.h>
#include <interlock/deadline.h>
#include <stdlib.h>

/* A destroyed or corrupted object of our own. */
static void check(int error) {
    if (error != 0) {
        abort();
    }
}

void ilk__native_mutex_lock(ilk__native_mutex *mutex) {
    check(pthread_mutex_lock(mutex));
}

bool ilk__native_mutex_try_lock(ilk__native_mutex *mutex) {
    const int error = pthread_mutex_trylock(mutex);
    check(error == EBUSY ? 0 : error);
    return error == 0;
}

void ilk__native_mutex_unlock(ilk__native_mutex *mutex) {
    check(pthread_mutex_unlock(mutex));
}

void ilk__native_condition_init(ilk__native_condition *condition) {
    check(ilk__condition_prepare(condition));
}

void ilk__native_condition_destroy(ilk__native_condition *condition) {
    check(pthread_cond_destroy(condition));
}

bool ilk__native_condition_wait(ilk__native_condition *condition, ilk__native_mutex *mutex,
                                uint64_t deadline_ns) {
    int previous;
    /* A thread cancelled in the wait would leave its sleeper on a dead stack. */
    check(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &previous));
    int error;
    if (deadline_ns == ILK_FOREVER) {
        error = pthread_cond_wait(condition, mutex);
    } else {
        error = ilk__condition_wait_until(condition, mutex, deadline_ns);
    }
    check(pthread_setcancelstate(previous, &previous));
    if (error != ETIMEDOUT) {
        check(error);
    }
    return error == 0;
}

void ilk__native_condition_signal(ilk__native_condition *condition) {
    check(pthread_cond_signal(condition));
}
