/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads and tasks that wait under a lock until a predicate of what it guards holds. A thread that gives the lock up
 * after writing judges the predicates, so that no waiter is woken whose condition is false. The waiters of a lock stand
 * in the queue of its address (wait/address_queue.h) until they have the lock again and leave.
 *
 *   waiter          moved by                                        to
 *   sleeps          a writer about to give the lock up, under it    woken, if its predicate holds
 *   woken           its own thread, under the lock                  leaves, if its predicate holds or its time is up;
 *                                                                   else sleeps, at the place that it has had
 *   sleeps          its own thread, late, under the lock            leaves
 *
 *   waiter (holds the lock)                   writer (holds the lock)
 *     predicate false                           changes what is guarded
 *     joins the queue, raises the mark          mark up? judges, in order of arrival: chooses
 *     gives the lock up                         gives the lock up
 *     sleeps                                    wakes the chosen
 *     takes the lock, judges again
 *
 * Chosen by one writer: every reader whose predicate holds; of those that write the first, unless a thread that writes
 * is woken already and on its way: it will give the lock up, and judge then. Where the first is a task, the first
 * thread too: the task may have to wait for a thread to run on. A waiter of an ilk_condition that is signalled
 * takes the lock whatever the others do: several of these are on their way at once. They do not count for
 * those with a predicate, nor these for them.
 *
 * Must not happen
 *   - The lock is free, a predicate holds, and neither its waiter nor a writer that judges it later has been woken.
 *     Each writer judges; one that leaves it to a woken thread leaves it to a writer.
 *   - A waiter leaves while a writer will still wake it. Its thread waits for the grant of a writer that chose it.
 *   - A writer touches the lock after it gave it up: it needs the chosen waiters only, which wait for its grant.
 *   - A task that was cancelled swallows the wake-up. Writer and canceller decide by one step (`granted`); a writer
 *     that comes second chooses the next.
 *
 * Source: the conditional critical sections of nsync and Abseil's Mutex; Hoare, "Towards a theory of parallel
 * programming" (1972).
 */
#ifndef INTERLOCK_WAIT_CONDITIONS_H
#define INTERLOCK_WAIT_CONDITIONS_H

#include "wait/address_queue.h"
#include <interlock/inline/predicate.h>

/* A lock as the waiters see it, passed by value. `mark` is up in `marks` while there are some. */
struct ilk__conditions {
    const void *lock;
    ILK_ATOMIC(uint32_t) * marks;
    uint32_t mark;
};

struct ilk__condition_waiter {
    struct ilk__address_waiter entry; /* first */
    ilk_predicate predicate;
    void *context;
    bool reads; /* it holds the lock for reading */
    bool woken; /* written under the lock held for writing, and by the woken under it */
    struct ilk__condition_waiter *chosen; /* the next of those that one writer has chosen */
};

/* The predicate of a waiter that was signalled: it holds. No caller's is this one. */
bool ilk__condition_is_signalled(void *unused);

/* Judges under the lock. Misuse by the predicate names the lock. */
bool ilk__condition_holds(const void *lock, const struct ilk__condition_waiter *waiter);

/* Under the lock, held in the waiter's mode. */
void ilk__condition_join(struct ilk__conditions conditions, struct ilk__condition_waiter *waiter);
void ilk__condition_leave(struct ilk__conditions conditions, struct ilk__condition_waiter *waiter);
/* Under the lock again, after sleeping: whether the predicate holds. If not the waiter may sleep again. */
bool ilk__condition_judge_again(struct ilk__conditions conditions, struct ilk__condition_waiter *waiter);

/* For a task: true for the first of the writer that would choose it and the thread that cancels it. */
bool ilk__condition_claim(struct ilk__condition_waiter *waiter);

/* Under the lock held for writing, about to be given up, with the mark up: those to wake after that. */
struct ilk__condition_waiter *ilk__conditions_choose(struct ilk__conditions conditions, const char *call);
/* After giving the lock up. Each may be gone once it is woken. */
void ilk__conditions_wake(struct ilk__condition_waiter *chosen);

/* For a thread that has given the lock up, if threads wait for a condition: they keep its memory alive. Raises `bit` in
 * the lock's `word`, and takes the lock for `self`, if it is free. True: taken. */
bool ilk__conditions_retake(struct ilk__conditions conditions, ILK_ATOMIC(uint32_t) * word, uint32_t bit,
                            uint32_t self);

/* Around a predicate of `lock`. What begin answers is end's. */
uint32_t ilk__conditions_begin_judging(const void *lock);
void ilk__conditions_end_judging(uint32_t outer);
/* Reports that the calling thread waits without limit for a lock in a predicate of that lock's. */
void ilk__conditions_report_wait(const void *lock, const char *call);

#endif
