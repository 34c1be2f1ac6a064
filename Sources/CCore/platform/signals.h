/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to the calling thread's signal mask: for the few short sections that no handler may interrupt,
 * because a child that it forks would have them half done. Two system calls: not on fast paths.
 */
#ifndef INTERLOCK_PLATFORM_SIGNALS_H
#define INTERLOCK_PLATFORM_SIGNALS_H

#include <signal.h>

/* Holds all signals back; `before` is for ilk__signals_release. */
void ilk__signals_hold(sigset_t *before);
void ilk__signals_release(const sigset_t *before);

#endif
