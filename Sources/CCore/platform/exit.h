/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to the end of a thread: a hook that the thread calls, for state that must not outlive it.
 */
#ifndef INTERLOCK_PLATFORM_EXIT_H
#define INTERLOCK_PLATFORM_EXIT_H

#include <stdbool.h>

/* Runs `hook(context)` as the calling thread ends, after its own code, in no given order among destructors of
 * thread-specific data. One hook a process, one context a thread: a second call replaces it, NULL takes it
 * back. A hook may register again, PTHREAD_DESTRUCTOR_ITERATIONS times at most. False: no memory or key
 * left. */
bool ilk__at_thread_exit(void (*hook)(void *context), void *context);

#endif
