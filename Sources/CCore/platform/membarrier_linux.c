/* SPDX-License-Identifier: Apache-2.0
 *
 * membarrier(2). See membarrier.h.
 */
#include "platform/membarrier.h"
#include "platform/port.h"

#if ILK__PORT_LINUX

#include "platform/system_call.h"
#include <linux/membarrier.h>
#include <sys/syscall.h>

bool ilk__membarrier_register(void) {
    return ILK__SYSTEM_CALL(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0) == 0;
}

bool ilk__membarrier(void) {
    return ILK__SYSTEM_CALL(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0) == 0;
}

#endif
