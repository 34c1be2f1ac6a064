/* SPDX-License-Identifier: Apache-2.0
 *
 * See tables.h.
 */
#include "diagnostics/tables.h"

#include "platform/local.h"
#include "platform/native.h"
#include <pthread.h>

static ilk__native_mutex mutex = ILK__NATIVE_MUTEX_INIT;

void ilk__tables_lock(sigset_t *before) {
    ilk__signals_hold(before);
    if (ilk__thread_state()->has_tables_for_fork == 0) {
        ilk__native_mutex_lock(&mutex);
    }
}

bool ilk__tables_lock_if(sigset_t *before, bool may_wait) {
    if (may_wait) {
        ilk__tables_lock(before);
        return true;
    }
    ilk__signals_hold(before);
    const bool is_locked =
        ilk__thread_state()->has_tables_for_fork != 0 || ilk__native_mutex_try_lock(&mutex);
    if (!is_locked) {
        ilk__signals_release(before);
    }
    return is_locked;
}

void ilk__tables_unlock(const sigset_t *before) {
    if (ilk__thread_state()->has_tables_for_fork == 0) {
        ilk__native_mutex_unlock(&mutex);
    }
    ilk__signals_release(before);
}

static void tables_before_fork(void) {
    sigset_t before;
    ilk__tables_lock(&before);
    ilk__thread_state()->has_tables_for_fork++; /* a handler may fork while its thread does */
    ilk__signals_release(&before);
}

static void tables_after_fork(void) {
    sigset_t before;
    ilk__signals_hold(&before);
    ilk__thread_state()->has_tables_for_fork--;
    ilk__tables_unlock(&before);
}

__attribute__((constructor)) static void tables_watch_fork(void) {
    (void)pthread_atfork(tables_before_fork, tables_after_fork, tables_after_fork);
}
