/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to the end of a thread: a hook that the thread calls while it ends, for state that must not
 * outlive it. The explorer's model ends fibers where a test says so.
 */
#ifndef INTERLOCK_PLATFORM_EXIT_H
#define INTERLOCK_PLATFORM_EXIT_H

#include <stdbool.h>

/* Runs `hook(context)` when the calling thread ends, after its own code and among the destructors of
 * thread-specific data, in no given order. One hook a process, one context a thread: a second call replaces
 * it, NULL takes it back. A hook may register again, and is called again, PTHREAD_DESTRUCTOR_ITERATIONS times
 * at most. False: the system has no memory or key left. */
bool ilk__at_thread_exit(void (*hook)(void *context), void *context);

#endif
