/* SPDX-License-Identifier: Apache-2.0
 *
 * Plain work of up to three threads: too little ordering shows as a data race or a wrong count.
 */
#ifndef EXPLORER_SCENARIOS_WORK_H
#define EXPLORER_SCENARIOS_WORK_H

#include "../explorer.h"

enum { SOON = 5000 }; /* a deadline ahead of the model's clock, which starts at 1,000 */

static uint32_t work[3];

static inline void begin_work(void) {
    work[0] = work[1] = work[2] = 0;
}
static inline void do_work(unsigned which) {
    ilk_plain_write(&work[which], sizeof work[which]);
    work[which]++;
}
static inline void see_work(unsigned which, uint32_t at_least) {
    ilk_plain_read(&work[which], sizeof work[which]);
    ex_assert(work[which] >= at_least);
}

#endif
