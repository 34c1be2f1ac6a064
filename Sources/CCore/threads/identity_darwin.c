/* SPDX-License-Identifier: Apache-2.0
 *
 * Apple systems: the Mach port of the thread, which the system keeps per thread already.
 */
#include "threads/identity.h"
#include "threads/port.h"

#if defined(__APPLE__)

#include <pthread.h>

ILK_TRUSTED_NONBLOCKING_BEGIN
uint32_t ilk__thread_id(void) ILK_NONBLOCKING {
    return (uint32_t)pthread_mach_thread_np(pthread_self());
}
ILK_TRUSTED_NONBLOCKING_END

#endif
