/* SPDX-License-Identifier: Apache-2.0
 *
 * Thread-local state in the thread's own block of the executable or library (initial-exec: an offset
 * from the thread pointer, no call). A library opened with dlopen draws on the C library's reserve for
 * such blocks, of which this takes a few hundred bytes.
 */
#include "threads/local.h"

static __thread struct ilk__thread_state state __attribute__((tls_model("initial-exec")));

/* Initial-exec: no allocation on first use, which is what the analysis fears of thread-locals. */
ILK_TRUSTED_NONBLOCKING_BEGIN
struct ilk__thread_state *ilk__thread_state(void) ILK_NONBLOCKING {
    return &state;
}
ILK_TRUSTED_NONBLOCKING_END
