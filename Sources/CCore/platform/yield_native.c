/* SPDX-License-Identifier: Apache-2.0
 *
 * sched_yield(2). See yield.h.
 */
#include "platform/yield.h"

#include <sched.h>

void ilk__thread_yield(void) {
    (void)sched_yield();
}
