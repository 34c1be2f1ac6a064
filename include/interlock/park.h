/* SPDX-License-Identifier: Apache-2.0
 *
 * The park layer: a thread sleeps on a 32-bit word while it holds an expected value, and is woken by address. Every
 * wait of the C core for an object sleeps here, but for mutexes with priority inheritance. Linux parks in futex(2);
 * elsewhere, or with the pthread backend, a table of mutexes and condition variables has the same contract.
 *
 *     #include <interlock/park.h>
 *     #include <pthread.h>
 *     #include <stdatomic.h>
 *
 *     static ILK_ATOMIC(uint32_t) opened;
 *
 *     static void *open_it(void *unused) {
 *         atomic_store(&opened, 1); // first the word,
 *         ilk_park_wake(&opened, ILK_PARK_ALL); // then the wake-up
 *         return unused;
 *     }
 *     int main(void) {
 *         pthread_t thread;
 *         if (pthread_create(&thread, NULL, open_it, NULL) != 0) return 1;
 *         while (atomic_load(&opened) == 0) { // in a loop: a wake-up may be spurious
 *             ilk_park_wait(&opened, 0, ILK_FOREVER);
 *         }
 *         return pthread_join(thread, NULL);
 *     }
 *
 * Concurrency matrix: every call may run beside every other.
 *
 * Guarantees
 *   A  The comparison and going to sleep are one step against ilk_park_wake of the same address: a thread
 *      that changes the word and then wakes is seen by the comparison or wakes the sleeper. No wake-up is
 *      lost.
 *   B  A wait may return ILK_OK without a wake-up: the caller rechecks its condition in a loop.
 *   C  ilk_park_wake uses the address only, so the word may already be freed. A sleeper on reused memory then
 *      sees a spurious wake-up (B).
 *   D  Waiting changes no memory order: the caller's own atomic accesses carry the data.
 *   E  No thread sleeps in a child of fork; its threads may. Fork waits for no sleeper and no waker.
 *
 * Source: Franke, Russell, Kirkwood, "Fuss, Futexes and Furwocks" (2002).
 */
#ifndef INTERLOCK_PARK_H
#define INTERLOCK_PARK_H

#include <interlock/deadline.h>
#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <interlock/status.h>
#include <stdint.h>

ILK_BEGIN_DECLARATIONS

/* Wakes all: the count to give ilk_park_wake. */
#define ILK_PARK_ALL UINT32_MAX

/* Sleeps while `*word` holds `expected`, at most until `deadline_ns`. Blocks; not a cancellation point; does
 * not allocate. `word` must stay mapped meanwhile. ILK_OK: woken, the word did not hold `expected`, or
 * spuriously (B). ILK_TIMEDOUT: the deadline has passed, and not before. Either where both hold. A signal
 * handler may end the wait spuriously, and never moves the deadline. */
ilk_status ilk_park_wait(ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns);

/* Wakes up to `count` threads that sleep on `word`; none sleeping is no error. Does not allocate. Does not
 * wait (with the pthread backend: but for a mutex that is held for some instructions). */
void ilk_park_wake(const ILK_ATOMIC(uint32_t) * word, uint32_t count) ILK_NONBLOCKING;

ILK_END_DECLARATIONS

#endif
