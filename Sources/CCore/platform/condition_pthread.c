/* SPDX-License-Identifier: Apache-2.0
 *
 * POSIX: the condition variable is made with its clock.
 */
#include "platform/condition.h"

#if !defined(__APPLE__)

#include "platform/clock.h"

int ilk__condition_prepare(ilk__native_condition *condition) {
    pthread_condattr_t attributes;
    int error = pthread_condattr_init(&attributes);
    if (error != 0) {
        return error;
    }
    error = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (error == 0) {
        error = pthread_cond_init(condition, &attributes);
    }
    (void)pthread_condattr_destroy(&attributes);
    return error;
}

int ilk__condition_wait_until(ilk__native_condition *condition, ilk__native_mutex *mutex,
                              uint64_t deadline_ns) {
    const struct timespec deadline = ilk__clock_timespec(deadline_ns);
    return pthread_cond_timedwait(condition, mutex, &deadline);
}

#endif
