/* SPDX-License-Identifier: Apache-2.0
 *
 * Asking for what <interlock/inline/held.h> notes.
 */
#ifndef INTERLOCK_RWLOCK_HELD_H
#define INTERLOCK_RWLOCK_HELD_H

#include <stdbool.h>

/* Whether the calling thread is known to hold `lock`, in any mode. */
bool ilk__held_by_me(const void *lock);

/* The lock is made anew: the calling thread holds it no longer. */
void ilk__held_forget(const void *lock);

#endif
