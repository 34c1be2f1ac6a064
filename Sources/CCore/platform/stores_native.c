/* SPDX-License-Identifier: Apache-2.0
 *
 * Parks, where no thread wakes it: nanosleep(2) is a cancellation point. A spin on the clock where the system refuses
 * to sleep.
 */
#include "platform/stores.h"

#include "platform/clock.h"
#include "platform/park_alone.h"

static const uint64_t LONGEST_NS = 10000000;

void ilk__wait_for_stores(void) {
    const uint64_t end = ilk__clock_now_ns() + LONGEST_NS;
    while (ilk__clock_now_ns() < end) { /* a signal or a refusal ends a sleep early */
        ilk__park_alone(end);
    }
}
