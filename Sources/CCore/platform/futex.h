/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to futex(2), under the park layer (park_futex.c) and wake requests (requests_linux.c).
 */
#ifndef INTERLOCK_PLATFORM_FUTEX_H
#define INTERLOCK_PLATFORM_FUTEX_H

#include <interlock/inline/atomic.h>
#include <stdbool.h>
#include <stdint.h>

/* One FUTEX_WAIT_BITSET on a private futex with an absolute CLOCK_MONOTONIC deadline (ILK_FOREVER: none). 0,
 * or a positive errno: EAGAIN (the word does not hold `expected`), EINTR, ETIMEDOUT. */
int ilk__futex_wait(ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns);

/* Sleeps with `mark`, one bit, by which a waker may choose. The wake is one FUTEX_WAKE_BITSET: false: no sleeper has
 * that mark. */
int ilk__futex_wait_marked(ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns,
                           uint32_t mark);
bool ilk__futex_wake_marked(const ILK_ATOMIC(uint32_t) * word, uint32_t mark);

/* One FUTEX_WAKE of up to `count` sleepers. Uses the address only. */
void ilk__futex_wake(const ILK_ATOMIC(uint32_t) * word, uint32_t count);

#endif
