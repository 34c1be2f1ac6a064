/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to membarrier(2), under the asymmetric fence of wait/fence.c.
 */
#ifndef INTERLOCK_PLATFORM_MEMBARRIER_H
#define INTERLOCK_PLATFORM_MEMBARRIER_H

#include <stdbool.h>

/* Registers the process for private expedited barriers. False where the system has none or refuses them (an old kernel,
 * seccomp, not Linux). Registration survives fork. */
bool ilk__membarrier_register(void);

/* Makes every running thread of a registered process execute a fence. False if the system refuses all the same (a
 * sandbox entered later). */
bool ilk__membarrier(void);

#endif
