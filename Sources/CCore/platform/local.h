/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to thread-local state: one structure a thread, zeroed when the thread starts, at an offset from the
 * thread pointer. Inline: a fork and a join of the pool look it up. The explorer's model has its own file of this name,
 * which gives every fiber its own.
 */
#ifndef INTERLOCK_PLATFORM_LOCAL_H
#define INTERLOCK_PLATFORM_LOCAL_H

#include "platform/local_state.h"

extern __thread struct ilk__thread_state ilk__local_state
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Initial-exec: no allocation on first use. */
ILK_TRUSTED_NONBLOCKING_BEGIN
static inline struct ilk__thread_state *ilk__thread_state(void) ILK_NONBLOCKING {
    return &ilk__local_state;
}
ILK_TRUSTED_NONBLOCKING_END

#endif
