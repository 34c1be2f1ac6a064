/* SPDX-License-Identifier: Apache-2.0
 *
 * Deadlines are points in time, not lengths, so that a wait that starts over does not start its clock over:
 * absolute nanoseconds of CLOCK_MONOTONIC, which a change of the date does not move (but see
 * ilk_mutex_lock_until).
 *
 *     #include <interlock/deadline.h>
 *     #include <interlock/semaphore.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *         ilk_semaphore permits = ILK_SEMAPHORE_INIT(1);
 *         uint64_t deadline = ilk_deadline_in_ns(1000000); // in a millisecond, for both waits together
 *         ilk_status first = ilk_semaphore_wait_until(&permits, deadline);
 *         ilk_status second = ilk_semaphore_wait_until(&permits, deadline);
 *         printf("%s %s\n", ilk_status_name(first), ilk_status_name(second)); // prints ILK_OK ILK_TIMEDOUT
 *         return ilk_now_ns() >= deadline ? 0 : 1; // a wait does not time out before its deadline
 *     }
 */
#ifndef INTERLOCK_DEADLINE_H
#define INTERLOCK_DEADLINE_H

#include <interlock/inline/attributes.h>
#include <stdint.h>

ILK_BEGIN_DECLARATIONS

/* The deadline that never passes. */
#define ILK_FOREVER UINT64_MAX

/* Now, in nanoseconds of CLOCK_MONOTONIC. Thread-safe, never blocks, safe in signal handlers. */
uint64_t ilk_now_ns(void);

/* The deadline `from_now` nanoseconds after now. Saturates at ILK_FOREVER instead of wrapping. Otherwise as
 * ilk_now_ns. */
uint64_t ilk_deadline_in_ns(uint64_t from_now);

ILK_END_DECLARATIONS

#endif
