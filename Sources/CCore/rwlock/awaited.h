/* SPDX-License-Identifier: Apache-2.0
 *
 * An ilk_rwlock as those see it that wait under it for a condition (wait/conditions.h).
 */
#ifndef INTERLOCK_RWLOCK_AWAITED_H
#define INTERLOCK_RWLOCK_AWAITED_H

#include "wait/conditions.h"
#include <interlock/inline/rwlock.h>

static inline struct ilk__conditions ilk__rwlock_conditions(ilk_rwlock *lock) {
    return (struct ilk__conditions){lock, &lock->word, ILK__RWLOCK_AWAITED};
}

/* Reports that no writer holds the lock. */
void ilk__rwlock_require_writer(const ilk_rwlock *lock, const char *call);

#endif
