/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to the clock: nanoseconds of CLOCK_MONOTONIC, and the conversion for system calls.
 */
#ifndef INTERLOCK_PLATFORM_CLOCK_H
#define INTERLOCK_PLATFORM_CLOCK_H

#include <interlock/deadline.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

uint64_t ilk__clock_now_ns(void);

/* Reads the clock only where there is a limit. */
static inline bool ilk__clock_is_past(uint64_t deadline_ns) {
    return deadline_ns != ILK_FOREVER && deadline_ns <= ilk__clock_now_ns();
}

/* The processor's counter: a few nanoseconds to read, a steady but unknown rate, small differences between
 * cores. For guesses only. */
uint64_t ilk__clock_ticks(void);

/* Saturating: a deadline near the end of time is not over at once. */
static inline uint64_t ilk__clock_after(uint64_t time_ns, uint64_t length_ns) {
    return length_ns < UINT64_MAX - time_ns ? time_ns + length_ns : UINT64_MAX;
}

/* For any uint64_t: no negative seconds and less than a billion nanoseconds, or futex(2) would refuse it. */
static inline struct timespec ilk__clock_timespec(uint64_t time_ns) {
    const uint64_t second = UINT64_C(1000000000);
    return (struct timespec){.tv_sec = (time_t)(time_ns / second), .tv_nsec = (long)(time_ns % second)};
}

#endif
