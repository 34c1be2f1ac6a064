/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting under a lock for a condition as the Swift facade does: with a lock that knows its owner, in a read section,
 * or in a task, without a thread. Not installed, like thread_access.h.
 */
#ifndef INTERLOCK_INLINE_AWAITED_H
#define INTERLOCK_INLINE_AWAITED_H

#include <interlock/condition.h>
#include <interlock/inline/owned_rwlock.h>
#include <interlock/inline/read_section.h>

ILK_BEGIN_DECLARATIONS

/* The await calls of <interlock/condition.h>. */
ILK_MUST_USE ilk_status ilk__owned_write_await_until(ilk__owned_rwlock *owned, ilk_predicate predicate,
                                                     void *context, uint64_t deadline_ns);
/* The section is another on return. */
ILK_MUST_USE ilk_status ilk__read_section_await_until(ilk_rwlock *lock, ilk__read_section *section,
                                                      ilk_predicate predicate, void *context,
                                                      uint64_t deadline_ns);

/* Around a predicate of `lock`: a wait for the lock in between is reported. What begin answers is end's. */
uint32_t ilk__judging_begin(const void *lock);
void ilk__judging_end(uint32_t outer);

/* A task among the waiters of a lock. Once it has begun: `resume` is called, once, without the lock, after a writer
 * found the predicate true; the task then takes the lock and asks with judge. Begin, judge and end are called with the
 * lock held: for writing if `writes`. */
typedef struct ilk__task_wait ilk__task_wait;
typedef void (*ilk__task_resume)(void *context);

/* NULL: no memory. `context` is handed to both. */
ilk__task_wait *ilk__task_wait_create(ilk_predicate predicate, ilk__task_resume resume, void *context,
                                      bool writes);
void ilk__task_wait_destroy(ilk__task_wait *wait);
void ilk__task_wait_begin_rwlock(ilk_rwlock *lock, ilk__task_wait *wait);
void ilk__task_wait_begin_mutex(ilk_mutex *mutex, ilk__task_wait *wait);
/* Whether the predicate holds. If not the task waits again. */
bool ilk__task_wait_judge_rwlock(ilk_rwlock *lock, ilk__task_wait *wait);
bool ilk__task_wait_judge_mutex(ilk_mutex *mutex, ilk__task_wait *wait);
void ilk__task_wait_end_rwlock(ilk_rwlock *lock, ilk__task_wait *wait);
void ilk__task_wait_end_mutex(ilk_mutex *mutex, ilk__task_wait *wait);
/* Any thread, without the lock. True: `resume` is not called until the task waits again; the caller resumes it. */
bool ilk__task_wait_cancel(ilk__task_wait *wait);

ILK_END_DECLARATIONS

#endif
