/* SPDX-License-Identifier: Apache-2.0
 *
 * An ilk_mutex as those see it that stand on it: waits under it for a condition (wait/conditions.h), and the recursive
 * mutex.
 */
#ifndef INTERLOCK_SYNC_MUTEX_AWAITED_H
#define INTERLOCK_SYNC_MUTEX_AWAITED_H

#include "wait/conditions.h"
#include <interlock/mutex.h>

/* For the owner, which gives the mutex up on the slow path from here on. */
struct ilk__conditions ilk__mutex_conditions(ilk_mutex *mutex);
/* Whether the calling thread, of id `self`, owns it. */
bool ilk__mutex_is_of(const ilk_mutex *mutex, uint32_t self) ILK_NONBLOCKING;
/* ilk_mutex_lock_until of the calling thread; reports name `call`, made at `site`. */
ilk_status ilk__mutex_lock_as(ilk_mutex *mutex, uint32_t self, uint64_t deadline_ns, const char *call,
                              const void *site);
/* Reports that the calling thread does not own it. */
void ilk__mutex_require_owner(const ilk_mutex *mutex, const char *call);

#endif
