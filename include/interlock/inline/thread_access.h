/* SPDX-License-Identifier: Apache-2.0
 *
 * The calling thread's list of the objects whose closures it is running, for the Swift facade
 * (Sources/SwiftFacade/Internal/ThreadAccess.swift): Swift has no thread-locals. Inline and initial-exec,
 * because every such call asks: one load, where pthread_getspecific is a call of some nanoseconds. The core
 * does not use it, the umbrella header leaves it out, the shared library does not export it.
 */
#ifndef INTERLOCK_INLINE_THREAD_ACCESS_H
#define INTERLOCK_INLINE_THREAD_ACCESS_H

#include <interlock/inline/attributes.h>

ILK_BEGIN_DECLARATIONS

/* C++ has no _Thread_local. */
extern __thread void *ilk__thread_access_pointer __attribute__((tls_model("initial-exec")));

/* Initial-exec: no allocation on first use. */
ILK_TRUSTED_NONBLOCKING_BEGIN
/* NULL at first. */
static inline void *ilk__thread_access(void) ILK_NONBLOCKING {
    return ilk__thread_access_pointer;
}

static inline void ilk__set_thread_access(void *access) ILK_NONBLOCKING {
    ilk__thread_access_pointer = access;
}
ILK_TRUSTED_NONBLOCKING_END

ILK_END_DECLARATIONS

#endif
