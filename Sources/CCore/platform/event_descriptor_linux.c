/* SPDX-License-Identifier: Apache-2.0
 *
 * eventfd(2). See event_descriptor.h.
 */
#include "platform/event_descriptor.h"
#include "platform/port.h"

#if ILK__PORT_LINUX

#include "platform/system_call.h"
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

bool ilk__event_descriptor_exists(void) {
    return true;
}

int ilk__event_descriptor_open(void) {
    return (int)ILK__SYSTEM_CALL(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void ilk__event_descriptor_close(int descriptor) {
    (void)ILK__SYSTEM_CALL(SYS_close, (uintptr_t)descriptor);
}

void ilk__event_descriptor_raise(int descriptor) {
    const uint64_t one = 1;
    (void)ILK__SYSTEM_CALL(SYS_write, (uintptr_t)descriptor, (uintptr_t)&one, sizeof one);
}

/* EAGAIN: it was not raised. */
void ilk__event_descriptor_lower(int descriptor) {
    uint64_t count;
    (void)ILK__SYSTEM_CALL(SYS_read, (uintptr_t)descriptor, (uintptr_t)&count, sizeof count);
}

#endif
