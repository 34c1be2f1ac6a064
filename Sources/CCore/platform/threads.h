/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to making threads. The explorer links a model whose threads are the scenario's own.
 */
#ifndef INTERLOCK_PLATFORM_THREADS_H
#define INTERLOCK_PLATFORM_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ilk__thread_options {
    const char *name;  /* cut to what the system keeps */
    size_t stack_size; /* in bytes; 0: the system's */
    int nice;          /* added to the process's */
    /* Called on a thread that ends before its function returns: pthread_exit, pthread_cancel. */
    void (*ended_early)(void *context);
};

typedef struct ilk__thread {
    pthread_t handle;
} ilk__thread;

/* Starts a thread that holds all signals but the synchronous ones back (signals.h), has the processors, the class and
 * the nice value of the process's first thread, but for a real-time class, and calls `function(context)`. False: the
 * system refuses. */
bool ilk__thread_start(ilk__thread *thread, const struct ilk__thread_options *options,
                       void (*function)(void *context), void *context);

/* Waits until the thread has ended. Once a thread. */
void ilk__thread_join(ilk__thread *thread);

/* Waits until the thread has ended, for a second at most. False: it goes on, or the system has no such call. */
bool ilk__thread_join_soon(ilk__thread *thread);

/* How many processors the process may run on; at least 1. */
uint32_t ilk__thread_processors(void);

#endif
