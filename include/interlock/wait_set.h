/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_wait_set: one thread waits for several rings, semaphores and latches at once, until a deadline, or until
 * another thread wakes it.
 *
 *     #include <interlock/wait_set.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *         ilk_wait_set *set;
 *         ilk_spsc *orders;
 *         static ilk_semaphore stop = ILK_SEMAPHORE_INIT(0);
 *         if (ilk_wait_set_create(&set) != ILK_OK || ilk_spsc_create(&orders, 8, sizeof(int)) != ILK_OK) return 1;
 *         if (ilk_wait_set_add_spsc(set, orders, ILK_READABLE, orders) != ILK_OK) return 1; // its key: itself
 *         if (ilk_wait_set_add_semaphore(set, &stop, &stop) != ILK_OK) return 1;
 *         int order = 42; // a producer's thread would push, and signal
 *         if (!ilk_spsc_try_push(orders, &order, sizeof order)) return 1;
 *         ilk_semaphore_signal(&stop, 1);
 *         for (bool stopped = false; !stopped;) {
 *             void *ready[4];
 *             size_t count;
 *             if (ilk_wait_set_wait_until(set, ready, 4, &count, ILK_FOREVER) != ILK_OK) return 1;
 *             for (size_t i = 0; i < count; i++) {
 *                 if (ready[i] == orders) {
 *                     while (ilk_spsc_try_pop(orders, &order, sizeof order)) printf("%d\n", order); // prints 42
 *                 } else {
 *                     stopped = true; // the permit is taken
 *                 }
 *             }
 *         }
 *         ilk_wait_set_destroy(set);
 *         ilk_spsc_destroy(orders);
 *     }
 *
 * A member is an end of a ring (elements or room), a semaphore or a latch, with a key of the caller's choice. It is
 *   ready a ring's end   when an element is there, or room, or the ring has been closed. A hint: another thread may
 *                  be faster, and an answer may come once too often. The caller tries.
 *   a semaphore    when the set has taken a permit, for the caller: it holds it once the wait has answered.
 *   a latch        when it is open, from then on until it is removed.
 *
 * Which to take. A thread that serves one ring waits in that ring; producers that are alike push to one ilk_mpmc. A
 * set is for rings of several kinds, and for what stands beside them. A loop that has a loop of its own (epoll,
 * io_uring, libuv) waits for the set's descriptor, or arms the hook of a single ring (notify.h).
 *
 * Concurrency matrix
 *   wait_until                       one thread at a time; beside every call but destroy
 *   add_…, remove, wake, descriptor  any thread, beside each other
 *   create, destroy                  alone; destroy also beside a wake that a wait has answered
 *
 * Guarantees
 *   A  A member that is ready is answered, by the wait that is asleep or the next one: no wake-up is lost. What the
 *      other thread did before it pushed, popped, closed, signalled or counted down is visible once the caller has
 *      popped or pushed, has got the permit, or has been answered the latch.
 *   B  Answers are level-triggered: a member that stays ready is answered again. Each ready one has its turn: of n
 *      members each that stays ready is answered by one of the next n / capacity waits, rounded up, that answer any.
 *   C  A semaphore's permits come in its own order of arrival. The set stands in its queue from the first wait after
 *      it has been added, or has been answered, that comes to it: a wait whose keys are full before does not. A permit
 *      that comes while no thread waits is kept for the next wait. One that no wait has answered goes back to the
 *      semaphore when the member is removed or the set destroyed; meanwhile it does not count towards
 *      ILK_SEMAPHORE_MAX: where that is reached by then, the way back is misuse of ilk_semaphore_signal.
 *   D  When remove returns the set does not touch the member's object any more: it may be freed. A wait that begins
 *      later does not answer its key; one that had found it ready before may be about to return it.
 *   E  A wake ends the wait that is under way, or the next one, with what is ready then, perhaps nothing; any number
 *      of wakes before that wait returns are one. A signal handler may call it, whatever it interrupted. (Not with
 *      the pthread park backend.)
 *   F  Several sets, the ring's hook and threads that wait in the ring go side by side. Each set is notified of each
 *      change.
 *
 * The descriptor is readable while a member may be ready or a wake has not been answered: the caller then waits with
 * deadline 0, until that answers ILK_TIMEDOUT, after which it is not readable, but for a call that notifies
 * meanwhile. A wait that answers fewer leaves it so. It is the set's: the caller neither reads nor closes it. A set
 * of which it is not asked has none.
 *
 * Signal handlers. The calls of a ring that is in a set, and the count_down that opens a latch which is waited for
 * while any latch is in a set, wait for a short lock when they notify: a handler may not make them. Semaphores are as
 * ever.
 *
 * A set and what is in it belong to one copy of the library: a program that has several, linked statically into shared
 * objects, uses them through one.
 *
 * Misuse (a semaphore in whose queue the set does not stand is not noticed): two threads wait at once; a set is
 * destroyed while one waits; a ring or semaphore is destroyed that is in a
 * set.
 *
 * Fork: in the child a set is left as it is, not even destroyed. A ring or latch that was in it is as docs/fork.md
 * has it.
 *
 * Cost. A ring that is in no set pays nothing. One that is pays when the set has found nothing and waits: the set's
 * fence (the first time membarrier(2), as for a sleeper), and of the other side some hundred nanoseconds for its next
 * operation, a system call if the set's thread sleeps, and a fence each: where membarrier(2) works, for at most 1,024
 * elements. A wait is O(members that may be ready), in any case O(answers); add and remove are O(members).
 * docs/rings.md draws the protocol.
 *
 * Sources: Go's select, whose waiters queue at each channel; epoll(7), level-triggered; crossbeam's Select, which
 * leaves the operation to the caller.
 */
#ifndef INTERLOCK_WAIT_SET_H
#define INTERLOCK_WAIT_SET_H

#include <interlock/deadline.h>
#include <interlock/inline/attributes.h>
#include <interlock/latch.h>
#include <interlock/mpmc.h>
#include <interlock/notify.h>
#include <interlock/semaphore.h>
#include <interlock/spsc.h>
#include <interlock/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

ILK_BEGIN_DECLARATIONS

typedef struct ilk_wait_set ilk_wait_set;

/* Makes a set without members. ILK_NOMEM: no memory. `*out` is written on ILK_OK only. */
ILK_MUST_USE ilk_status ilk_wait_set_create(ilk_wait_set **out);

/* Frees `set` and closes its descriptor; NULL does nothing. Its members are removed first (C, D). Waits for calls of
 * other threads that wake the set. Misuse: a thread waits on it. */
void ilk_wait_set_destroy(ilk_wait_set *set);

/* Adds an end of `ring`: ILK_READABLE waits for elements, ILK_WRITABLE for room. Any thread, whatever its part of the
 * ring. A thread that waits goes by it at once. Blocks for the set's own lock, which a waiting thread may have through
 * a spin or a heavy fence, and for a short one of a table; allocates. ILK_INVALID: a member has the key, or there is no
 * such event. ILK_NOMEM: no memory. */
ILK_MUST_USE ilk_status ilk_wait_set_add_spsc(ilk_wait_set *set, ilk_spsc *ring, ilk_ring_event event,
                                              void *key);
ILK_MUST_USE ilk_status ilk_wait_set_add_mpmc(ilk_wait_set *set, ilk_mpmc *ring, ilk_ring_event event,
                                              void *key);

/* Likewise a semaphore (C), and a latch. */
ILK_MUST_USE ilk_status ilk_wait_set_add_semaphore(ilk_wait_set *set, ilk_semaphore *semaphore, void *key);
ILK_MUST_USE ilk_status ilk_wait_set_add_latch(ilk_wait_set *set, ilk_latch *latch, void *key);

/* Removes the member with this key (C, D): false if there is none. Any thread, also while another waits. Blocks for the
 * same locks, and while another thread notifies the member or probes it. */
bool ilk_wait_set_remove(ilk_wait_set *set, void *key);

/* Waits until a member is ready, a wake comes, or `deadline_ns`. ILK_OK: `*count` keys of ready members stand in
 * `keys`, of `capacity` at most; 0: a wake ended it. ILK_TIMEDOUT: none was ready; `*count` is 0. A passed deadline
 * answers what is ready. ILK_INVALID: a capacity of 0. Blocks; does not allocate; not a cancellation point. */
ILK_MUST_USE ilk_status ilk_wait_set_wait_until(ilk_wait_set *set, void **keys, size_t capacity,
                                                size_t *count, uint64_t deadline_ns);

/* Ends a wait (E). Does not block or allocate; system calls only to wake a thread that sleeps and to make the
 * descriptor readable. */
void ilk_wait_set_wake(ilk_wait_set *set) ILK_NONBLOCKING;

/* The set's descriptor, an eventfd(2), made by the first call. Linux. ILK_NOMEM: the system refuses one. ILK_INVALID:
 * it has none. `*out` is written on ILK_OK only. */
ILK_MUST_USE ilk_status ilk_wait_set_descriptor(ilk_wait_set *set, int *out);

ILK_END_DECLARATIONS

#endif
