/* SPDX-License-Identifier: Apache-2.0
 *
 * nanosleep(2); a spin on the clock in a sandbox that refuses it.
 */
#include "platform/stores.h"

#include "platform/clock.h"
#include <stddef.h>

static const uint64_t LONGEST_NS = 10000000;

void ilk__wait_for_stores(void) {
    const uint64_t end = ilk__clock_now_ns() + LONGEST_NS;
    for (uint64_t now = ilk__clock_now_ns(); now < end; now = ilk__clock_now_ns()) {
        const struct timespec rest = ilk__clock_timespec(end - now);
        (void)nanosleep(&rest, NULL); /* a signal or a refusal ends it early: the loop decides */
    }
}
