/* SPDX-License-Identifier: Apache-2.0
 *
 * Intrusive queues and strlcpy: in Apple's C library, elsewhere from libbsd.
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
