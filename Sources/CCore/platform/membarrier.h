/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to membarrier(2), under the asymmetric fence of wait/fence.c.
 */
#ifndef INTERLOCK_PLATFORM_MEMBARRIER_H
#define INTERLOCK_PLATFORM_MEMBARRIER_H

#include <stdbool.h>

/* For private expedited barriers. False where the system has none or refuses (an old kernel, seccomp, not
 * Linux). Registration survives fork. */
bool ilk__membarrier_register(void);

/* A full fence on every running thread of the process, once registered. False if the system refuses all the
 * same (a sandbox entered later). */
bool ilk__membarrier(void);

#endif
