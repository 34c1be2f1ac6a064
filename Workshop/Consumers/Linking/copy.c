/* SPDX-License-Identifier: Apache-2.0
 *
 * A copy of Interlock with its calls in a table, for a plugin or the program.
 */
#include "copy.h"

static void read_lock(ilk_rwlock *lock) {
    ilk_rwlock_read_lock(lock);
}

static void read_unlock(ilk_rwlock *lock) {
    ilk_rwlock_read_unlock(lock);
}

static bool try_read_lock(ilk_rwlock *lock) {
    return ilk_rwlock_try_read_lock(lock);
}

static void write_lock(ilk_rwlock *lock) {
    ilk_rwlock_write_lock(lock);
}

static bool try_write_lock(ilk_rwlock *lock) {
    return ilk_rwlock_try_write_lock(lock);
}

static void write_unlock(ilk_rwlock *lock) {
    ilk_rwlock_write_unlock(lock);
}

static void destroy(ilk_rwlock *lock) {
    ilk_rwlock_destroy(lock);
}

/* The only internal that this consumer reads. */
static bool uses_slots(const ilk_rwlock *lock) {
    return (ilk__rwlock_probe(lock) & ILK__RWLOCK_SLOTS) != 0;
}

const struct copy interlock_copy = {read_lock,      read_unlock,  try_read_lock, write_lock,
                                    try_write_lock, write_unlock, destroy,       uses_slots};
