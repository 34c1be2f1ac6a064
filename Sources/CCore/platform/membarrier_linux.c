/* SPDX-License-Identifier: Apache-2.0
 *
 * membarrier(2). See membarrier.h.
 */
#include "platform/membarrier.h"
#include "platform/port.h"

#if ILK__PORT_LINUX

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

bool ilk__membarrier_register(void) {
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

bool ilk__membarrier(void) {
    return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

#endif
