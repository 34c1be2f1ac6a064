/* SPDX-License-Identifier: Apache-2.0
 *
 * Deadlines from the clock, saturating. See <interlock/deadline.h>.
 */
#include "platform/clock.h"
#include <interlock/deadline.h>

uint64_t ilk_now_ns(void) {
    return ilk__clock_now_ns();
}

uint64_t ilk_deadline_in_ns(uint64_t from_now) {
    return ilk__clock_after(ilk__clock_now_ns(), from_now);
}
