/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_spsc: a bounded ring between one producer thread and one consumer thread.
 *
 *     #include <interlock/spsc.h>
 *     #include <pthread.h>
 *     #include <stdio.h>
 *
 *     static void *produce(void *ring) {
 *         for (int i = 1; i <= 3 && ilk_spsc_push_until(ring, &i, sizeof i, ILK_FOREVER) == ILK_OK; i++) {}
 *         ilk_spsc_close(ring);
 *         return NULL;
 *     }
 *     int main(void) {
 *         ilk_spsc *ring;
 *         pthread_t producer;
 *         if (ilk_spsc_create(&ring, 2, sizeof(int)) != ILK_OK) return 1; // room for 2 elements
 *         if (pthread_create(&producer, NULL, produce, ring) != 0) return 1;
 *         for (int i; ilk_spsc_pop_until(ring, &i, sizeof i, ILK_FOREVER) == ILK_OK;) { // drains it
 *             printf("%d\n", i); // prints 1 2 3
 *         }
 *         pthread_join(producer, NULL);
 *         ilk_spsc_destroy(ring);
 *     }
 *
 * Elements are bytes of one size, copied in and out, or written and read in place. Any capacity from 1 up is
 * honoured exactly. Where membarrier(2) works and no thread has slept or armed the hook lately, a push or a
 * pop executes no read-modify-write, no fence, no system call.
 *
 * Concurrency matrix
 *   producer's calls  try_push, try_push_many, push_until, reserve, commit, arm_push: one thread at a time
 *   consumer's calls  try_pop, try_pop_many, pop_until, peek, release, arm_pop: one thread at a time
 *   any thread        close, is_closed, count, capacity
 *   its own rules     set_notify (notify.h)
 *   alone             create, destroy
 * The first three kinds may run beside each other. A role may move to another thread if the program orders
 * the hand-over.
 *
 * Guarantees
 *   A  First in, first out. What the producer did before a push is visible to that element's consumer.
 *   B  A push that answered true or ILK_OK, and a commit, is popped exactly once, also beside a close. Pops
 *      answer ILK_CLOSED only when no such element is left and none can follow.
 *   C  After close pushes and new reservations fail; pops drain the ring, then fail. Waits for room end at
 *      once, waits for an element when the ring is drained and no reservation is open. A reservation made
 *      before may be committed, and reserved again up to its size. A push beside the close may answer true
 *      after close has returned; B holds for it.
 *   D  full and empty are exact: on an open ring a try_push beside no pop fails only if capacity elements are
 *      in the ring, a try_pop beside no push only if none is. A batch probes the other side once, at its
 *      beginning, and so may move fewer than fit or are there when it returns.
 *   E  try_ calls, reserve, commit, peek and release never block or allocate, and make a system call only to
 *      wake a thread that sleeps or is about to. They call an armed hook (notify.h); to notify a wait set that the
 *      ring is in (wait_set.h) they wait for a short lock. A call that finds nothing
 *      while the other side runs at full speed may back off first, for at most 31 pause instructions: some
 *      hundred nanoseconds, on some processors more than a microsecond.
 *   F  Between reserve and commit the producer must not push; between peek and release the consumer must not
 *      pop. Both are misuse, reported in every build, also on a closed ring. The other side, close, another
 *      reserve and another peek go on.
 *
 * Signal handlers: a handler may be the producer or the consumer, also of the thread whose other part it interrupts:
 * it may make that part's calls but the waiting and arming ones, count and is_closed; and it may close, whatever it
 * interrupted. An armed hook then runs in the handler. (Not with the pthread park backend, nor where the ring is in a
 * wait set.)
 *
 * Fork: in the child a ring that no other thread was in a call on is as it was, and a closed one is closed; another is
 * left as it is, not even destroyed (docs/fork.md).
 *
 * Calls other than create and the waiting ones are O(1), or O(count) for copies. Waits and close are not cancellation
 * points. docs/rings.md draws the protocol. Where the process has entered a sandbox that refuses membarrier(2)
 * since the ring was made, the first sleep of each side, its first arm, and close take ten milliseconds more.
 *
 * Sources: Lamport, "Specifying concurrent program modules" (1983); copies of the opposite index: Lee, Bu,
 * Chandranmenon, MCRingBuffer (2010).
 */
#ifndef INTERLOCK_SPSC_H
#define INTERLOCK_SPSC_H

#include <interlock/deadline.h>
#include <interlock/inline/attributes.h>
#include <interlock/notify.h>
#include <interlock/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

ILK_BEGIN_DECLARATIONS

typedef struct ilk_spsc ilk_spsc;

/* Makes an empty, open ring of `capacity` elements of `element_size` bytes; allocates all the memory it will
 * use. Elements lie at multiples of element_size from a 128-byte boundary. ILK_INVALID: a size is 0, or the
 * memory would exceed PTRDIFF_MAX. ILK_NOMEM: no memory. `*out` is written on ILK_OK only. */
ILK_MUST_USE ilk_status ilk_spsc_create(ilk_spsc **out, size_t capacity, size_t element_size);

/* Frees `ring` and the elements left in it; NULL does nothing. Misuse: a thread waits in it, a reservation is
 * open, or elements are shown. */
void ilk_spsc_destroy(ilk_spsc *ring);

/* Has diagnosis watch this ring alone: `what` are ILK_DIAGNOSE_ bits of <interlock/diagnostics.h>, 0 for none of its
 * own. Any thread. ILK_NOMEM: not watched. */
ilk_status ilk_spsc_observe(ilk_spsc *ring, uint32_t what);

/* Copies one element in: true when pushed, false when full or closed. `element_size`, best a constant, must
 * be the ring's (else misuse). Misuse of every push: a reservation is open (F). */
ILK_MUST_USE static inline bool ilk_spsc_try_push(ilk_spsc *ring, const void *element, size_t element_size)
    ILK_NONBLOCKING;

/* Moves the oldest element out into `element`: true when popped, false when there is none, `element` then
 * untouched. pop_until with deadline 0 tells an empty ring from a drained one; so does, where no reservation
 * is open, is_closed asked *before* a try_pop that fails. Misuse of every pop: elements are shown (F). */
ILK_MUST_USE static inline bool ilk_spsc_try_pop(ilk_spsc *ring, void *element, size_t element_size)
    ILK_NONBLOCKING;

/* Copies in as many of the `count` elements as fit, in order from the front, and returns their number. One
 * store publishes them: a consumer that finds the first finds them all. */
ILK_MUST_USE size_t ilk_spsc_try_push_many(ilk_spsc *ring, const void *elements, size_t count,
                                           size_t element_size) ILK_NONBLOCKING;

/* Moves up to `count` elements out, oldest first, and returns their number. */
ILK_MUST_USE size_t ilk_spsc_try_pop_many(ilk_spsc *ring, void *elements, size_t count, size_t element_size)
    ILK_NONBLOCKING;

/* Pushes one element; waits for room until `deadline_ns` at most. ILK_OK: pushed. ILK_TIMEDOUT, ILK_CLOSED:
 * not. A passed deadline still pushes where there is room. */
ILK_MUST_USE static inline ilk_status ilk_spsc_push_until(ilk_spsc *ring, const void *element,
                                                          size_t element_size, uint64_t deadline_ns);

/* Pops one element; waits for one as push_until for room. ILK_OK: popped. ILK_TIMEDOUT: none came.
 * ILK_CLOSED: none will ever come. */
ILK_MUST_USE static inline ilk_status ilk_spsc_pop_until(ilk_spsc *ring, void *element, size_t element_size,
                                                         uint64_t deadline_ns);

/* Opens free slots for writing in place. `*count` in: slots wanted; out: that many or fewer, contiguous, at
 * the address returned; NULL and 0 when full, closed or none wanted. They stop at the end of the ring; the
 * call after the commit gives the rest. Slots hold what was there before. Reserving again before commit
 * answers the same slots, as many as now are wanted and free, after close no more than before; 0 gives the
 * reservation up. */
ILK_MUST_USE void *ilk_spsc_reserve(ilk_spsc *ring, size_t *count) ILK_NONBLOCKING;

/* Pushes the first `count` reserved slots and ends the reservation; 0 gives it up. Misuse: fewer are
 * reserved. */
void ilk_spsc_commit(ilk_spsc *ring, size_t count) ILK_NONBLOCKING;

/* Shows the oldest elements in place, where they stay until release. `*count` in: elements wanted at most, 0
 * for as many as there are; out: how many are contiguous at the address returned, to the end of the ring at
 * most; NULL and 0 when empty. Peeking again shows them anew, as many as now are wanted and there. */
ILK_MUST_USE const void *ilk_spsc_peek(ilk_spsc *ring, size_t *count) ILK_NONBLOCKING;

/* Pops the `count` oldest elements without copying them: their slots may be overwritten from now on. 0 pops
 * nothing. Pops may follow. What the last peek showed beyond `count` may be released until another call pops.
 * Misuse: fewer are left of it. */
void ilk_spsc_release(ilk_spsc *ring, size_t count) ILK_NONBLOCKING;

/* Closes the ring (C); twice does nothing more. Makes system calls. */
void ilk_spsc_close(ilk_spsc *ring);

/* True once a close has taken effect: no push that starts now succeeds, and the elements of all others that
 * succeed are in the ring already, but for an open reservation. What the closer did before is visible then.
 * While close runs, it may be false though a push has answered ILK_CLOSED. */
bool ilk_spsc_is_closed(const ilk_spsc *ring) ILK_NONBLOCKING;

/* Installs the hook, or takes it away (notify.h). */
void ilk_spsc_set_notify(ilk_spsc *ring, ilk_notify function, void *context);

/* Arms the hook for elements, those shown included (notify.h). */
ILK_MUST_USE bool ilk_spsc_arm_pop(ilk_spsc *ring);

/* Arms the hook for room, slots reserved included (notify.h). */
ILK_MUST_USE bool ilk_spsc_arm_push(ilk_spsc *ring);

/* The elements in the ring, at most capacity. Exact for a side while the other rests. Beside calls of both an
 * estimate, possibly too high. */
size_t ilk_spsc_count(const ilk_spsc *ring) ILK_NONBLOCKING;

/* The capacity it was made with. */
size_t ilk_spsc_capacity(const ilk_spsc *ring) ILK_NONBLOCKING;

ILK_END_DECLARATIONS

#include <interlock/inline/spsc.h>

#endif
