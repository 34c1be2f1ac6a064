/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to the calling thread's signal mask: for the few short sections that no handler may interrupt,
 * because a child that it forks would have them half done. Two system calls: not on fast paths.
 *
 * Synchronous signals (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS) are never held back: the kernel ends a process
 * whose thread raises one that it holds back, and neither a crash handler runs nor one that emulates system calls. The
 * price: a handler that forks for a crash within such a section waits for ever.
 */
#ifndef INTERLOCK_PLATFORM_SIGNALS_H
#define INTERLOCK_PLATFORM_SIGNALS_H

#include <signal.h>

/* Holds all but the synchronous signals back; `before` is for ilk__signals_release. */
void ilk__signals_hold(sigset_t *before);
void ilk__signals_release(const sigset_t *before);

/* On a thread that has been started: lets synchronous signals through that the starting thread held back. */
void ilk__signals_allow_synchronous(void);

#endif
