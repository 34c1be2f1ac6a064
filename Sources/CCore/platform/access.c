/* SPDX-License-Identifier: Apache-2.0
 *
 * The word behind <interlock/inline/thread_access.h>. Two copies of the library in one process keep a word
 * each, as their facades keep lists of their own.
 */
#include <interlock/inline/thread_access.h>

__thread void *ilk__thread_access_pointer;
