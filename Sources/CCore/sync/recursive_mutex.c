/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_recursive_mutex. The word of its mutex names the owner; `more` is read and written by the owner alone, and is 0
 * whenever the mutex changes hands.
 */
#include "diagnostics/misuse.h"
#include "platform/reaches.h"
#include "sync/mutex_awaited.h"
#include <interlock/recursive_mutex.h>

void ilk_recursive_mutex_init(ilk_recursive_mutex *mutex, bool priority_inheritance) {
    ilk_mutex_init(&mutex->mutex, priority_inheritance);
    mutex->more = 0;
}

/* False: another thread owns it, or none. */
ILK_TRUSTED_NONBLOCKING_BEGIN
static bool lock_again(ilk_recursive_mutex *mutex, const char *call) ILK_NONBLOCKING {
    if (!ilk__mutex_is_mine(&mutex->mutex)) {
        return false;
    }
    if (mutex->more == UINT32_MAX) {
        ilk__misuse(call, mutex, "locked 2^32 times by its owner");
    }
    ILK__REACHES(MUTEX_LOCKED_AGAIN, true);
    ilk_plain_write(&mutex->more, sizeof mutex->more);
    mutex->more++;
    return true;
}
ILK_TRUSTED_NONBLOCKING_END

void ilk_recursive_mutex_lock(ilk_recursive_mutex *mutex) {
    if (!lock_again(mutex, "ilk_recursive_mutex_lock")) {
        ilk_mutex_lock(&mutex->mutex);
    }
}

bool ilk_recursive_mutex_try_lock(ilk_recursive_mutex *mutex) ILK_NONBLOCKING {
    return lock_again(mutex, "ilk_recursive_mutex_try_lock") || ilk_mutex_try_lock(&mutex->mutex);
}

ilk_status ilk_recursive_mutex_lock_until(ilk_recursive_mutex *mutex, uint64_t deadline_ns) {
    return lock_again(mutex, "ilk_recursive_mutex_lock_until")
               ? ILK_OK
               : ilk_mutex_lock_until(&mutex->mutex, deadline_ns);
}

void ilk_recursive_mutex_unlock(ilk_recursive_mutex *mutex) {
    ilk__mutex_require_owner(&mutex->mutex, "ilk_recursive_mutex_unlock");
    ilk_plain_read(&mutex->more, sizeof mutex->more);
    if (mutex->more > 0) {
        ilk_plain_write(&mutex->more, sizeof mutex->more);
        mutex->more--;
    } else {
        ilk_mutex_unlock(&mutex->mutex);
    }
}
