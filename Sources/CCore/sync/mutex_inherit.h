/* SPDX-License-Identifier: Apache-2.0
 *
 * The slow half of a mutex with priority inheritance: the kernel keeps the waiters and lends their
 * priority. The word is the owner's thread id with the kernel's own bits on top, so the fast half is the
 * same as without. mutex_inherit_linux.c has it; mutex_inherit_none.c says it cannot be had.
 */
#ifndef INTERLOCK_SYNC_MUTEX_INHERIT_H
#define INTERLOCK_SYNC_MUTEX_INHERIT_H

#include <interlock/inline/atomic.h>
#include <interlock/status.h>
#include <stdbool.h>
#include <stdint.h>

bool ilk__mutex_can_inherit(void);
/* Waits in the kernel for the mutex, whose word held another thread's id. */
ilk_status ilk__mutex_inherit_lock(ILK_ATOMIC(uint32_t) * word, uint64_t deadline_ns);
/* Hands the mutex to the sleeper of highest priority. */
void ilk__mutex_inherit_unlock(ILK_ATOMIC(uint32_t) * word);
/* A mutex that the calling thread had locked before it was forked is free now: wakes who waited for that. */
void ilk__mutex_inherit_former_gone(void);

#endif
