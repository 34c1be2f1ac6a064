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
bool ilk__mutex_is_mine(const ilk_mutex *mutex) ILK_NONBLOCKING;
/* Reports that the calling thread does not own it. */
void ilk__mutex_require_owner(const ilk_mutex *mutex, const char *call);

#endif
