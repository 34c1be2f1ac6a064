/* SPDX-License-Identifier: Apache-2.0
 *
 * syscall(2). See system_call.h.
 */
#include "platform/port.h"
#include "platform/system_call.h"

#if ILK__PORT_LINUX

#include <errno.h>
#include <unistd.h>

long ilk__system_call(long number, const uintptr_t arguments[6]) {
    const int kept = errno;
    long answer =
        syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
    if (answer == -1) {
        answer = -errno;
        errno = kept;
    }
    return answer;
}

#endif
