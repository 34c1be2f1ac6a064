/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of one copy of Interlock, as a plugin exports them.
 */
#ifndef CONSUMER_COPY_H
#define CONSUMER_COPY_H

#include <interlock/rwlock.h>
#include <stdbool.h>

struct copy {
    void (*read_lock)(ilk_rwlock *lock);
    void (*read_unlock)(ilk_rwlock *lock);
    bool (*try_read_lock)(ilk_rwlock *lock);
    void (*write_lock)(ilk_rwlock *lock);
    bool (*try_write_lock)(ilk_rwlock *lock);
    void (*write_unlock)(ilk_rwlock *lock);
    void (*destroy)(ilk_rwlock *lock);
    bool (*uses_slots)(const ilk_rwlock *lock);
};

#endif
