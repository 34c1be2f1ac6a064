/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of one copy of Interlock among several in a process.
 */
#ifndef INTERLOCK_TESTS_RWLOCK_TWO_LIBRARIES_H
#define INTERLOCK_TESTS_RWLOCK_TWO_LIBRARIES_H

#include <interlock/rwlock.h>
#include <interlock/spsc.h>
#include <stdbool.h>

struct rwlock_copy {
    void (*read_lock)(ilk_rwlock *lock);
    void (*read_unlock)(ilk_rwlock *lock);
    void (*write_lock)(ilk_rwlock *lock);
    bool (*try_write_lock)(ilk_rwlock *lock);
    void (*write_unlock)(ilk_rwlock *lock);
    const void *(*table)(void); /* where it keeps its reader slots */
    ilk_status (*pop)(ilk_spsc *ring, uint64_t *element);
};

/* What each shared object exports. */
extern const struct rwlock_copy rwlock_copy;

#endif
