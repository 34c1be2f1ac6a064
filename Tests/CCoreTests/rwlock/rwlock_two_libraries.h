/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of one copy of Interlock among several in a process.
 */
#ifndef INTERLOCK_TESTS_RWLOCK_TWO_LIBRARIES_H
#define INTERLOCK_TESTS_RWLOCK_TWO_LIBRARIES_H

#include <interlock/rwlock.h>
#include <stdbool.h>

struct rwlock_copy {
    void (*read_lock)(ilk_rwlock *lock);
    void (*read_unlock)(ilk_rwlock *lock);
    void (*write_lock)(ilk_rwlock *lock);
    bool (*try_write_lock)(ilk_rwlock *lock);
    void (*write_unlock)(ilk_rwlock *lock);
    const void *(*table)(void); /* where it keeps its reader slots */
};

/* What each shared object exports. */
extern const struct rwlock_copy rwlock_copy;

#endif
