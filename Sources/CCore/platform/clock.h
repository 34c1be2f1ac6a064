/* SPDX-License-Identifier: Apache-2.0
 *
 * The one door to the clock: nanoseconds of CLOCK_MONOTONIC, and the conversion that system calls
 * want. The explorer links a clock that moves only when a test says so.
 */
#ifndef INTERLOCK_PLATFORM_CLOCK_H
#define INTERLOCK_PLATFORM_CLOCK_H

#include <stdint.h>
#include <time.h>

uint64_t ilk__clock_now_ns(void);

/* The processor's own counter: a few nanoseconds to read, runs at an unknown steady rate, and may differ
 * a little between cores. For guesses only. */
uint64_t ilk__clock_ticks(void);

/* Any uint64_t is a valid time here: it never yields negative seconds or a billion nanoseconds,
 * which futex(2) refuses. */
static inline struct timespec ilk__clock_timespec(uint64_t time_ns) {
    const uint64_t second = UINT64_C(1000000000);
    return (struct timespec){.tv_sec = (time_t)(time_ns / second), .tv_nsec = (long)(time_ns % second)};
}

#endif
