/* SPDX-License-Identifier: Apache-2.0
 *
 * What the pool tells diagnosis while that records hangs: what its waits wait for, and what its workers work on. A
 * cycle of waits may lead through both: a job waits for a group, on one of whose jobs another worker works, and so on.
 */
#ifndef INTERLOCK_POOL_WATCH_H
#define INTERLOCK_POOL_WATCH_H

#include "diagnostics/observe.h"
#include "pool/pool.h"

static inline bool ilk__pool_is_watched(void) ILK_NONBLOCKING {
    return ILK_UNLIKELY((ilk__diagnosed_bits() & ILK_DIAGNOSE_HANG) != 0);
}

/* Around a wait for `object`, a group or a forked job, which `what` says, or for the end of a pool (NULL);
 * ilk__watch_idle_end ends it. */
void ilk__pool_watch_wait(struct ilk__idle_watch *watch, const char *what, const void *object,
                          uint64_t deadline_ns, const void *site);
static inline void ilk__pool_watch_begin(struct ilk__idle_watch *watch, const char *what, const void *object,
                                         uint64_t deadline_ns, const void *site) {
    watch->record = NULL;
    if (ilk__pool_is_watched()) {
        ilk__pool_watch_wait(watch, what, object, deadline_ns, site);
    }
}

/* Runs `job` by `run`: the worker works on it, and on its pool; and a wait beneath it does not go on meanwhile. */
void ilk__pool_run_watched(struct pool_worker *worker, ilk_job *job,
                           void (*run)(struct pool_worker *worker, ilk_job *job));

#endif
