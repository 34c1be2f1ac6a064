/* SPDX-License-Identifier: Apache-2.0
 *
 * The calling thread's lists of the objects whose closures it is running and of the dispatch queues it has
 * entered, for the Swift facade (Sources/SwiftFacade/Sync/Internal/ThreadAccess.swift, Dispatch/Sync): Swift has no
 * thread-locals. Inline and initial-exec, because every such call asks: one load, where pthread_getspecific is
 * a call of some nanoseconds. The core does not use it, the umbrella header leaves it out, the shared library
 * does not export it.
 *
 * And what libdispatch answers about the current queue, which Swift does not import: the facade links
 * libdispatch, the core does not.
 */
#ifndef INTERLOCK_INLINE_THREAD_ACCESS_H
#define INTERLOCK_INLINE_THREAD_ACCESS_H

#include <interlock/inline/attributes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

ILK_BEGIN_DECLARATIONS

/* C++ has no _Thread_local. */
extern __thread void *ilk__thread_access_pointer __attribute__((tls_model("initial-exec")));
extern __thread void *ilk__entered_queue_pointer __attribute__((tls_model("initial-exec")));
extern __thread void *ilk__global_queue __attribute__((tls_model("initial-exec")));

/* Initial-exec: no allocation on first use. */
ILK_TRUSTED_NONBLOCKING_BEGIN
/* NULL at first. */
static inline void *ilk__thread_access(void) ILK_NONBLOCKING {
    return ilk__thread_access_pointer;
}

static inline void ilk__set_thread_access(void *access) ILK_NONBLOCKING {
    ilk__thread_access_pointer = access;
}

/* NULL at first. */
static inline void *ilk__entered_queue(void) ILK_NONBLOCKING {
    return ilk__entered_queue_pointer;
}

static inline void ilk__set_entered_queue(void *entered) ILK_NONBLOCKING {
    ilk__entered_queue_pointer = entered;
}
ILK_TRUSTED_NONBLOCKING_END

#ifdef __APPLE__
#define ILK__SYMBOL(name) __asm__("_" name)
#else
#define ILK__SYMBOL(name) __asm__(name)
#endif

/* How many processors the process may run on; at least 1. The core has it (platform/threads.h). */
uint32_t ilk__thread_processors(void);

/* Yields the core (platform/yield.h). */
void ilk__thread_yield(void);

/* The declarations of <dispatch/queue.h>, under names that do not meet them. */
void *ilk__dispatch_get_current_queue(void) ILK__SYMBOL("dispatch_get_current_queue");
const char *ilk__dispatch_queue_get_label(void *queue) ILK__SYMBOL("dispatch_queue_get_label");
void *ilk__dispatch_get_specific(const void *key) ILK__SYMBOL("dispatch_get_specific");
void *ilk__dispatch_queue_get_specific(void *queue, const void *key)
    ILK__SYMBOL("dispatch_queue_get_specific");
void ilk__dispatch_queue_set_specific(void *queue, const void *key, void *value, void (*destructor)(void *))
    ILK__SYMBOL("dispatch_queue_set_specific");

/* Whether the thread may run on a queue that is not global. Without a queue libdispatch answers with a global one.
 * The global queues live for ever: the last one seen is known again. */
static inline bool ilk__may_run_on_queue(void) {
    return ilk__dispatch_get_current_queue() != ilk__global_queue;
}

/* Whether `queue`, on which the thread runs, is not global. */
static inline bool ilk__is_own_queue(void *queue) {
    if (strncmp(ilk__dispatch_queue_get_label(queue), "com.apple.root.", 15) != 0)
        return true;
    ilk__global_queue = queue;
    return false;
}

ILK_END_DECLARATIONS

#endif
