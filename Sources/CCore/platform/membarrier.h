/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to membarrier(2). wait/fence.c builds the asymmetric fence of <interlock/inline/fence.h> on
 * it. The explorer's model is a fence on every thread, or refuses.
 */
#ifndef INTERLOCK_PLATFORM_MEMBARRIER_H
#define INTERLOCK_PLATFORM_MEMBARRIER_H

#include <stdbool.h>

/* Registers the process for private expedited barriers. False where the system has none or refuses (an old
 * kernel, seccomp, not Linux). Registration survives fork. */
bool ilk__membarrier_register(void);

/* A full fence on every running thread of the process, after a registration that succeeded. False if the
 * system refuses all the same (a sandbox entered later). */
bool ilk__membarrier(void);

#endif
