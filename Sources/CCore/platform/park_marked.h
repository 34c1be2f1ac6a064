/* SPDX-License-Identifier: Apache-2.0
 *
 * The park layer for an event count that chooses which of its sleepers to wake. Without futex(2) it cannot choose.
 */
#ifndef INTERLOCK_PLATFORM_PARK_MARKED_H
#define INTERLOCK_PLATFORM_PARK_MARKED_H

#include <interlock/park.h>

/* ilk_park_wait as a sleeper with `mark`, one bit. */
ilk_status ilk__park_wait_marked(ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns,
                                 uint32_t mark);

/* Wakes one sleeper with `mark`. False: none was woken; ilk_park_wake wakes any. */
bool ilk__park_wake_marked(const ILK_ATOMIC(uint32_t) * word, uint32_t mark) ILK_NONBLOCKING;

#endif
