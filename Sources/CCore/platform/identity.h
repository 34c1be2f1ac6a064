/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to the question "which thread am I": a number that no other living thread of the
 * process has, never 0, also right in a child after fork. On Linux it is the kernel's thread id,
 * which is what debuggers and FUTEX_LOCK_PI know a thread by.
 *
 * The thread that forks has another id in the child. What it owned under its old one it owns there too:
 * platform/former.c remembers the old ids.
 */
#ifndef INTERLOCK_PLATFORM_IDENTITY_H
#define INTERLOCK_PLATFORM_IDENTITY_H

#include <interlock/inline/attributes.h>
#include <stdbool.h>
#include <stdint.h>

uint32_t ilk__thread_id(void) ILK_NONBLOCKING;

/* The same for a caller that is in no real-time code: a sanitizer that watches such code lets it ask the system. */
uint32_t ilk__thread_id_before_fork(void);

/* Forgets what ilk__thread_id keeps of the calling thread: in a child after fork. */
void ilk__thread_id_forget(void);

/* Old ids that are remembered: so many forks in a row, each by the thread that the last one left. */
enum { ILK__FORMER_IDS = 8 };

/* Whether `id` was that of the thread which this process was forked by, before. */
bool ilk__thread_id_is_former(uint32_t id) ILK_NONBLOCKING;

/* Whether it was so and the calling thread is that thread. */
bool ilk__thread_was(uint32_t id) ILK_NONBLOCKING;

/* `id` is that of a thread which has just begun to ask for it: from now on it is no former one. */
void ilk__thread_id_is_new(uint32_t id) ILK_NONBLOCKING;

#endif
