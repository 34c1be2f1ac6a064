/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mutex: a mutual-exclusion lock in 8 bytes that knows its owner, with priority inheritance if
 * asked for: while a thread of higher priority waits, the owner runs at that priority, so that no
 * thread in between can keep both from running.
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
 * Concurrency matrix: every call but init may run beside every other, from any thread. There is
 * nothing to destroy.
 *
 * Guarantees
 *   A  One owner at a time. What an owner did is visible to those after it.
 *   B  Not fair: a thread that comes while the owner unlocks may overtake sleepers. With priority inheritance
 *      the kernel hands the lock to the sleeper of highest priority.
 *   C  A wait that timed out leaves nothing behind but, until the next unlock, the mark of a sleeper: that
 *      unlock makes a system call which wakes no thread. It ends at its limit, or after a spin of
 *      microseconds if that is later.
 *   D  The thread that gave the lock up does not touch it afterwards.
 *
 * Recursive locking, and unlocking by another thread than the owner, are misuse, reported in every build at
 * no cost. No wait is a cancellation point.
 *
 * Fork: what the forking thread owns its copy owns in the child, through ILK_MUTEX_FORKS forks in a row, and
 * gives up there as usual: a fork handler may lock a mutex before the fork and unlock it on both sides. Until
 * then those that wait for it in the child lend no priority. What another thread owned is owned for ever in
 * the child; only ilk_mutex_init makes it free.
 *
 * Sources: Drepper, "Futexes are tricky" (2011), the third mutex; Sha, Rajkumar, Lehoczky, "Priority
 * inheritance protocols" (1990), in the form of FUTEX_LOCK_PI.
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
    ILK_ATOMIC(uint32_t) word; /* the owner's thread id, 0 free; bit 31: a waiter sleeps */
    uint32_t inherits;         /* priority inheritance; constant */
} ilk_mutex;

/* So many generations of children remember that the thread which forked owns a mutex. */
#define ILK_MUTEX_FORKS 8

/* Makes `mutex` free. Not thread-safe. Where the system has no priority inheritance (not Linux, or the
 * pthread park backend) a mutex that asks for it works without. */
void ilk_mutex_init(ilk_mutex *mutex, bool priority_inheritance);

/* Takes the mutex; waits as long as it takes. Blocks; does not allocate; not in signal handlers.
 * Misuse: the calling thread owns it; with priority inheritance also: its owner waits, directly or through
 * others, for a mutex that the calling thread owns. */
void ilk_mutex_lock(ilk_mutex *mutex);

/* Takes the mutex if it is free: true when taken; false also for its owner. Never blocks; the first call of a
 * thread asks the system for its id. */
ILK_MUST_USE bool ilk_mutex_try_lock(ilk_mutex *mutex) ILK_NONBLOCKING;

/* Takes the mutex, waiting until `deadline_ns` at most (guarantee C). ILK_OK: taken. ILK_TIMEDOUT: not taken.
 * A deadline that has passed still takes a free mutex. With priority inheritance on Linux before 5.14 the
 * kernel waits by the wall clock: a change of the date moves the limit. Misuse: as ilk_mutex_lock. */
ILK_MUST_USE ilk_status ilk_mutex_lock_until(ilk_mutex *mutex, uint64_t deadline_ns);

/* Gives the mutex up. Does not block. Misuse: the calling thread does not own it. */
void ilk_mutex_unlock(ilk_mutex *mutex);

ILK_END_DECLARATIONS

#endif
