/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries of the list of <interlock/inline/held.h>.
 */
#ifndef INTERLOCK_RWLOCK_HELD_H
#define INTERLOCK_RWLOCK_HELD_H

#include <stdbool.h>

/* In any mode. */
bool ilk__held_by_me(const void *lock);

/* Forgets what the thread holds of a lock that is initialised anew. */
void ilk__held_forget(const void *lock);

#endif
