/* SPDX-License-Identifier: Apache-2.0
 *
 * Apple systems: the thread's Mach port, which the system caches itself.
 */
#include "platform/identity.h"
#include "platform/port.h"

#if defined(__APPLE__)

#include <pthread.h>

/* Nothing is cached here: an old id that becomes another thread's goes unnoticed. */
void ilk__thread_id_forget(void) {}

uint32_t ilk__thread_id_before_fork(void) {
    return (uint32_t)pthread_mach_thread_np(pthread_self());
}

ILK_TRUSTED_NONBLOCKING_BEGIN
uint32_t ilk__thread_id(void) ILK_NONBLOCKING {
    return ilk__thread_id_before_fork();
}
ILK_TRUSTED_NONBLOCKING_END

#endif
