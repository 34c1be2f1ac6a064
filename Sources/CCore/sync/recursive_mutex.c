/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_recursive_mutex. The word of its mutex names the owner; `more` is read and written by the owner alone, and is 0
 * when that gives the mutex up. An owner that has ended may have left more: the kernel hands the mutex to a waiter,
 * which begins at 0. A try never gets such a mutex.
 */
#include "diagnostics/misuse.h"
#include "diagnostics/observe.h"
#include "platform/identity.h"
#include "platform/reaches.h"
#include "sync/mutex_awaited.h"
#include <interlock/recursive_mutex.h>

static void set_more(ilk_recursive_mutex *mutex, uint32_t more) ILK_NONBLOCKING {
    ilk_plain_write(&mutex->more, sizeof mutex->more);
    mutex->more = more;
}

void ilk_recursive_mutex_init(ilk_recursive_mutex *mutex, bool priority_inheritance) {
    ilk_mutex_init(&mutex->mutex, priority_inheritance);
    mutex->more = 0;
}

/* False: another thread owns it, or none. */
ILK_TRUSTED_NONBLOCKING_BEGIN
static bool lock_again(ilk_recursive_mutex *mutex, uint32_t self, const char *call) ILK_NONBLOCKING {
    if (!ilk__mutex_is_of(&mutex->mutex, self)) {
        return false;
    }
    if (mutex->more == UINT32_MAX) {
        ilk__misuse(call, mutex, "locked more than 2^32 times by its owner");
    }
    ILK__REACHES(MUTEX_LOCKED_AGAIN, true);
    set_more(mutex, mutex->more + 1);
    return true;
}
ILK_TRUSTED_NONBLOCKING_END

static inline ilk_status lock_or_count(ilk_recursive_mutex *mutex, uint64_t deadline_ns, const char *call,
                                       const void *site) {
    const uint32_t self = ilk__thread_id();
    if (lock_again(mutex, self, call)) {
        return ILK_OK;
    }
    const ilk_status status = ilk__mutex_lock_as(&mutex->mutex, self, deadline_ns, call, site);
    if (status == ILK_OK) {
        set_more(mutex, 0);
    }
    return status;
}

ILK_NOINLINE void ilk_recursive_mutex_lock(ilk_recursive_mutex *mutex) {
    (void)lock_or_count(mutex, ILK_FOREVER, "ilk_recursive_mutex_lock", ILK__CALLER);
}

ILK_NOINLINE ilk_status ilk_recursive_mutex_lock_until(ilk_recursive_mutex *mutex, uint64_t deadline_ns) {
    return lock_or_count(mutex, deadline_ns, "ilk_recursive_mutex_lock_until", ILK__CALLER);
}

bool ilk_recursive_mutex_try_lock(ilk_recursive_mutex *mutex) ILK_NONBLOCKING {
    return lock_again(mutex, ilk__thread_id(), "ilk_recursive_mutex_try_lock") ||
           ilk_mutex_try_lock(&mutex->mutex);
}

void ilk_recursive_mutex_unlock(ilk_recursive_mutex *mutex) {
    if (!ilk__mutex_is_of(&mutex->mutex, ilk__thread_id())) {
        ilk__mutex_require_owner(&mutex->mutex, "ilk_recursive_mutex_unlock");
    }
    ilk_plain_read(&mutex->more, sizeof mutex->more);
    if (mutex->more > 0) {
        set_more(mutex, mutex->more - 1);
    } else {
        ilk_mutex_unlock(&mutex->mutex);
    }
}
