/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mutex: a mutual-exclusion lock in 8 bytes that knows its owner. With priority inheritance, if asked
 * for, the owner runs at the priority of its highest waiter.
 *
 *     #include <interlock/mutex.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *         ilk_mutex mutex;
 *         ilk_mutex_init(&mutex, true); // with priority inheritance
 *         ilk_mutex_lock(&mutex);
 *         puts(ilk_mutex_try_lock(&mutex) ? "taken" : "busy"); // prints busy
 *         ilk_mutex_unlock(&mutex);
 *         if (ilk_mutex_lock_until(&mutex, ilk_deadline_in_ns(1000000)) == ILK_OK) { // within a millisecond
 *             ilk_mutex_unlock(&mutex);
 *         }
 *     }
 *
 * Concurrency matrix: every call but init may run beside every other. There is nothing to destroy; a mutex that
 * diagnosis may watch is made by init or ILK_MUTEX_INIT, so that it does not inherit what was at its address.
 *
 * Guarantees
 *   A  One owner at a time. What an owner did is visible to those after it.
 *   B  Not fair: a thread that comes while the owner unlocks may overtake sleepers. With priority inheritance
 *      the kernel hands the lock to the sleeper of highest priority.
 *   C  A wait that timed out leaves only the mark of a sleeper: the next unlock makes a system call which
 *      wakes no thread. It ends at its limit or, if later, after a spin of microseconds.
 *   D  The thread that gave the lock up does not touch it afterwards.
 *
 * Recursive locking, and unlocking by a thread that is not the owner, are misuse, reported in every build at
 * no cost. No wait is a cancellation point.
 *
 * Fork: what the forking thread owns its copy owns in the child, through ILK_MUTEX_FORKS forks in a row, and
 * gives up there as usual: a fork handler may lock before the fork and unlock on both sides. Until then its
 * waiters in the child lend no priority. What another thread owned is owned for ever in the child; only
 * ilk_mutex_init frees it.
 *
 * An owner that ends without giving it up leaves it owned: waits last until their limits; only ilk_mutex_init
 * frees it. With priority inheritance the kernel hands it to the sleeper of highest priority, if there is one;
 * later waits are misuse, as long as no other thread has got the owner's id.
 *
 * Sources: Drepper, "Futexes are tricky" (2011), the third mutex; Sha, Rajkumar, Lehoczky, "Priority
 * inheritance protocols" (1990), as FUTEX_LOCK_PI.
 */
#ifndef INTERLOCK_MUTEX_H
#define INTERLOCK_MUTEX_H

#include <interlock/deadline.h>
#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <interlock/status.h>
#include <stdbool.h>
#include <stdint.h>

ILK_BEGIN_DECLARATIONS

/* Fields are private. All zero bits are a free mutex without priority inheritance. */
typedef struct ilk_mutex {
    ILK_ATOMIC(uint32_t) word; /* the owner's thread id, 0 free; bit 31: a sleeper; bit 30: calls go slow */
    ILK_ATOMIC(uint32_t) settings; /* bit 0: priority inheritance; bits 1 and 31: diagnosis; bit 2: awaited */
} ilk_mutex;

/* Initialises a free mutex without priority inheritance where it is defined, as zero bits do. Its first call goes slow,
 * to ask whether diagnosis is on. */
#define ILK_MUTEX_INIT                                                                                       \
    { UINT32_C(0x40000000), UINT32_C(0x80000000) }

/* So many generations of children remember that the forking thread owns a mutex. */
#define ILK_MUTEX_FORKS 8

/* Makes `mutex` free. Not thread-safe. Where the system has no priority inheritance (not Linux, or the
 * pthread park backend) a mutex works without. */
void ilk_mutex_init(ilk_mutex *mutex, bool priority_inheritance);

/* Has diagnosis watch this mutex alone: `what` are ILK_DIAGNOSE_ bits of <interlock/diagnostics.h>, 0 for none of its
 * own. Any thread. ILK_NOMEM: not watched. */
ilk_status ilk_mutex_observe(ilk_mutex *mutex, uint32_t what);

/* Takes the mutex; waits as long as it takes. Blocks; does not allocate; not in signal handlers.
 * Misuse: the thread owns it; with priority inheritance also: its owner waits, directly or through others,
 * for a mutex that the thread owns. */
void ilk_mutex_lock(ilk_mutex *mutex);

/* Takes the mutex if it is free: true when taken; false also for its owner. Never blocks; a thread's first
 * call asks the system for its id. */
ILK_MUST_USE bool ilk_mutex_try_lock(ilk_mutex *mutex) ILK_NONBLOCKING;

/* Takes the mutex; waits until `deadline_ns` at most (C). ILK_OK: taken. ILK_TIMEDOUT: not taken. A passed
 * deadline still takes a free mutex. Blocks; does not allocate; not in signal handlers. Misuse is that of
 * ilk_mutex_lock. With priority inheritance the kernel waits by the wall clock where it has
 * no FUTEX_LOCK_PI2 (Linux before 5.14): a change of the date moves the limit. */
ILK_MUST_USE ilk_status ilk_mutex_lock_until(ilk_mutex *mutex, uint64_t deadline_ns);

/* Gives the mutex up. Does not block; while a thread waits under it for a condition (condition.h), judges, and takes
 * short locks. Misuse: the thread does not own it. */
void ilk_mutex_unlock(ilk_mutex *mutex);

ILK_END_DECLARATIONS

#endif
