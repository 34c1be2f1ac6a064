/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to futex(2). park_futex.c builds the public park layer on it. The explorer's model has
 * spurious wake-ups, interruptions and time-outs that a test chooses.
 */
#ifndef INTERLOCK_PLATFORM_FUTEX_H
#define INTERLOCK_PLATFORM_FUTEX_H

#include <interlock/inline/atomic.h>
#include <stdint.h>

/* One FUTEX_WAIT_BITSET on a private futex with an absolute CLOCK_MONOTONIC deadline (ILK_FOREVER: none). 0,
 * or a positive errno: EAGAIN (the word does not hold `expected`), EINTR, ETIMEDOUT. */
int ilk__futex_wait(ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns);

/* One FUTEX_WAKE of up to `count` sleepers. Uses the address only. */
void ilk__futex_wake(const ILK_ATOMIC(uint32_t) * word, uint32_t count);

#endif
