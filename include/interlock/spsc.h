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
 * Elements are bytes of one size, copied in and out, or written and read in place. Any capacity
 * from 1 up is honoured exactly. Where membarrier(2) works and no thread has slept or armed the hook lately,
 * a push or a pop is a copy and ordinary loads and stores: no read-modify-write, no fence, no system call.
 *
 * Concurrency matrix
 *   producer's calls  try_push, try_push_many, push_until, reserve, commit, arm_push: one thread at a time
 *   consumer's calls  try_pop, try_pop_many, pop_until, peek, release, arm_pop: one thread at a time
 *   any thread        close, is_closed, count, capacity
 *   its own rules     set_notify
 *   alone             create, destroy
 * One producer's call may run beside one consumer's call and any number of the third kind. The role
 * of producer or consumer may move to another thread if the program orders the hand-over itself.
 *
 * Guarantees
 *   A  First in, first out. What the producer did before a push is visible to the consumer of
 *      that element.
 *   B  A push that answered true or ILK_OK, and a commit, is popped exactly once, also beside a close on
 *      another thread. Pops answer ILK_CLOSED only when nothing pushed with success is left and nothing can
 *      follow.
 *   C  After close: pushes and new reservations fail; pops drain the ring, then fail. Waits for room end at
 *      once, waits for an element when the ring is drained and no reservation is open. A reservation made
 *      before the close may be committed, and reserved again up to its size. A push that runs beside the
 *      close may answer true after close has returned; B holds for its element.
 *   D  full and empty are exact: on an open ring a try_push beside no pop fails only if capacity elements are
 *      in the ring; a try_pop beside no push fails only if none is. A batch may move fewer than fit, or than
 *      there are when it returns: it probes the other side once, at its beginning.
 *   E  try_ calls, reserve, commit, peek and release never block or allocate, and make a system call only to
 *      wake a sleeper. Where the hook is armed they call it. A call that finds nothing while the other side
 *      runs at full speed may back off first, for at most 31 of the processor's pause instructions: some
 *      hundred nanoseconds, on some processors more than a microsecond.
 *   F  Between reserve and commit the producer must not push; between peek and release the consumer must not
 *      pop. Such a call is misuse, reported in every build, also on a closed ring. The other side, close,
 *      another reserve and another peek go on as usual.
 *
 * Calls other than create and the waiting ones are O(1), or O(count) for their copies. Waits are not
 * cancellation points.
 *
 * docs/rings.md draws the protocol.
 *
 * Sources: Lamport, "Specifying concurrent program modules" (1983) for the ring; the copies of the
 * opposite index follow Lee, Bu, Chandranmenon, "A lock-free, cache-efficient multi-core
 * synchronization mechanism" (MCRingBuffer, 2010).
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

/* Makes a ring of `capacity` elements of `element_size` bytes, empty and open, in `*out`. Allocates
 * all the memory it will ever use. Elements lie at multiples of element_size from a 128-byte
 * boundary. ILK_INVALID: capacity or element_size is 0, or the memory would exceed PTRDIFF_MAX.
 * ILK_NOMEM: no memory. `*out` is written on ILK_OK only. */
ILK_MUST_USE ilk_status ilk_spsc_create(ilk_spsc **out, size_t capacity, size_t element_size);

/* Frees `ring` and the elements left in it; NULL does nothing. No other call may use it any more.
 * Misuse: a thread waits in it, a reservation is open, or elements are shown and not released. */
void ilk_spsc_destroy(ilk_spsc *ring);

/* Copies one element in: true when pushed, false when full or closed. Producer only. `element_size`
 * must be the ring's (misuse otherwise): a constant lets the compiler turn the copy into a move.
 * Misuse of every push: a reservation is open (F). */
ILK_MUST_USE static inline bool ilk_spsc_try_push(ilk_spsc *ring, const void *element, size_t element_size)
    ILK_NONBLOCKING;

/* Moves the oldest element out into `element`: true when popped, false when there is none, `element` then
 * untouched. Consumer only. False does not tell an empty ring from a drained one. pop_until with deadline 0
 * does; so does, where no reservation is open, is_closed asked *before* a try_pop that fails.
 * Misuse of every pop: elements are shown and not released (F). */
ILK_MUST_USE static inline bool ilk_spsc_try_pop(ilk_spsc *ring, void *element, size_t element_size)
    ILK_NONBLOCKING;

/* Copies in as many of the `count` elements as fit, in order. The number pushed, from the front. One store
 * publishes them: a consumer that finds the first finds them all. Producer only. */
ILK_MUST_USE size_t ilk_spsc_try_push_many(ilk_spsc *ring, const void *elements, size_t count,
                                           size_t element_size) ILK_NONBLOCKING;

/* Moves up to `count` elements out, oldest first. The number popped. Consumer only. */
ILK_MUST_USE size_t ilk_spsc_try_pop_many(ilk_spsc *ring, void *elements, size_t count, size_t element_size)
    ILK_NONBLOCKING;

/* Pushes one element; waits for room until `deadline_ns` at most. ILK_OK: pushed. ILK_TIMEDOUT or
 * ILK_CLOSED: not pushed. A deadline that has passed still pushes where there is room. */
ILK_MUST_USE static inline ilk_status ilk_spsc_push_until(ilk_spsc *ring, const void *element,
                                                          size_t element_size, uint64_t deadline_ns);

/* Pops one element; waits for one until `deadline_ns` at most. ILK_OK: popped. ILK_TIMEDOUT: none
 * came. ILK_CLOSED: none will ever come. A deadline that has passed still pops what is there. */
ILK_MUST_USE static inline ilk_status ilk_spsc_pop_until(ilk_spsc *ring, void *element, size_t element_size,
                                                         uint64_t deadline_ns);

/* Opens free slots for writing in place. In: `*count` slots are wanted; out: that many or fewer,
 * contiguous, at the address returned; NULL and 0 when full or closed, or when 0 were wanted. The answer
 * stops at the end of the ring; the call after the commit gives the rest. Slots hold whatever was there
 * before. Reserving again before commit answers the same slots anew, as many as now are wanted and free;
 * after close no more than before; 0 wanted gives the reservation up. Producer only. */
ILK_MUST_USE void *ilk_spsc_reserve(ilk_spsc *ring, size_t *count) ILK_NONBLOCKING;

/* Pushes the first `count` reserved slots and ends the reservation; 0 gives it up. Producer only.
 * Misuse: fewer than count are reserved. */
void ilk_spsc_commit(ilk_spsc *ring, size_t count) ILK_NONBLOCKING;

/* Shows the oldest elements in place. In: at most `*count` elements are wanted, 0 for as many as
 * there are; out: how many stand at the address returned, contiguous; NULL and 0 when empty. The answer
 * stops at the end of the ring. The elements stay in the ring until release. Peeking again before release
 * shows them anew, as many as now are wanted and there. Consumer only. */
ILK_MUST_USE const void *ilk_spsc_peek(ilk_spsc *ring, size_t *count) ILK_NONBLOCKING;

/* Pops the `count` oldest elements without copying them: their slots may be overwritten from now
 * on. 0 pops nothing. Pops may follow. What the last peek showed beyond `count` may be released by further
 * calls until another call pops. Consumer only. Misuse: fewer are left of what the last peek showed. */
void ilk_spsc_release(ilk_spsc *ring, size_t count) ILK_NONBLOCKING;

/* Closes the ring (guarantee C). Any thread; twice does nothing more. Makes system calls. */
void ilk_spsc_close(ilk_spsc *ring);

/* True once a close has taken effect: no push that starts now succeeds, and the elements of all others that
 * succeed are in the ring already, but for a reservation that is open. What the closer did before is visible
 * then. While close runs, it may be false when a push has already answered ILK_CLOSED. Any thread. */
bool ilk_spsc_is_closed(const ilk_spsc *ring) ILK_NONBLOCKING;

/* Installs the ring's hook, or with NULL takes it away (notify.h). May wait for a call of it. */
void ilk_spsc_set_notify(ilk_spsc *ring, ilk_notify function, void *context);

/* Arms the hook for elements: true when armed (notify.h). Elements that are shown are there. Consumer
 * only. */
ILK_MUST_USE bool ilk_spsc_arm_pop(ilk_spsc *ring);

/* Arms the hook for room: true when armed (notify.h). Slots that are reserved are room. Producer only. */
ILK_MUST_USE bool ilk_spsc_arm_push(ilk_spsc *ring);

/* The number of elements in the ring, at most capacity. Exact for a side while the other rests. Beside calls
 * of both sides an estimate, and possibly too high: elements popped during the call may be counted. Any
 * thread. */
size_t ilk_spsc_count(const ilk_spsc *ring) ILK_NONBLOCKING;

/* The capacity it was made with. Any thread. */
size_t ilk_spsc_capacity(const ilk_spsc *ring) ILK_NONBLOCKING;

ILK_END_DECLARATIONS

#include <interlock/inline/spsc.h>

#endif
