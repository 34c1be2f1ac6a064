/* SPDX-License-Identifier: Apache-2.0
 *
 * futex(2); but for mutex_inherit_linux.c the only file that makes the call.
 */
#include "platform/futex.h"
#include "platform/port.h"

#if ILK__PORT_LINUX

#include "platform/clock.h"
#include "platform/system_call.h"
#include <interlock/deadline.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>

int ilk__futex_wait_marked(ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns,
                           uint32_t mark) {
    struct timespec deadline = ilk__clock_timespec(deadline_ns);
    const struct timespec *limit = deadline_ns == ILK_FOREVER ? NULL : &deadline;
    /* WAIT_BITSET's time-out is absolute; plain WAIT would start over after a signal. */
    return (int)-ILK__SYSTEM_CALL(SYS_futex, (uintptr_t)word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG,
                                  expected, (uintptr_t)limit, 0, mark);
}

int ilk__futex_wait(ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns) {
    return ilk__futex_wait_marked(word, expected, deadline_ns, FUTEX_BITSET_MATCH_ANY);
}

bool ilk__futex_wake_marked(const ILK_ATOMIC(uint32_t) * word, uint32_t mark) {
    return ILK__SYSTEM_CALL(SYS_futex, (uintptr_t)word, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, 1, 0, 0,
                            mark) == 1;
}

void ilk__futex_wake(const ILK_ATOMIC(uint32_t) * word, uint32_t count) {
    /* The kernel takes a signed count. EFAULT: the word is gone, and no thread sleeps there. */
    (void)ILK__SYSTEM_CALL(SYS_futex, (uintptr_t)word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG,
                           count > INT_MAX ? INT_MAX : count);
}

#endif
