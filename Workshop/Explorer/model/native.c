/* SPDX-License-Identifier: Apache-2.0
 *
 * The model's mutex and condition: POSIX's promises and no more. Unlocking lets all waiters compete; a wait
 * may end spuriously.
 */
#include "platform/native.h"
#include "../engine/state.h"

static void take(ilk__native_mutex *mutex) {
    while (mutex->holder != 0) {
        if (mutex->holder == ex.current + 1) {
            ex_fail(EX_DEADLOCK, "%s locks a mutex it holds", ex_title(ex.current));
        }
        ex_wait(EX_ON_MUTEX, mutex, 0, EX_NEVER);
    }
    mutex->holder = ex.current + 1;
    ex_acquire_object(&mutex->order, sizeof mutex->order);
    if (ex.recording) {
        ex_trace(NULL, "mutex lock %p", (void *)mutex);
    }
}

static void give(ilk__native_mutex *mutex) {
    if (mutex->holder != ex.current + 1) {
        ex_fail(EX_MISUSE, "%s unlocks a mutex it does not hold", ex_title(ex.current));
    }
    mutex->holder = 0;
    ex_release_object(&mutex->order, sizeof mutex->order);
    ex_wake(EX_ON_MUTEX, mutex, EX_THREADS);
    if (ex.recording) {
        ex_trace(NULL, "mutex unlock %p", (void *)mutex);
    }
}

void ilk__native_mutex_lock(ilk__native_mutex *mutex) {
    if (ex.running) {
        ex_point();
        take(mutex);
    }
}

bool ilk__native_mutex_try_lock(ilk__native_mutex *mutex) {
    if (!ex.running) {
        return true;
    }
    ex_point();
    const bool is_free = mutex->holder == 0;
    if (is_free) {
        take(mutex);
    }
    return is_free;
}

void ilk__native_mutex_unlock(ilk__native_mutex *mutex) {
    if (ex.running) {
        ex_point();
        give(mutex);
    }
}

void ilk__native_condition_init(ilk__native_condition *condition) {
    condition->waiters = 0;
}

void ilk__native_condition_destroy(ilk__native_condition *condition) {
    if (ex.running && condition->waiters != 0) {
        ex_fail(EX_MISUSE, "a condition is destroyed while %u wait", condition->waiters);
    }
}

bool ilk__native_condition_wait(ilk__native_condition *condition, ilk__native_mutex *mutex,
                                uint64_t deadline_ns) {
    ex_point();
    if (condition->waiters++ != 0) {
        ex_fail(EX_MISUSE, "a second thread waits on a condition");
    }
    give(mutex);
    if (ex.recording) {
        ex_trace(NULL, "waits on condition %p", (void *)condition);
    }
    ex_event event =
        deadline_ns <= ex.clock_ns ? EX_TIMED_OUT : ex_wait(EX_ON_CONDITION, condition, 0, deadline_ns);
    condition->waiters--;
    if (ex.recording) {
        ex_trace(NULL, "%s",
                 event == EX_WOKEN ? "signalled"
                                   : (event == EX_TIMED_OUT ? "time is out" : "awake spuriously"));
    }
    take(mutex);
    return event != EX_TIMED_OUT;
}

void ilk__native_condition_signal(ilk__native_condition *condition) {
    ex_point();
    if (ex.recording) {
        ex_trace(NULL, "signals condition %p", (void *)condition);
    }
    ex_wake(EX_ON_CONDITION, condition, 1);
}
