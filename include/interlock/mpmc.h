/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mpmc: a bounded ring for any number of producer and consumer threads.
 *
 *     #include <interlock/mpmc.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *         ilk_mpmc *ring;
 *         if (ilk_mpmc_create(&ring, 3, sizeof(int)) != ILK_OK) return 1;
 *         for (int i = 1; ilk_mpmc_try_push(ring, &i, sizeof i); i++) {} // any threads push; 3 fit
 *         int newest = 4, oldest;
 *         if (ilk_mpmc_push_overwriting(ring, &newest, sizeof newest, &oldest)) {
 *             printf("%d\n", oldest); // prints 1
 *         }
 *         ilk_mpmc_close(ring);
 *         for (int i; ilk_mpmc_pop_until(ring, &i, sizeof i, ILK_FOREVER) == ILK_OK;) { // any threads pop
 *             printf("%d\n", i); // prints 2 3 4
 *         }
 *         ilk_mpmc_destroy(ring);
 *     }
 *
 * Elements are bytes of one size, copied in and out, or written and read in place. Any capacity from 1 up is
 * honoured exactly.
 *
 * Concurrency matrix
 *   any thread     every call but these, beside each other
 *   its own rules  set_notify (notify.h)
 *   alone          create, destroy
 *
 * Guarantees
 *   A  First in, first out by the order in which pushes claim their slots: a producer's elements keep their
 *      order. What it did before a push is visible to that element's consumer.
 *   B  A push that answered true or ILK_OK, and a commit, is popped or handed back by push_overwriting
 *      exactly once, also beside a close. pop_until answers ILK_CLOSED only when no such element is left and
 *      none can follow.
 *   C  After close pushes and reserve fail; claims made before it, reservations among them, are completed;
 *      pops drain the ring, then fail. Waits for room end at once, waits for an element when the ring is
 *      drained and no push is in progress. A push, an overwriting one too, that claimed its slot before may
 *      answer after close has returned; B holds for it.
 *   D  try_pop may find nothing beside an earlier push in progress though a later one is done, try_push no
 *      room beside such pops. Where no call is in progress, and nothing reserved or shown, full and empty are
 *      exact. A batch stops at the first slot in progress, and so may move fewer than are there or fit.
 *   E  try_ calls, reserve, commit, peek and release never block or allocate, and make a system call only to
 *      wake a thread that sleeps or is about to. They call an armed hook (notify.h); to notify a wait set that the
 *      ring is in (wait_set.h) they wait for a short lock. A call that finds nothing
 *      while the other side runs at full speed, or loses its slot to another thread, may back off before it
 *      probes again, each time for 32 pause instructions at most: some hundred nanoseconds, on some processors
 *      more than a microsecond.
 *      push_overwriting may wait for a thread in the middle of the one slot it needs.
 *   F  A waiter that times out passes a wake-up it got on to another. Waiters keep no order: a thread that is woken
 *      competes with those that come later, and may lose any number of times. Where each must be served, let consumers
 *      wait for a permit of an ilk_semaphore (semaphore.h, A) that is signalled after each push, and then pop.
 *
 * Signal handlers: a handler may make the try_ calls, close, count and is_closed, whatever it interrupted; a call that
 * it interrupts in the middle of a slot is a call in progress (D). An armed hook then runs in the handler. Not the
 * others: what the thread has reserved or shown is listed, and an overwriting push may wait for the thread itself. (Not
 * with the pthread park backend, nor where the ring is in a wait set.)
 *
 * Fork: as ilk_spsc (docs/fork.md).
 *
 * Calls other than create, destroy and the waiting ones are O(1), or O(count) for copies, beside the retries
 * that other threads' progress causes; destroy is O(capacity). Waits and close are not cancellation points.
 * docs/rings.md draws the protocol. Where the process has entered a sandbox that refuses membarrier(2) since the
 * ring was made, the first sleep of each side and its first arm take ten milliseconds more.
 *
 * Source: Vyukov, "Bounded MPMC queue" (2010), with positions that count laps and slots apart.
 */
#ifndef INTERLOCK_MPMC_H
#define INTERLOCK_MPMC_H

#include <interlock/deadline.h>
#include <interlock/inline/attributes.h>
#include <interlock/notify.h>
#include <interlock/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

ILK_BEGIN_DECLARATIONS

typedef struct ilk_mpmc ilk_mpmc;

/* Makes an empty, open ring of `capacity` elements of `element_size` bytes; allocates all the memory it will
 * use. Elements lie at multiples of element_size from a 128-byte boundary. ILK_INVALID: a size is 0, or the
 * memory would exceed PTRDIFF_MAX. ILK_NOMEM: no memory. `*out` is written on ILK_OK only. */
ILK_MUST_USE ilk_status ilk_mpmc_create(ilk_mpmc **out, size_t capacity, size_t element_size);

/* Frees `ring` and the elements left in it; NULL does nothing. Misuse: a thread waits in it, or slots are
 * reserved or shown. */
void ilk_mpmc_destroy(ilk_mpmc *ring);

/* Has diagnosis watch this ring alone: `what` are ILK_DIAGNOSE_ bits of <interlock/diagnostics.h>, 0 for none of its
 * own. Any thread. ILK_NOMEM: not watched. */
ilk_status ilk_mpmc_observe(ilk_mpmc *ring, uint32_t what);

/* Copies one element in: true when pushed, false when full (D) or closed. `element_size`, best a constant,
 * must be the ring's (else misuse). */
ILK_MUST_USE static inline bool ilk_mpmc_try_push(ilk_mpmc *ring, const void *element, size_t element_size)
    ILK_NONBLOCKING;

/* Moves the oldest element out into `element`: true when popped, false when empty (D), `element` then
 * untouched. pop_until with deadline 0 tells an empty ring from a drained one. */
ILK_MUST_USE static inline bool ilk_mpmc_try_pop(ilk_mpmc *ring, void *element, size_t element_size)
    ILK_NONBLOCKING;

/* Copies in as many of the `count` elements as fit, in order from the front, and returns their number. One
 * operation claims their slots: no other thread's element comes between them. */
ILK_MUST_USE size_t ilk_mpmc_try_push_many(ilk_mpmc *ring, const void *elements, size_t count,
                                           size_t element_size) ILK_NONBLOCKING;

/* Moves up to `count` elements out, oldest first, and returns their number. One operation claims their slots:
 * they follow each other in the ring. */
ILK_MUST_USE size_t ilk_mpmc_try_pop_many(ilk_mpmc *ring, void *elements, size_t count, size_t element_size)
    ILK_NONBLOCKING;

/* Pushes one element; a full ring evicts the oldest for it: true when `evicted` was filled with an element
 * that is no longer in the ring. A closed ring gives back `element` itself: none is ever dropped. `evicted`
 * may be `element`: the buffer then holds what came out, or is unchanged. Misuse: the two overlap otherwise;
 * or the calling thread has the slot it needs reserved or shown. */
bool ilk_mpmc_push_overwriting(ilk_mpmc *ring, const void *element, size_t element_size, void *evicted);

/* Pushes one element; waits for room until `deadline_ns` at most. ILK_OK: pushed. ILK_TIMEDOUT, ILK_CLOSED:
 * not. A passed deadline still pushes where there is room. */
ILK_MUST_USE static inline ilk_status ilk_mpmc_push_until(ilk_mpmc *ring, const void *element,
                                                          size_t element_size, uint64_t deadline_ns);

/* Pops one element; waits for one as push_until for room. ILK_OK: popped. ILK_TIMEDOUT: none came.
 * ILK_CLOSED: none will ever come. */
ILK_MUST_USE static inline ilk_status ilk_mpmc_pop_until(ilk_mpmc *ring, void *element, size_t element_size,
                                                         uint64_t deadline_ns);

/* Claims free slots for writing in place. `*count` in: slots wanted; out: that many or fewer, contiguous, at
 * the address returned; NULL and 0 when full, closed or none wanted. Slots hold what was there before. The
 * thread must commit every one, soon: pops and pushes that come to them find an operation in progress (D).
 * Any other call may be made meanwhile, from this thread too, and goes on with other slots. Misuse: the
 * thread has a reservation of this ring, or ILK_MPMC_MAX_CLAIMS claims, open. Misuse of push_until and
 * pop_until without a deadline: a wait for a slot that the thread itself has open; with one it times out. */
ILK_MUST_USE void *ilk_mpmc_reserve(ilk_mpmc *ring, size_t *count) ILK_NONBLOCKING;

/* Pushes the next `count` of the thread's reserved slots, oldest first; the last ends the reservation.
 * Misuse: it has fewer. */
void ilk_mpmc_commit(ilk_mpmc *ring, size_t count) ILK_NONBLOCKING;

/* Takes the oldest elements out for reading in place. `*count` in: elements wanted at most, 0 for as many as
 * there are; out: how many are contiguous at the address returned; NULL and 0 when empty. The thread must
 * release every one. Misuse: as reserve, with a peek of this ring. */
ILK_MUST_USE const void *ilk_mpmc_peek(ilk_mpmc *ring, size_t *count) ILK_NONBLOCKING;

/* Gives back the next `count` slots shown to the thread, oldest first. Misuse: fewer are shown to it. */
void ilk_mpmc_release(ilk_mpmc *ring, size_t count) ILK_NONBLOCKING;

/* Claims (reservations and peeks) that a thread may have open at once, over all rings. */
#define ILK_MPMC_MAX_CLAIMS 8

/* Closes the ring (C); twice does nothing more. Makes system calls. */
void ilk_mpmc_close(ilk_mpmc *ring);

/* True once the ring is closed: no push that starts now succeeds, and what the closer did before is
 * visible. */
bool ilk_mpmc_is_closed(const ilk_mpmc *ring) ILK_NONBLOCKING;

/* Installs the hook, or takes it away (notify.h). */
void ilk_mpmc_set_notify(ilk_mpmc *ring, ilk_notify function, void *context);

/* Arms the hook for elements (notify.h). */
ILK_MUST_USE bool ilk_mpmc_arm_pop(ilk_mpmc *ring);

/* Arms the hook for room (notify.h). */
ILK_MUST_USE bool ilk_mpmc_arm_push(ilk_mpmc *ring);

/* The elements in the ring, at most capacity: slots reserved and pushes in progress included, elements shown
 * and pops in progress not. Beside other calls an estimate. */
size_t ilk_mpmc_count(const ilk_mpmc *ring) ILK_NONBLOCKING;

/* The capacity it was made with. */
size_t ilk_mpmc_capacity(const ilk_mpmc *ring) ILK_NONBLOCKING;

ILK_END_DECLARATIONS

#include <interlock/inline/mpmc.h>

#endif
