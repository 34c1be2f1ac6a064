/* SPDX-License-Identifier: Apache-2.0
 *
 * A word of the calling thread in which the Swift facade keeps the list of the objects whose closures the
 * thread is running (Sources/SwiftFacade/Internal/ThreadAccess.swift). In C, because Swift has no
 * thread-locals. Inline and initial-exec, because every such call asks: one load, where pthread_getspecific
 * is a call of some nanoseconds. The core does not use it, the umbrella header leaves it out, the shared
 * library does not export it.
 */
#ifndef INTERLOCK_INLINE_THREAD_ACCESS_H
#define INTERLOCK_INLINE_THREAD_ACCESS_H

#include <interlock/inline/attributes.h>

ILK_BEGIN_DECLARATIONS

/* __thread and not _Thread_local: C++ has it too. */
extern __thread void *ilk__thread_access_pointer __attribute__((tls_model("initial-exec")));

/* Initial-exec: no allocation on first use. */
ILK_TRUSTED_NONBLOCKING_BEGIN
/* NULL until the thread has set it. */
static inline void *ilk__thread_access(void) ILK_NONBLOCKING {
    return ilk__thread_access_pointer;
}

static inline void ilk__set_thread_access(void *access) ILK_NONBLOCKING {
    ilk__thread_access_pointer = access;
}
ILK_TRUSTED_NONBLOCKING_END

ILK_END_DECLARATIONS

#endif
