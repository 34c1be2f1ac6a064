/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to the calling thread's id: a number that no other living thread of the process has, never 0,
 * also right in a child after fork. On Linux the kernel's thread id, by which debuggers and FUTEX_LOCK_PI
 * know a thread.
 *
 * The thread that forks has another id in the child, and owns there what it owned under its old one:
 * platform/earlier_ids.c remembers those.
 */
#ifndef INTERLOCK_PLATFORM_IDENTITY_H
#define INTERLOCK_PLATFORM_IDENTITY_H

#include <interlock/inline/attributes.h>
#include <stdbool.h>
#include <stdint.h>

uint32_t ilk__thread_id(void) ILK_NONBLOCKING;

/* The calling thread's id, asked for outside real-time code: a sanitizer of such code lets it ask the system. */
uint32_t ilk__thread_id_before_fork(void);

/* In a child after fork. */
void ilk__thread_id_forget(void);

/* Forks in a row whose old ids are remembered, each by the thread that the last one left. */
enum { ILK__EARLIER_IDS = 8 };

/* Whether `id` was, in an earlier process, that of the thread that forked this one. */
bool ilk__thread_id_is_earlier(uint32_t id) ILK_NONBLOCKING;

/* And the calling thread is that thread. */
bool ilk__thread_was(uint32_t id) ILK_NONBLOCKING;

/* `id` belongs to a thread that has just asked for it: no earlier one any more. */
void ilk__thread_id_is_new(uint32_t id) ILK_NONBLOCKING;

#endif
