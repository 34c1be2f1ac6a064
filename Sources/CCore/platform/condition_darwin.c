/* SPDX-License-Identifier: Apache-2.0
 *
 * Apple's pthread_cond_timedwait follows the wall clock, which may be set: there is no
 * pthread_condattr_setclock. Its relative form takes the time left, which stands still while the machine
 * sleeps and CLOCK_MONOTONIC runs: a wait may end late by such a sleep, but not early. By the documentation;
 * never run.
 */
#include "platform/condition.h"

#if defined(__APPLE__)

#include "platform/clock.h"
#include <errno.h>
#include <stddef.h>

/* A longer wait wakes spuriously. */
#define LONGEST_WAIT_NS (UINT64_C(1000000000) * 60 * 60 * 24)

int ilk__condition_prepare(ilk__native_condition *condition) {
    return pthread_cond_init(condition, NULL);
}

int ilk__condition_wait_until(ilk__native_condition *condition, ilk__native_mutex *mutex,
                              uint64_t deadline_ns) {
    const uint64_t now = ilk__clock_now_ns();
    if (now >= deadline_ns) {
        return ETIMEDOUT;
    }
    const uint64_t left = deadline_ns - now;
    const struct timespec wait = ilk__clock_timespec(left < LONGEST_WAIT_NS ? left : LONGEST_WAIT_NS);
    const int error = pthread_cond_timedwait_relative_np(condition, mutex, &wait);
    return error == ETIMEDOUT && ilk__clock_now_ns() < deadline_ns ? 0 : error;
}

#endif
