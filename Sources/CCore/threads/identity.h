/* SPDX-License-Identifier: Apache-2.0
 *
 * The one door to the question "which thread am I": a number that no other living thread of the
 * process has, never 0, also right in a child after fork. On Linux it is the kernel's thread id,
 * which is what debuggers and FUTEX_LOCK_PI know a thread by.
 */
#ifndef INTERLOCK_THREADS_IDENTITY_H
#define INTERLOCK_THREADS_IDENTITY_H

#include <interlock/inline/attributes.h>
#include <stdint.h>

uint32_t ilk__thread_id(void) ILK_NONBLOCKING;

#endif
