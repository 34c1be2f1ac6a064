/* SPDX-License-Identifier: Apache-2.0
 *
 * The words behind <interlock/inline/thread_access.h>. Each copy of the library has its own, as its facade has
 * lists.
 */
#include <interlock/inline/thread_access.h>

__thread void *ilk__thread_access_pointer;
__thread void *ilk__entered_queue_pointer;
__thread void *ilk__global_queue;
