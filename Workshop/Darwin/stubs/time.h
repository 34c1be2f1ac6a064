/* SPDX-License-Identifier: Apache-2.0
 *
 * Clocks. CLOCK_MONOTONIC goes on while the machine sleeps.
 */
#ifndef INTERLOCK_STUB_TIME_H
#define INTERLOCK_STUB_TIME_H

#include <sys/types.h>

struct timespec {
    time_t tv_sec;
    long tv_nsec;
};

typedef enum {
    CLOCK_REALTIME = 0,
    CLOCK_MONOTONIC = 6,
} clockid_t;

int clock_gettime(clockid_t clock, struct timespec *time);
int nanosleep(const struct timespec *length, struct timespec *left);

#endif
