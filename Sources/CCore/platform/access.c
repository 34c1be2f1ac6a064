/* SPDX-License-Identifier: Apache-2.0
 *
 * The word behind <interlock/inline/thread_access.h>. Each copy of the library has its own, as its facade has
 * a list.
 */
#include <interlock/inline/thread_access.h>

__thread void *ilk__thread_access_pointer;
