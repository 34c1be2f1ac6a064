/* SPDX-License-Identifier: Apache-2.0
 *
 * Thread-local state in the thread's own block of the executable or library: initial-exec, without a call.
 *
 * A library opened with dlopen gets such memory from a reserve of the C library, about 1,600 bytes in glibc,
 * and cannot be opened when that is used up. Each copy of this library takes MOST, with the few words beside
 * the state: six plugins can have a copy each. More plugins link the shared library, or the
 * program runs with a larger reserve (GLIBC_TUNABLES=glibc.rtld.optional_static_tls=4096).
 */
#include "platform/local.h"

enum { MOST = 272, BESIDE = 40 };
_Static_assert(ILK__THREAD_HELD > 0 || sizeof(struct ilk__thread_state) + BESIDE <= MOST,
               "what is said above holds");

__thread struct ilk__thread_state ilk__local_state __attribute__((tls_model("initial-exec")));
