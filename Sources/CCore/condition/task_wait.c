/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks of the Swift facade among the waiters of a lock. wait/conditions.h draws the protocol.
 */
#include "rwlock/awaited.h"
#include "sync/mutex_awaited.h"
#include <interlock/inline/awaited.h>
#include <stdlib.h>

struct ilk__task_wait {
    struct ilk__condition_waiter waiter; /* first */
    ilk__task_resume resume;
};

static void resume_task(struct ilk__waiter *waiter) {
    const struct ilk__task_wait *wait = (const struct ilk__task_wait *)(const void *)waiter;
    wait->resume(wait->waiter.context);
}

ilk__task_wait *ilk__task_wait_create(ilk_predicate predicate, ilk__task_resume resume, void *context,
                                      bool writes) {
    ilk__task_wait *wait = calloc(1, sizeof *wait);
    if (wait != NULL) {
        wait->waiter = (struct ilk__condition_waiter){.entry = {.waiter = {.resume = resume_task}},
                                                      .predicate = predicate,
                                                      .context = context,
                                                      .reads = !writes};
        wait->resume = resume;
    }
    return wait;
}

uint32_t ilk__judging_begin(const void *lock) {
    return ilk__conditions_begin_judging(lock);
}

void ilk__judging_end(uint32_t outer) {
    ilk__conditions_end_judging(outer);
}

void ilk__task_wait_destroy(ilk__task_wait *wait) {
    free(wait);
}

void ilk__task_wait_begin_rwlock(ilk_rwlock *lock, ilk__task_wait *wait) {
    ilk__condition_join(ilk__rwlock_conditions(lock), &wait->waiter);
}

void ilk__task_wait_begin_mutex(ilk_mutex *mutex, ilk__task_wait *wait) {
    ilk__condition_join(ilk__mutex_conditions(mutex), &wait->waiter);
}

bool ilk__task_wait_judge_rwlock(ilk_rwlock *lock, ilk__task_wait *wait) {
    return ilk__condition_judge_again(ilk__rwlock_conditions(lock), &wait->waiter);
}

bool ilk__task_wait_judge_mutex(ilk_mutex *mutex, ilk__task_wait *wait) {
    return ilk__condition_judge_again(ilk__mutex_conditions(mutex), &wait->waiter);
}

void ilk__task_wait_end_rwlock(ilk_rwlock *lock, ilk__task_wait *wait) {
    ilk__condition_leave(ilk__rwlock_conditions(lock), &wait->waiter);
}

void ilk__task_wait_end_mutex(ilk_mutex *mutex, ilk__task_wait *wait) {
    ilk__condition_leave(ilk__mutex_conditions(mutex), &wait->waiter);
}

bool ilk__task_wait_cancel(ilk__task_wait *wait) {
    return ilk__condition_claim(&wait->waiter);
}
