/* SPDX-License-Identifier: Apache-2.0
 *
 * Diagnosis for the Swift facade: waits and locks that the C core does not see (dispatch queues, operations, the queue
 * of a semaphore that serves tasks too). Not installed, like thread_access.h.
 */
#ifndef INTERLOCK_INLINE_DIAGNOSE_H
#define INTERLOCK_INLINE_DIAGNOSE_H

#include <interlock/diagnostics.h>
#include <interlock/inline/atomic.h>

ILK_BEGIN_DECLARATIONS

extern ILK_ATOMIC(uint32_t) ilk__diagnoses;

/* ILK_DIAGNOSE_ bits for all objects, and one more once some are watched by themselves: 0 while diagnosis is off. */
static inline uint32_t ilk__facade_diagnoses(void) ILK_NONBLOCKING {
    return ilk_atomic_load(&ilk__diagnoses, memory_order_relaxed); /* OB1 */
}

/* A struct ilk__watch or ilk__idle_watch of the core. */
typedef struct ilk__facade_watch {
    uint64_t words[8];
} ilk__facade_watch;

/* The calling thread asks for `object`, alone, and will wait as long as `deadline_ns` lets it; then has it, or not.
 * `name` is given to an object that has none; NULL: none. */
void ilk__facade_ask(ilk__facade_watch *watch, const void *object, ilk_object_kind kind, const char *name,
                     uint64_t deadline_ns);
void ilk__facade_taken(ilk__facade_watch *watch, bool is_taken);
/* The calling thread has it, without having asked. */
void ilk__facade_enter(const void *object, ilk_object_kind kind, const char *name);
/* And gives it up. */
void ilk__facade_give(const void *object);

/* The calling thread waits for what has no holder; `label` says what. */
void ilk__facade_wait_begin(ilk__facade_watch *watch, const void *object, const char *label,
                            uint64_t deadline_ns);
void ilk__facade_wait_end(ilk__facade_watch *watch);

/* The calling thread works on `object`, for which others may wait, until the call of end. Nests. */
void ilk__facade_work_begin(const void *object, const char *label);
void ilk__facade_work_end(void);

/* `object` ends, or its memory goes to another. */
void ilk__facade_forget(const void *object);

ILK_END_DECLARATIONS

#endif
