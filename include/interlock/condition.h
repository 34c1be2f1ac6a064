/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting under a lock: for a predicate of what the lock guards, or, for code that comes from pthreads, on an
 * ilk_condition that another thread signals.
 *
 *     #include <interlock/condition.h>
 *     #include <pthread.h>
 *     #include <stdio.h>
 *
 *     static ilk_mutex mutex = ILK_MUTEX_INIT;
 *     static int count = 0; // guarded by the mutex
 *
 *     static bool is_filled(void *unused) {
 *         (void)unused;
 *         return count > 0;
 *     }
 *     static void *fill(void *unused) {
 *         ilk_mutex_lock(&mutex);
 *         count = 42;
 *         ilk_mutex_unlock(&mutex); // judges is_filled, and wakes main
 *         return unused;
 *     }
 *     int main(void) {
 *         pthread_t thread;
 *         if (pthread_create(&thread, NULL, fill, NULL) != 0) return 1;
 *         ilk_mutex_lock(&mutex);
 *         if (ilk_mutex_await_until(&mutex, is_filled, NULL, ILK_FOREVER) == ILK_OK) {
 *             printf("%d\n", count); // prints 42
 *         }
 *         ilk_mutex_unlock(&mutex);
 *         return pthread_join(thread, NULL);
 *     }
 *
 * Which to take. A predicate needs no signal that could be forgotten, and wakes no thread whose condition is false;
 * every thread that gives the lock up after writing judges it. A condition costs the signaller less where a hundred
 * threads wait for as many things.
 *
 * Guarantees of the three await calls
 *   A  The caller holds the lock before and after, whatever the answer; while it waits other threads may take it.
 *      ILK_OK: the predicate holds. ILK_TIMEDOUT: it did not when the lock had been taken again at the limit or later.
 *   B  No wake-up is lost: if the predicate holds when a thread gives a mutex up, or a lock that it held for writing,
 *      the waiter is woken, or a woken waiter that writes goes before it and judges it in turn. What held and no longer
 *      holds when the waiter has the lock is as if it never had.
 *   C  No thread is woken whose predicate is false. A woken thread finds it false only where a running thread took the
 *      lock first and undid it; the waiter keeps its place.
 *   D  Waiters whose predicates hold are woken first come, first served: of those that hold the lock alone one at a
 *      time, of readers all. The lock is then taken like any other; a running thread may come first.
 *   E  A thread that gives a lock up does not touch it afterwards, as mutex.h and rwlock.h promise.
 *
 * A predicate reads what the lock guards, and nothing else that changes: a change that no thread made under the lock is
 * noticed when a mutex, or a lock held for writing, is next given up. It is short, does not block, and makes no call on
 * the lock: one that would wait for it without limit, or gives it up while a thread that leaves judges, is misuse, and
 * reported. It may run on any thread, while its waiter sleeps.
 *
 * Cost. While no thread waits under a lock, a call that meets no other executes not one instruction more. While one
 * does, giving it up after writing judges the predicates of those that wait, O(waiters), and taking it to write goes
 * slow: some tens of instructions for a mutex, a hundred for a reader–writer lock. Readers go on as before.
 *
 * Guarantees of ilk_condition
 *   F  As pthread_cond_wait: the mutex is given up and the wait begun in one step, for a thread that signals under the
 *      mutex or after it. Waiters are woken first come, first served. The mutex is held again on return, whatever the
 *      answer.
 *   G  A signal wakes one waiter, and no other thread: a wait does not end without a signal but at its limit, and one
 *      that has timed out has taken none. Another thread may undo the condition first: wait in a loop all the same.
 *   H  Where the signaller owns the waiter's mutex, its unlock wakes the waiter: it does not sleep again for the mutex
 *      that the signaller still has. At most four are on their way to the mutex at once: after a broadcast the unlock
 *      wakes these, and each gives a further one its turn as it gives the mutex up. Waiters for a predicate are woken
 *      beside them, as D says.
 *   I  Once no thread waits on it, a thread that was woken may free the condition, or the one that woke the last.
 *
 * A lock under which threads wait, and an ilk_condition, belong to one copy of the library: a program that has several,
 * linked statically into shared objects, takes and gives up such a lock by one of them.
 *
 * No wait is a cancellation point. None allocates. Not in signal handlers: no call of this header, and no unlock after
 * writing of a lock under which a thread waits. Fork: in the child no thread waits; the calling thread holds what it
 * held.
 *
 * Sources: the conditional critical sections of nsync and Abseil (Mutex::Await); Hoare, "Monitors" (1974).
 */
#ifndef INTERLOCK_CONDITION_H
#define INTERLOCK_CONDITION_H

#include <interlock/deadline.h>
#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <interlock/inline/predicate.h>
#include <interlock/mutex.h>
#include <interlock/rwlock.h>
#include <interlock/status.h>

ILK_BEGIN_DECLARATIONS

/* Waits until `predicate` holds, or until `deadline_ns` (A to D). The calling thread owns `mutex`, with priority
 * inheritance or without. A passed deadline judges once. Blocks. Misuse: the thread does not own it. */
ILK_MUST_USE ilk_status ilk_mutex_await_until(ilk_mutex *mutex, ilk_predicate predicate, void *context,
                                              uint64_t deadline_ns);

/* Likewise under a lock that the calling thread holds for writing. Misuse: no writer holds it. */
ILK_MUST_USE ilk_status ilk_rwlock_write_await_until(ilk_rwlock *lock, ilk_predicate predicate, void *context,
                                                     uint64_t deadline_ns);

/* Likewise under a lock that the calling thread holds for reading, once. */
ILK_MUST_USE ilk_status ilk_rwlock_read_await_until(ilk_rwlock *lock, ilk_predicate predicate, void *context,
                                                    uint64_t deadline_ns);

/* Fields are private. All zero bits are a condition without waiters; there is nothing to destroy. */
typedef struct ilk_condition {
    ILK_ATOMIC(uint32_t) word; /* 1 while threads wait */
} ilk_condition;

#define ILK_CONDITION_INIT                                                                                   \
    { 0 }

/* Makes `condition` one without waiters. Not thread-safe. */
void ilk_condition_init(ilk_condition *condition);

/* Gives `mutex` up and waits for a signal, until `deadline_ns` at most; takes it again (F, G). ILK_OK: signalled.
 * ILK_TIMEDOUT: not. Blocks. Misuse: the thread does not own the mutex. */
ILK_MUST_USE ilk_status ilk_condition_wait_until(ilk_condition *condition, ilk_mutex *mutex,
                                                 uint64_t deadline_ns);

/* Likewise with a lock that the calling thread holds for writing, or for reading. */
ILK_MUST_USE ilk_status ilk_condition_write_wait_until(ilk_condition *condition, ilk_rwlock *lock,
                                                       uint64_t deadline_ns);
ILK_MUST_USE ilk_status ilk_condition_read_wait_until(ilk_condition *condition, ilk_rwlock *lock,
                                                      uint64_t deadline_ns);

/* Wakes the thread that has waited longest, if one waits. Any thread, with the lock held or not. One load where none
 * waits. */
void ilk_condition_signal(ilk_condition *condition);

/* Wakes every thread that waits. O(waiters). */
void ilk_condition_broadcast(ilk_condition *condition);

ILK_END_DECLARATIONS

#endif
