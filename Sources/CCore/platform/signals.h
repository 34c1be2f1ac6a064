/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to the calling thread's signal mask. For the few short sections that a handler must not come
 * into: one that forks would leave its child with the section half done. Not on fast paths: two system calls.
 */
#ifndef INTERLOCK_PLATFORM_SIGNALS_H
#define INTERLOCK_PLATFORM_SIGNALS_H

#include <signal.h>

/* Holds all signals back from the calling thread; `before` is what ilk__signals_release puts back. */
void ilk__signals_hold(sigset_t *before);
void ilk__signals_release(const sigset_t *before);

#endif
