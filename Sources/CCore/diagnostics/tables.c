/* SPDX-License-Identifier: Apache-2.0
 *
 * See tables.h.
 */
#include "diagnostics/tables.h"

#include "platform/clock.h"
#include "platform/local.h"
#include "platform/native.h"
#include "platform/yield.h"
#include <interlock/deadline.h>
#include <interlock/inline/atomic.h>
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

/* ---- Fork ---- */

static ILK_ATOMIC(uint32_t) loader_readers;

void ilk__loader_enter(sigset_t *before) {
    sigset_t held;
    ilk__signals_hold(before);
    ilk__tables_lock(&held);
    /* TB1 relaxed: under the mutex, which a thread that forks has. */
    ilk_atomic_fetch_add(&loader_readers, 1, memory_order_relaxed);
    ilk__tables_unlock(&held);
}

void ilk__loader_leave(const sigset_t *before) {
    /* TB2 release, pairs with TB3.
     * Carries: the loader's lock, which this thread has given up.
     * If weaker: a child of fork finds it taken. */
    ilk_atomic_fetch_sub(&loader_readers, 1, memory_order_release);
    ilk__signals_release(before);
}

/* A second at most: a callback of the program's may keep the loader's lock for as long as it likes. */
static void await_loader(void) {
    const uint64_t deadline_ns = ilk_deadline_in_ns(UINT64_C(1000000000));
    /* TB3 acquire, pairs with TB2 (release, after the walk): the child finds the loader's lock free. */
    while (ilk_atomic_load(&loader_readers, memory_order_acquire) != 0 && ilk__clock_now_ns() < deadline_ns) {
        ilk__thread_yield();
    }
}

static void tables_before_fork(void) {
    sigset_t before;
    ilk__tables_lock(&before);
    await_loader();
    ilk__thread_state()->has_tables_for_fork++; /* a handler may fork while its thread does */
    ilk__signals_release(&before);
}

static void tables_after_fork(void) {
    sigset_t before;
    ilk__signals_hold(&before);
    ilk__thread_state()->has_tables_for_fork--;
    ilk__tables_unlock(&before);
}

static void tables_after_fork_in_child(void) {
    ilk_atomic_store(&loader_readers, 0, memory_order_relaxed); /* TB1 */
    tables_after_fork();
}

__attribute__((constructor)) static void tables_watch_fork(void) {
    (void)pthread_atfork(tables_before_fork, tables_after_fork, tables_after_fork_in_child);
}
