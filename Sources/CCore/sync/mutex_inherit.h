/* SPDX-License-Identifier: Apache-2.0
 *
 * The slow half of a mutex with priority inheritance: the kernel keeps the waiters and lends their priority.
 * The word is the owner's thread id under the kernel's bits: the fast half is the common one.
 */
#ifndef INTERLOCK_SYNC_MUTEX_INHERIT_H
#define INTERLOCK_SYNC_MUTEX_INHERIT_H

#include <interlock/inline/atomic.h>
#include <interlock/status.h>
#include <stdbool.h>
#include <stdint.h>

bool ilk__mutex_can_inherit(void);
/* Waits in the kernel for a mutex whose word held another thread's id. */
ilk_status ilk__mutex_inherit_lock(ILK_ATOMIC(uint32_t) * word, uint64_t deadline_ns, const char *call);
/* Hands the mutex to the sleeper of highest priority. */
void ilk__mutex_inherit_unlock(ILK_ATOMIC(uint32_t) * word);
/* Wakes the waiters for a mutex locked before the process was forked, which the calling thread has now made
 * free. */
void ilk__mutex_inherit_earlier_owner_gone(void);

#endif
