/* SPDX-License-Identifier: Apache-2.0
 *
 * The one door to membarrier(2). wait/fence.c makes the asymmetric fence of
 * <interlock/inline/fence.h> from it; the explorer links a model that is a fence on every thread, or
 * that refuses.
 */
#ifndef INTERLOCK_PLATFORM_MEMBARRIER_H
#define INTERLOCK_PLATFORM_MEMBARRIER_H

#include <stdbool.h>

/* Registers the process for private expedited barriers: false where the system has none or refuses
 * (an old kernel, seccomp, not Linux). Registration survives fork. */
bool ilk__membarrier_register(void);

/* A full fence on every running thread of the process. Only after registration succeeded; false if
 * the system refuses all the same (a sandbox entered later). */
bool ilk__membarrier(void);

#endif
