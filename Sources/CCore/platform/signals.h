/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to the calling thread's signal mask: for the few short sections that no handler may interrupt,
 * because a child that it forks would have the section half done. Two system calls: not on fast paths.
 */
#ifndef INTERLOCK_PLATFORM_SIGNALS_H
#define INTERLOCK_PLATFORM_SIGNALS_H

#include <signal.h>

/* Holds all signals back from the calling thread; `before` is what ilk__signals_release puts back. */
void ilk__signals_hold(sigset_t *before);
void ilk__signals_release(const sigset_t *before);

#endif
