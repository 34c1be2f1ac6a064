/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_recursive_mutex: an ilk_mutex that its owner may lock again, and gives up with the unlock of its first lock.
 *
 *     #include <interlock/recursive_mutex.h>
 *     #include <stdio.h>
 *
 *     static ilk_recursive_mutex mutex = ILK_RECURSIVE_MUTEX_INIT;
 *
 *     static void print(const char *text) {
 *         ilk_recursive_mutex_lock(&mutex); // also where the caller holds it
 *         puts(text);
 *         ilk_recursive_mutex_unlock(&mutex);
 *     }
 *     int main(void) {
 *         ilk_recursive_mutex_lock(&mutex);
 *         print("two lines"); // prints two lines
 *         print("that no other thread parts"); // prints that no other thread parts
 *         ilk_recursive_mutex_unlock(&mutex);
 *     }
 *
 * For code that comes with callbacks into itself. Elsewhere ilk_mutex is better: that a function is entered with its
 * own work half done is then reported.
 *
 * Concurrency matrix and guarantees are those of ilk_mutex (mutex.h: A to D), and
 *   E  Of n locks of the owner in a row the n-th unlock gives the mutex up.
 *
 * Cost: that of an ilk_mutex and, at each call, a look for the owner. Further locks are only counted.
 *
 * Misuse, reported in every build: an unlock by a thread that is not the owner; more than 2^32 locks in a row. Not
 * reported: a wait for a condition under its `mutex`, which gives up one lock of several.
 *
 * Fork, and an owner that ends: as ilk_mutex, also with several locks; what is said there of ilk_mutex_init holds of
 * ilk_recursive_mutex_init. A thread that gets the id of an owner that has ended is taken for it: its lock is a further
 * one, where an ilk_mutex would report it.
 *
 * Diagnosis sees its `mutex`, of the same address: ilk_mutex_observe(&lock.mutex, what).
 */
#ifndef INTERLOCK_RECURSIVE_MUTEX_H
#define INTERLOCK_RECURSIVE_MUTEX_H

#include <interlock/mutex.h>

ILK_BEGIN_DECLARATIONS

/* All zero bits are a free one without priority inheritance. The fields are private but for `mutex`, for diagnosis. */
typedef struct ilk_recursive_mutex {
    ilk_mutex mutex;
    uint32_t more; /* locks of the owner beyond its first; the owner's */
} ilk_recursive_mutex;

/* Initialises a free one without priority inheritance where it is defined. */
#define ILK_RECURSIVE_MUTEX_INIT                                                                             \
    { ILK_MUTEX_INIT, 0 }

/* Makes `mutex` free, as ilk_mutex_init. Not thread-safe. */
void ilk_recursive_mutex_init(ilk_recursive_mutex *mutex, bool priority_inheritance);

/* Takes the mutex, or counts a further lock of its owner. Blocks while another thread owns it; does not allocate; not
 * in signal handlers. */
void ilk_recursive_mutex_lock(ilk_recursive_mutex *mutex);

/* Takes the mutex if it is free or the caller's: true when taken. Never blocks. Not in signal handlers. */
ILK_MUST_USE bool ilk_recursive_mutex_try_lock(ilk_recursive_mutex *mutex) ILK_NONBLOCKING;

/* Takes the mutex; waits until `deadline_ns` at most. ILK_OK: taken, also by a passed deadline where it is free or the
 * caller's. ILK_TIMEDOUT: not taken. Blocks; does not allocate; not in signal handlers. */
ILK_MUST_USE ilk_status ilk_recursive_mutex_lock_until(ilk_recursive_mutex *mutex, uint64_t deadline_ns);

/* Takes the last lock back (E). Does not block. Misuse: the thread does not own it. */
void ilk_recursive_mutex_unlock(ilk_recursive_mutex *mutex);

ILK_END_DECLARATIONS

#endif
