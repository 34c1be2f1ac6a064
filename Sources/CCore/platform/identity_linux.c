/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's thread id, cached per thread: gettid(2) is a system call. A child after fork forgets its
 * parent's.
 */
#include "platform/identity.h"
#include "platform/port.h"

#if ILK__PORT_LINUX

#include "platform/system_call.h"
#include <sys/syscall.h>

static __thread uint32_t kept_id __attribute__((tls_model("initial-exec")));

void ilk__thread_id_forget(void) {
    kept_id = 0;
}

uint32_t ilk__thread_id_before_fork(void) {
    if (kept_id == 0) {
        kept_id = (uint32_t)ILK__SYSTEM_CALL(SYS_gettid, 0);
        ilk__thread_id_is_new(kept_id);
    }
    return kept_id;
}

/* One system call in a thread's life. */
ILK_TRUSTED_NONBLOCKING_BEGIN
uint32_t ilk__thread_id(void) ILK_NONBLOCKING {
    return ilk__thread_id_before_fork();
}
ILK_TRUSTED_NONBLOCKING_END

#endif
