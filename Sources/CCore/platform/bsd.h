/* SPDX-License-Identifier: Apache-2.0
 *
 * What the core takes from the BSDs: intrusive queues and strlcpy. Apple's C library has them, elsewhere
 * libbsd.
 */
#ifndef INTERLOCK_PLATFORM_BSD_H
#define INTERLOCK_PLATFORM_BSD_H

#if defined(__APPLE__)
#include <string.h>
#include <sys/queue.h>
#else
#include <bsd/string.h>
#include <bsd/sys/queue.h>
#endif

#endif
