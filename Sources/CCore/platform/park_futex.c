/* SPDX-License-Identifier: Apache-2.0
 *
 * The park layer (<interlock/park.h>) on futex(2): what Linux runs. The kernel keeps the sleepers. A build
 * compiles this or park_table.c.
 */
#include "platform/port.h"
#include <interlock/park.h>

#if ILK__PARK_FUTEX

#include "platform/futex.h"
#include "platform/park_marked.h"
#include <errno.h>

/* EINTR and EAGAIN are spurious wake-ups: the caller rechecks its condition and comes back with the same
 * absolute deadline. */
static ilk_status status_of(int error) {
    return error == ETIMEDOUT ? ILK_TIMEDOUT : ILK_OK;
}

ilk_status ilk_park_wait(ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns) {
    return status_of(ilk__futex_wait(word, expected, deadline_ns));
}

ilk_status ilk__park_wait_marked(ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns,
                                 uint32_t mark) {
    return status_of(ilk__futex_wait_marked(word, expected, deadline_ns, mark));
}

ILK_TRUSTED_NONBLOCKING_BEGIN
void ilk_park_wake(const ILK_ATOMIC(uint32_t) * word, uint32_t count) ILK_NONBLOCKING {
    if (count != 0) { /* the kernel wakes one when asked for none */
        ilk__futex_wake(word, count);
    }
}

bool ilk__park_wake_marked(const ILK_ATOMIC(uint32_t) * word, uint32_t mark) ILK_NONBLOCKING {
    return ilk__futex_wake_marked(word, mark);
}
ILK_TRUSTED_NONBLOCKING_END

#endif
