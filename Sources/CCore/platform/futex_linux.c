/* SPDX-License-Identifier: Apache-2.0
 *
 * futex(2) behind the port of futex.h. The only file that makes the system call, but for
 * mutex_inherit_linux.c.
 */
#include "platform/futex.h"
#include "platform/port.h"

#if ILK__PARK_FUTEX

#include "platform/clock.h"
#include <errno.h>
#include <interlock/deadline.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

int ilk__futex_wait(ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns) {
    struct timespec deadline = ilk__clock_timespec(deadline_ns);
    const struct timespec *limit = deadline_ns == ILK_FOREVER ? NULL : &deadline;
    /* WAIT_BITSET has an absolute time-out; plain WAIT would start over after a signal. */
    long answer = syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, limit, NULL,
                          FUTEX_BITSET_MATCH_ANY);
    return answer == 0 ? 0 : errno;
}

void ilk__futex_wake(const ILK_ATOMIC(uint32_t) * word, uint32_t count) {
    /* The kernel takes a signed count. EFAULT, from a word that is gone, means that no thread sleeps
     * there. */
    (void)syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count > INT_MAX ? INT_MAX : (int)count,
                  NULL, NULL, 0);
}

#endif
