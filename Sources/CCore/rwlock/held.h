/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries of the list that <interlock/inline/held.h> keeps.
 */
#ifndef INTERLOCK_RWLOCK_HELD_H
#define INTERLOCK_RWLOCK_HELD_H

#include <stdbool.h>

/* Whether the calling thread's list has `lock`, in any mode. */
bool ilk__held_by_me(const void *lock);

/* Takes a lock that is initialised anew off the calling thread's list. */
void ilk__held_forget(const void *lock);

#endif
