/* SPDX-License-Identifier: Apache-2.0
 *
 * A plugin with a copy of Interlock linked in. Built under two names for rwlock_two_libraries_test.
 */
#include "rwlock_two_libraries.h"

#include "rwlock/slot_table.h"
#include <interlock/rwlock.h>

static void read_lock(ilk_rwlock *lock) {
    ilk_rwlock_read_lock(lock);
}

static void read_unlock(ilk_rwlock *lock) {
    ilk_rwlock_read_unlock(lock);
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

static const void *table(void) {
    return &ilk__slot_table_2;
}

static ilk_status pop(ilk_spsc *ring, uint64_t *element) {
    return ilk_spsc_pop_until(ring, element, sizeof *element, ILK_FOREVER);
}

const struct rwlock_copy rwlock_copy = {read_lock,    read_unlock, write_lock, try_write_lock,
                                        write_unlock, table,       pop};
