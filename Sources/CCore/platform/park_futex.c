/* SPDX-License-Identifier: Apache-2.0
 *
 * The park layer on futex(2): what Linux runs. The kernel keeps the sleepers; this file turns its answers
 * into the contract of <interlock/park.h>. A build compiles this or park_table.c.
 */
#include "platform/port.h"
#include <interlock/park.h>

#if ILK__PARK_FUTEX

#include "platform/futex.h"
#include <errno.h>

ilk_status ilk_park_wait(ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns) {
    int error = ilk__futex_wait(word, expected, deadline_ns);
    /* EINTR and EAGAIN are spurious wake-ups to the caller, whose loop rechecks its condition and comes back
     * with the same absolute deadline. */
    return error == ETIMEDOUT ? ILK_TIMEDOUT : ILK_OK;
}

ILK_TRUSTED_NONBLOCKING_BEGIN
void ilk_park_wake(const ILK_ATOMIC(uint32_t) * word, uint32_t count) ILK_NONBLOCKING {
    if (count != 0) { /* the kernel wakes one when asked for none */
        ilk__futex_wake(word, count);
    }
}
ILK_TRUSTED_NONBLOCKING_END

#endif
